"""Sentences of a corpus: reviews are cleaned and split on all cores, duplicates dropped, those with the smallest hash taken.

An index beside the converted tables says which review holds which sentence of the data: to split all reviews takes longer
than anything before the first picture. Another budget, or another model, then splits only the reviews that its sentences
are of. What is found is compared with the index, so that a damaged one, or one of other reviews, costs time and nothing else.

A text is split by nupunkt, in other scripts by sentencex, at its lines, or nowhere. Which of them splits a data set is told
by a name that is a part of the corpus' identity: whatever changes the sentences must change that name.
"""

import hashlib
import re
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from ingest.run.settings import Limits
from ingest.text.blocks import short_key
from ingest.text.reviews import Review, Reviews
from ingest.text.table import OWN, cache_folder
from store.repository.files import new_file

#: Splitter by the sentence ends of Latin and Cyrillic script, in every script: all data was split so at first.
NUPUNKT = "nupunkt-0.8/1"
#: Splitter by nupunkt, and by sentencex where most letters of a paragraph are of another script.
BY_SCRIPT = f"{NUPUNKT}, sentencex-1.0.32/1 in scripts other than Latin and Cyrillic"
#: Splitters of data that holds a sentence in each line, or in each text.
LINES, TEXTS = "none: the lines of the texts", "none: the texts of the data"
#: Splitter of data that holds sentences.
NOT_SPLIT = "none: the sentences of the treebank"
#: Splitter of data that holds coreference, which crosses sentences.
PASSAGES = "none: the passages of the data"
WHOLE = (NOT_SPLIT, PASSAGES)

#: The pattern begins where white space does: tried at each of many spaces, it would take time quadratic in their number.
_PARAGRAPH = re.compile(r"(?<!\s)(?:\s*<br\s*/?>){2,}\s*|\n\s*\n", re.IGNORECASE)
#: Characters of a paragraph that are split at a time; the last sentences of a part may depend on what follows it.
LONGEST_PART, UNSURE, LONGEST_WORD = 1 << 18, 3, 1000
#: Longest part for sentencex, whose time is quadratic in the quotations of a part.
LONGEST_QUOTED_PART = 1 << 12
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SPACE = re.compile(r"\s+")

#: Characters of a paragraph that tell its script.
TELLING = 2000
#: First words of the names of letters whose sentences end as Latin ones do, and of letters of no script.
_LATIN = frozenset(("LATIN", "CYRILLIC", "FULLWIDTH", "MATHEMATICAL", "MODIFIER", "MICRO", "SCRIPT", "DOUBLE-STRUCK"))
#: Languages of a script whose sentence ends or abbreviations sentencex knows.
_LANGUAGES: Mapping[str, str] = {
    "ARABIC": "ar", "ARMENIAN": "hy", "BENGALI": "bn", "CJK": "zh", "DEVANAGARI": "hi", "ETHIOPIC": "am", "GEORGIAN": "ka",
    "GREEK": "el", "GUJARATI": "gu", "HANGUL": "ko", "HEBREW": "he", "HIRAGANA": "ja", "KANNADA": "kn", "KATAKANA": "ja",
    "KHMER": "km", "MALAYALAM": "ml", "MYANMAR": "my", "TAMIL": "ta", "TELUGU": "te", "THAI": "th",
}  # fmt: skip
#: Characters that sentencex reads instead of others, one for one: a danda for each of Unicode's sentence ends (Sentence_Break
#: STerm) that it does not know, which are found by trying all 172, and no halves of surrogate pairs.
_READ_AS = {
    **dict.fromkeys(
        (0x17D4, 0x17D5, 0x1B4E, 0x1B4F, 0x1B7F, 0x2CF9, 0x2CFA, 0x2CFB, 0xFE12, 0xFE15, 0xFE16, 0x113D4, 0x113D5),
        "\u0964",
    ),
    **dict.fromkeys((0x16D6E, 0x16D6F), "\u0964"),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}

#: First character and end of the sentences in a part of a paragraph, which starts with one.
Spans = Callable[[str, int, int], list[tuple[int, int]]]
#: The share of texts from which on another script counts: below it a data set is split as before other scripts
#: were known.
OTHER_SHARE = 0.01

_LETTER = re.compile("[0-9A-Za-z]")
#: Hash of a sentence, and the first review that holds it.
ENTRY = np.dtype([("hash", "<u8"), ("document", "<i4")])
#: Most sentences of an index: it takes 12 bytes for each, and four times that while it is made.
MOST = 1 << 23
#: Parts in memory for each core, so that none waits.
AHEAD = 2

Entries = NDArray[np.void]


@dataclass(frozen=True)
class Sentence:
    """A sentence of a review."""

    hash: int
    text: str
    label: int
    document: int


#: Part of a budget that a sentence takes.
Size = Callable[[Sentence], int]


def sentence_hash(text: str, *, seed: int) -> int:
    """Key of a sentence in the order of the corpus: 64 bits of blake2b, salted with the seed."""
    digest = hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(8, "little", signed=True)
    )
    return int.from_bytes(digest.digest(), "big")


def split_text(text: str, splitter: str = NUPUNKT, *, longest: int | None = None) -> Iterator[str]:
    """Sentences of a text. HTML breaks are space; two in a row end a paragraph, and a paragraph ends a sentence.

    A longer paragraph than `longest` is split in parts; None is the length for the splitter. The last sentences of a part are split
    again with the text after them. Others may end elsewhere than in the whole paragraph where that takes more text around
    them, such as a quotation that is longer than a part.
    """
    parts = text.splitlines() if splitter == LINES else [text] if splitter == TEXTS else _PARAGRAPH.split(text)
    for part in parts:
        cleaned = _SPACE.sub(" ", _BREAK.sub(" ", part)).strip()
        for sentence in [cleaned] if splitter in (LINES, TEXTS) else _sentences(cleaned, splitter, longest):
            if sentence.strip():
                yield sentence.strip()


def has_other_script(text: str) -> bool:
    """Whether the sentences of a text end otherwise than Latin ones: most of its first letters are of another script."""
    return _script(text) not in (None, "LATIN")


def splitter_of(texts: Iterable[str]) -> str:
    """The splitter of a data set, by the scripts of some of its texts: nupunkt alone where nearly all are in its scripts."""
    other = [has_other_script(text) for text in texts]
    return BY_SCRIPT if other and sum(other) >= OTHER_SHARE * len(other) else NUPUNKT


def split_reviews(
    reviews: Iterable[Review], *, seed: int, splitter: str = NUPUNKT, passed: Callable[[float], object] = float
) -> Iterator[Sentence]:
    """Every sentence of every review, in their order; `passed` is called with each finished share of a review.

    Where the `splitter` is one of `WHOLE`, each review is a sentence.
    """
    for review in reviews:
        left = 1.0
        for text in [review.text] if splitter in WHOLE else split_text(review.text, splitter):
            yield Sentence(sentence_hash(text, seed=seed), text, review.label, review.document)
            part = min(left, len(text) / len(review.text))
            left -= part
            passed(part)
        passed(left)


def one_each(_sentence: Sentence) -> int:
    """The size of a sentence where sentences are counted."""
    return 1


def take_smallest(sentences: Iterable[Sentence], count: int, size: Size = one_each) -> list[Sentence]:
    """The `count` sentences with the smallest hash, in hash order; of equal texts the first.

    With a `size` of sentences, as many as have the size `count` together. The result is a uniform sample without replacement; a larger
    count only appends. Memory grows with `count`, not with the data.
    """
    smallest: dict[int, Sentence] = {}
    limit, total = 1 << 64, 0
    for sentence in sentences:
        if sentence.hash < limit and sentence.hash not in smallest:
            smallest[sentence.hash] = sentence
            total += size(sentence)
            if total > 2 * count + 1024:
                smallest = {kept.hash: kept for kept in _first(smallest, count, size)}
                limit, total = max(smallest), sum(map(size, smallest.values()))
    return list(_first(smallest, count, size))


def _first(smallest: Mapping[int, Sentence], count: int, size: Size) -> Iterator[Sentence]:
    """Sentences in the order of their hashes, until they have the size `count` together."""
    for hash_ in sorted(smallest):
        if count <= 0:
            return
        yield smallest[hash_]
        count -= size(smallest[hash_])


def fewest_tokens(sentence: Sentence, *, special: int = 2, max_length: int) -> int:
    """Fewest tokens that a sentence has: its special ones and one for each word with a letter or digit, up to the longest."""
    return min(max_length, special + sum(map(bool, map(_LETTER.search, sentence.text.split(" ")))))


def index_file(data: str, *, text: str, splitter: str, seed: int) -> Path:
    """The place of the index of the data with this identity."""
    identity = {"data": data, "text_column": text, "splitter": splitter, "seed": seed}
    return cache_folder() / f"{short_key('sentences', identity)}.index"


def entries_of(sentences: Iterable[Sentence]) -> Entries:
    """An entry for each sentence, in their order."""
    return np.array([(sentence.hash, sentence.document) for sentence in sentences], ENTRY)


def read_index(file: Path) -> Entries | None:
    """Entries by ascending hash; None where the file cannot be read."""
    with suppress(OSError, ValueError):
        return np.memmap(file, ENTRY, mode="r")
    return None


def write_index(file: Path, parts: Sequence[Entries]) -> None:
    """Write the index of all reviews, whose sentences are given in their order."""
    if not 0 < sum(map(len, parts)) <= MOST:
        return
    entries = np.concatenate(parts)
    _, first = np.unique(entries["hash"], return_index=True)
    # Nothing but time is lost without it, so that a full disk does not end the ingest.
    with suppress(OSError), new_file(file, mode=OWN, durable=False) as unfinished:
        entries[first].tofile(unfinished)


@dataclass(frozen=True)
class SampleSize:
    """The sentences with the smallest hashes with a seed, until they have the size `count` together.

    Attributes
    ----------
    likely
        Number of sentences that is enough, unless they are unusually short.
    splitter
        The splitter of the reviews.
    part_characters
        Characters of the reviews that a process splits at a time. Fewer than two parts are split here.
    """

    count: int
    size: Size
    likely: int
    seed: int
    splitter: str = NUPUNKT
    part_characters: int = Limits.part_characters


def smallest_sentences(
    reviews: Reviews,
    sample: SampleSize,
    *,
    passed: Callable[[float], object],
    meanwhile: Callable[[], object],
    index: Path,
) -> list[Sentence]:
    """The sample of all sentences; of many reviews only those that an index from before names are split.

    `passed` is called with each finished share of a review, or with the number of reviews of a part; `meanwhile` is called in
    a thread where processes split.
    """
    if sample.splitter in WHOLE:
        every = split_reviews(reviews, seed=sample.seed, splitter=sample.splitter, passed=passed)
        return take_smallest(every, sample.count, sample.size)
    entries = read_index(index)
    found = None if entries is None else _of_named(reviews, sample, entries, passed, meanwhile)
    if found is not None:
        return found
    sentences, parts = _split(reviews, sample, passed, meanwhile)
    write_index(index, parts)
    return sentences


def _of_named(
    reviews: Reviews,
    sample: SampleSize,
    entries: Entries,
    passed: Callable[[float], object],
    meanwhile: Callable[[], object],
) -> list[Sentence] | None:
    """The sample, from the reviews that an index names; None where the index is of other reviews, or more sentences are needed."""
    if len(entries) < sample.likely:
        return None
    likely = entries[: sample.likely]
    documents = np.unique(likely["document"]).tolist()
    if documents[0] < 0 or documents[-1] >= len(reviews):
        return None
    passed(len(reviews) - len(documents))
    chosen = replace(sample, count=len(likely), size=one_each)
    sentences, _ = _split(map(reviews.__getitem__, documents), chosen, passed, meanwhile)
    is_enough = sum(map(sample.size, sentences)) >= sample.count
    if not is_enough or [sentence.hash for sentence in sentences] != likely["hash"].tolist():
        passed(-len(reviews))
        return None
    return take_smallest(sentences, sample.count, sample.size)


def _split(
    reviews: Iterable[Review], sample: SampleSize, passed: Callable[[float], object], meanwhile: Callable[[], object]
) -> tuple[list[Sentence], list[Entries]]:
    """The sample, and entries of every sentence; no entries where reviews are so few that no process is worth its start."""
    parts = _parts(reviews, sample.part_characters)
    first, second = next(parts, []), next(parts, None)
    if second is None:
        every = split_reviews(first, seed=sample.seed, splitter=sample.splitter, passed=passed)
        return take_smallest(every, sample.count, sample.size), []
    thread = Thread(target=meanwhile, name="meanwhile")
    thread.start()
    entries: list[Entries] = []
    each = _in_processes(chain([first, second], parts), partial(split_part, sample), entries, passed)
    sentences = take_smallest(each, sample.count, sample.size)
    thread.join()
    return sentences, entries


def split_part(sample: SampleSize, reviews: list[Review]) -> tuple[list[Sentence], Entries]:
    """The sentences of some reviews with the smallest hashes, and entries of all."""
    every = list(split_reviews(reviews, seed=sample.seed, splitter=sample.splitter))
    return take_smallest(every, sample.count, sample.size), entries_of(every)


def _parts(reviews: Iterable[Review], most: int) -> Iterator[list[Review]]:
    part: list[Review] = []
    characters = 0
    for review in reviews:
        part.append(review)
        characters += len(review.text)
        if characters >= most:
            yield part
            part, characters = [], 0
    if part:
        yield part


def _in_processes(
    parts: Iterable[list[Review]],
    split: Callable[[list[Review]], tuple[list[Sentence], Entries]],
    entries: list[Entries],
    passed: Callable[[float], object],
) -> Iterator[Sentence]:
    """The sentences of each part, in the order of the parts; the entries of a part are appended."""
    from ingest.run.parallel import core_count, processes  # torch: what reads one review needs none

    waiting: deque[tuple[Future[tuple[list[Sentence], Entries]], int]] = deque()

    def first_done() -> list[Sentence]:
        future, reviews = waiting.popleft()
        sentences, own = future.result()
        entries.append(own)
        passed(reviews)
        return sentences

    for part in parts:
        waiting.append((processes().submit(split, part), len(part)))
        if len(waiting) > AHEAD * core_count():
            yield from first_done()
    while waiting:
        yield from first_done()


def _script(text: str) -> str | None:
    """The script of most of the first letters, by the first word of their names; None where there are no letters."""
    if text.isascii():
        return None
    letters = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in text[:TELLING] if letter.isalpha())
    latin = sum(count for script, count in letters.items() if script in _LATIN)
    others = {script: count for script, count in letters.items() if script not in _LATIN}
    if latin >= sum(others.values()):
        return "LATIN" if latin else None
    # Most characters of Japanese may be Chinese ones; any kana tells it apart.
    kana = [script for script in ("HIRAGANA", "KATAKANA") if others.get(script)]
    return kana[0] if kana else max(others, key=others.__getitem__)


def _sentences(paragraph: str, splitter: str, longest: int | None) -> Iterator[str]:
    script = _script(paragraph) if splitter == BY_SCRIPT else None
    if script in (None, "LATIN"):
        return _in_parts(paragraph, _nupunkt_spans, longest or LONGEST_PART)
    return _in_parts(paragraph, _sentencex_spans(_LANGUAGES.get(str(script), "en")), longest or LONGEST_QUOTED_PART)


def _in_parts(paragraph: str, spans_of: Spans, longest: int) -> Iterator[str]:
    """Sentences of a paragraph; one as long as a library in parts, so that progress shows: nupunkt yields none before it has all."""
    start, size = 0, longest
    while start < len(paragraph):
        spans = spans_of(paragraph, start, start + size)
        whole = start + size >= len(paragraph)
        if not whole and len(spans) <= UNSURE:
            size *= 2
            continue
        for first, stop in spans if whole else spans[:-UNSURE]:
            yield paragraph[first:stop]
        start, size = (len(paragraph) if whole else spans[-UNSURE][0]), longest


def _nupunkt_spans(paragraph: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Spans of sentences, whose ends depend on the words before and after, and on whether a line starts there."""
    from nupunkt import load

    word = paragraph[max(0, start - LONGEST_WORD) : start].rstrip().rpartition(" ")[2]
    for before in (f"x {word} ", "") if start else ("",):
        spans = list(load("default").span_tokenize(before + paragraph[start:stop]))
        shift = start - len(before)
        if any(first == len(before) for first, _ in spans):
            break
    return [(first + shift, end + shift) for first, end in spans if first >= len(before)]


def _sentencex_spans(language: str) -> Spans:
    from sentencex import segment

    def spans(paragraph: str, start: int, stop: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for sentence in segment(language, paragraph[start:stop].translate(_READ_AS)):
            found.append((start, start := start + len(sentence)))
        return found

    return spans

"""Sentences of a corpus: reviews are cleaned and split, duplicates dropped, those with the smallest hash taken."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ingest.text.reviews import Review

#: Everything a change of this file changes in the sentences must change this too; it is a part of a corpus' identity.
SPLITTER = "nupunkt-0.8/1"
#: Instead of it where the data holds sentences.
NOT_SPLIT = "none: the sentences of the treebank"
#: Instead of it where the data holds coreference, which crosses sentences.
PASSAGES = "none: the passages of the data"

#: Begins where white space does: tried at each of many spaces, it would take time quadratic in their number.
_PARAGRAPH = re.compile(r"(?<!\s)(?:\s*<br\s*/?>){2,}\s*|\n\s*\n", re.IGNORECASE)
#: Characters of a paragraph that are split at a time; the last sentences of a part may depend on what follows it.
LONGEST_PART, UNSURE, LONGEST_WORD = 1 << 18, 3, 1000
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_LETTER = re.compile("[0-9A-Za-z]")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a review."""

    hash: int
    text: str
    label: int
    document: int


#: What a sentence takes of a budget.
Size = Callable[[Sentence], int]


def split_review(text: str) -> list[str]:
    """Sentences of a review. HTML breaks are space; two in a row end a paragraph, and a paragraph ends a sentence.

    nupunkt was compared with blingfire, pysbd and syntok on 200 IMDB reviews: it is the one that also splits before
    a sentence that starts in lower case, keeps "Mr. Wayne" together, and is fast enough for 25,000 reviews.
    """
    return list(_split(text))


def _split(text: str) -> Iterator[str]:
    for paragraph in _PARAGRAPH.split(text):
        for sentence in _sentences(_SPACE.sub(" ", _BREAK.sub(" ", paragraph)).strip()):
            if sentence.strip():
                yield sentence.strip()


def _sentences(paragraph: str) -> Iterator[str]:
    """Those of a paragraph as long as a library in parts, so that progress shows: nupunkt yields none before it has all."""
    start, size = 0, LONGEST_PART
    while start < len(paragraph):
        spans = _spans(paragraph, start, start + size)
        whole = start + size >= len(paragraph)
        if not whole and len(spans) <= UNSURE:
            size *= 2
            continue
        for first, stop in spans if whole else spans[:-UNSURE]:
            yield paragraph[first:stop]
        start, size = (len(paragraph) if whole else spans[-UNSURE][0]), LONGEST_PART


def _spans(paragraph: str, start: int, stop: int) -> list[tuple[int, int]]:
    """First character and end of the sentences of a part that starts with one.

    Where a sentence ends depends on the word before, on the word after, and on whether a line starts there.
    """
    from nupunkt import load

    word = paragraph[max(0, start - LONGEST_WORD) : start].rstrip().rpartition(" ")[2]
    for before in (f"x {word} ", "") if start else ("",):
        spans = list(load("default").span_tokenize(before + paragraph[start:stop]))
        shift = start - len(before)
        if any(first == len(before) for first, _ in spans):
            break
    return [(first + shift, end + shift) for first, end in spans if first >= len(before)]


def sentence_hash(text: str, *, seed: int) -> int:
    """Key of a sentence in the order of the corpus: 64 bits of blake2b, salted with the seed."""
    digest = hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(8, "little", signed=True)
    )
    return int.from_bytes(digest.digest(), "big")


def split_reviews(
    reviews: Iterable[Review], *, seed: int, whole: bool = False, passed: Callable[[float], object] = float
) -> Iterator[Sentence]:
    """Every sentence of every review, in their order; `passed` is called with each finished share of a review.

    Where `whole`, each review is a sentence.
    """
    for review in reviews:
        left = 1.0
        for text in [review.text] if whole else _split(review.text):
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

    With a `size` of sentences, as many as have the size `count` together. A uniform sample without replacement, and a larger
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
    """In the order of their hashes, until they have the size `count` together."""
    for hash_ in sorted(smallest):
        if count <= 0:
            return
        yield smallest[hash_]
        count -= size(smallest[hash_])


def fewest_tokens(sentence: Sentence, *, max_length: int) -> int:
    """How many tokens a sentence has at least: [CLS], [SEP] and one for each word with a letter or digit, up to the longest."""
    return min(max_length, 2 + sum(map(bool, map(_LETTER.search, sentence.text.split(" ")))))

"""What the sentences of a corpus depend on: its identity, of which its key is a hash, with where a text is split into sentences.

A text is split by nupunkt, in other scripts by sentencex, at its lines, or nowhere. Which of them splits a data set is told
by a name that is a part of the corpus' identity: whatever changes the sentences must change that name.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.settings import AUTO, NONE, Settings
from ingest.text.blocks import short_key
from ingest.text.reviews import Data, Reviews
from store.repository.writer import Writer
from store.schema import BLOCK

#: The sentence ends of Latin and Cyrillic script, in every script: how all data was split at first.
NUPUNKT = "nupunkt-0.8/1"
#: The same, and sentencex where most letters of a paragraph are of another script.
BY_SCRIPT = f"{NUPUNKT}, sentencex-1.0.32/1 in scripts other than Latin and Cyrillic"
#: The data holds a sentence in each line, or in each text.
LINES, TEXTS = "none: the lines of the texts", "none: the texts of the data"
#: Instead of these where the data holds sentences.
NOT_SPLIT = "none: the sentences of the treebank"
#: Instead of these where the data holds coreference, which crosses sentences.
PASSAGES = "none: the passages of the data"
WHOLE = (NOT_SPLIT, PASSAGES)

#: Begins where white space does: tried at each of many spaces, it would take time quadratic in their number.
_PARAGRAPH = re.compile(r"(?<!\s)(?:\s*<br\s*/?>){2,}\s*|\n\s*\n", re.IGNORECASE)
#: Characters of a paragraph that are split at a time; the last sentences of a part may depend on what follows it.
LONGEST_PART, UNSURE, LONGEST_WORD = 1 << 18, 3, 1000
#: Of sentencex, whose time is quadratic in the quotations of a part.
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
#: What sentencex reads instead of other characters, one for one: a danda for each of Unicode's sentence ends (Sentence_Break
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
#: Of a corpus whose splitter was chosen by the scripts of its texts; one from before may hold whole texts.
SCRIPTS_KNOWN = {"scripts_known": True}


def split_text(text: str, splitter: str = NUPUNKT) -> Iterator[str]:
    """Sentences of a text. HTML breaks are space; two in a row end a paragraph, and a paragraph ends a sentence."""
    parts = text.splitlines() if splitter == LINES else [text] if splitter == TEXTS else _PARAGRAPH.split(text)
    for part in parts:
        cleaned = _SPACE.sub(" ", _BREAK.sub(" ", part)).strip()
        for sentence in [cleaned] if splitter in (LINES, TEXTS) else _sentences(cleaned, splitter):
            if sentence.strip():
                yield sentence.strip()


def has_other_script(text: str) -> bool:
    """Whether the sentences of a text end otherwise than Latin ones: most of its first letters are of another script."""
    return _script(text) not in (None, "LATIN")


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


def _sentences(paragraph: str, splitter: str) -> Iterator[str]:
    script = _script(paragraph) if splitter == BY_SCRIPT else None
    if script in (None, "LATIN"):
        return _in_parts(paragraph, _nupunkt_spans, LONGEST_PART)
    return _in_parts(paragraph, _sentencex_spans(_LANGUAGES.get(str(script), "en")), LONGEST_QUOTED_PART)


def _in_parts(paragraph: str, spans_of: Spans, longest: int) -> Iterator[str]:
    """Those of a paragraph as long as a library in parts, so that progress shows: nupunkt yields none before it has all."""
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
    """Where a sentence ends depends on the word before, on the word after, and on whether a line starts there."""
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


def splitter_of(texts: Iterable[str]) -> str:
    """What splits a data set, by some of its texts: the scripts of all of them, or those of nearly all."""
    other = [has_other_script(text) for text in texts]
    return BY_SCRIPT if other and sum(other) >= OTHER_SHARE * len(other) else NUPUNKT


#: Texts that tell the scripts of a data set, and the share of them from which on another script counts: below it the sentences
#: of a data set are those that they were before other scripts were known.
TEXTS_LOOKED_AT, OTHER_SHARE = 2000, 0.01


def corpus_identity(
    writer: Writer, settings: Settings, data: Data, checkpoint: Checkpoint, read: Callable[[], Reviews]
) -> dict[str, Any]:
    """What the sentences of a corpus depend on.

    Where the settings leave open what splits the texts, the texts tell it; of a corpus that the store holds they need not be read.
    """
    split = partial(_identity_of, settings, data, checkpoint)
    if data.is_treebank or data.has_mentions:
        return split(NOT_SPLIT if data.is_treebank else PASSAGES)
    if settings.sentence_split != AUTO:
        return split(TEXTS if settings.sentence_split == NONE else LINES)
    groups, keys = writer.group("corpus"), {each: short_key(data.name, split(each)) for each in (BY_SCRIPT, NUPUNKT)}
    held = {each: dict(groups[key].attrs) for each, key in keys.items() if key in groups}
    for each, attributes in held.items():
        if attributes.items() >= SCRIPTS_KNOWN.items():
            return split(each)
    try:
        texts = read().some_texts(TEXTS_LOOKED_AT)
    except IngestError:
        if NUPUNKT not in held:
            raise
        return split(NUPUNKT)  # a store from before, whose data is out of reach
    return split(splitter_of(texts))


def _identity_of(settings: Settings, data: Data, checkpoint: Checkpoint, splitter: str) -> dict[str, Any]:
    return {
        "data_identity": data.identity,
        "text_column": settings.text,
        "label_column": settings.label,
        "splitter": splitter,
        "max_length": settings.max_length,
        "seed": settings.seed,
        "tokenizer_sha256": checkpoint.tokenizer_sha256,
        "block": BLOCK,
        "order": "sentences sorted by the content hash: every prefix is a uniform sample",
    }

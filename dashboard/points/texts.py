"""The sentences of a corpus as one text to search in, and which wordpiece stands where in it. Made once for each corpus."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.web.cache import cached
from store import Corpus

#: Stands between sentences; no sentence contains it, as white space within one is a single space.
BETWEEN = "\n"
#: What BERT's tokenizer makes a word of its own besides punctuation: Chinese characters.
_IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


@dataclass(frozen=True)
class Texts:
    """All sentences, one after the other.

    Attributes
    ----------
    folded
        The text in lower case, as long as the text itself.
    start
        Where each sentence starts in it: (sentence,).
    word
        Number in the corpus of the word that each character belongs to, of a space the word before: (character,).
    first_word
        Number of each sentence's first word: (sentence,).
    agrees
        Whether the words found here are those of the tokenizer, by their number: (sentence,).
    """

    folded: str
    start: NDArray[np.int64]
    word: NDArray[np.int32]
    first_word: NDArray[np.int64]
    agrees: NDArray[np.bool_]


@cached
def texts(corpus: Corpus) -> Texts:
    """The text of a corpus and its words."""
    every = [spaced(str(text)) for text in corpus.sentences.text.values]
    blob = BETWEEN.join(every) + BETWEEN
    start = np.cumsum([0, *(len(text) + 1 for text in every)])[:-1]
    starts_word = _word_starts(blob)
    word = np.cumsum(starts_word, dtype=np.int32) - 1
    first_word = word[start].astype(np.int64) + (~starts_word[start])
    count = np.diff(np.append(first_word, int(word[-1]) + 1))
    return Texts(folded(blob), start, word, first_word, count == _token_words(corpus))


def spaced(text: str) -> str:
    """The text with one space for all white space."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """In lower case, character by character where that would change the length."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(one.lower() if len(one.lower()) == 1 else one for one in text)


def parted(text: str) -> str:
    """The text with one space between any two words: every punctuation mark stands alone."""
    starts = _word_starts(text) if text else ()
    return spaced("".join(f" {one}" if start else one for one, start in zip(text, starts, strict=True)))


def _token_words(corpus: Corpus) -> NDArray[np.int64]:
    """Words of each sentence as the tokenizer counted them."""
    sentence, word = (corpus.tokens[name].values[corpus.rows] for name in ("sentence_index", "word_index"))
    first = np.flatnonzero(np.diff(sentence, prepend=-1))
    return np.maximum.reduceat(word.astype(np.int64), first) + 1


def _word_starts(text: str) -> NDArray[np.bool_]:
    """Whether a word starts at each character, by the rule of BERT: between spaces, every punctuation mark alone."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    space, alone = (_where(points, rule) for rule in (str.isspace, _is_alone))
    before = np.concatenate([[True], (space | alone)[:-1]])
    return alone | (~space & before)


def _where(points: NDArray[np.uint32], rule: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Whether the rule holds for each character; it is asked once for every different one."""
    holds = np.zeros(int(points.max()) + 1, bool)
    for point in np.flatnonzero(np.bincount(points)):
        holds[point] = rule(chr(point))
    return holds[points]


def _is_alone(character: str) -> bool:
    """Whether the character is a word by itself."""
    ascii_mark = character.isascii() and character.isprintable() and not character.isalnum() and character != " "
    point = ord(character)
    return (
        ascii_mark
        or unicodedata.category(character).startswith("P")
        or any(low <= point <= high for low, high in _IDEOGRAPHS)
    )

"""Finding tokens by wordpiece or by a phrase of their sentence, in the whole corpus.

A phrase selects the tokens of the words it covers, even in part. Where the words of a sentence cannot be told from its
text (it was cut, or its tokenizer splits otherwise), all its tokens are selected.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dashboard.points.texts import BETWEEN, Texts, folded, spaced, texts
from dashboard.web.cache import cached
from store import Corpus

Within = Literal["token", "prefix", "phrase"]
WITHIN: tuple[Within, ...] = ("token", "prefix", "phrase")

Tokens = NDArray[np.bool_]


@dataclass(frozen=True)
class Sentence:
    """A sentence that was found.

    `token` is its first token that was found, `parts` its text, each part with whether it was found.
    """

    sentence: int
    token: int
    position: int
    label: str
    parts: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Hits:
    """What a search finds in the whole corpus: how many tokens and sentences, and the first of these."""

    tokens: int
    sentences: int
    rows: tuple[Sentence, ...]


def hits(corpus: Corpus, q: str, within: Within, *, limit: int = 50) -> Hits:
    """What a search finds in the whole corpus."""
    tokens = np.flatnonzero(found(corpus, q, within))
    sentences, first = np.unique(corpus.tokens.sentence_index.values[corpus.rows[tokens]], return_index=True)
    each = np.split(tokens, first[1 : limit + 1])[:limit] if len(tokens) else []
    rows = [_sentence(corpus, int(sentence), own) for sentence, own in zip(sentences, each, strict=False)]
    if within == "phrase":
        rows = [replace(row, parts=_marked_phrase(corpus, row.sentence, q)) for row in rows]
    return Hits(len(tokens), len(sentences), tuple(rows))


def found(corpus: Corpus, q: str, within: Within) -> Tokens:
    """Which tokens of the corpus a search finds: (token,), none where `q` is empty."""
    return _found(corpus, folded(spaced(q)), within)


@cached
def _found(corpus: Corpus, sought: str, within: Within) -> Tokens:
    return _by_phrase(corpus, sought) if within == "phrase" else _by_piece(corpus, sought, within)


def _by_piece(corpus: Corpus, sought: str, within: Within) -> Tokens:
    pieces = _folded_pieces(corpus)
    same = (is_sought(piece, sought, within) for piece in pieces)
    return (np.fromiter(same, bool) & bool(sought))[corpus.tokens.token_id.values[corpus.rows]]


def is_sought(piece: str, sought: str, within: Within) -> bool:
    """Whether a wordpiece is one that is searched for; both in lower case."""
    return piece.startswith(sought) if within == "prefix" else piece == sought


@cached
def _folded_pieces(corpus: Corpus) -> list[str]:
    """Every wordpiece in lower case."""
    return [folded(str(piece)) for piece in corpus.vocab]


@cached
def occurring_pieces(corpus: Corpus) -> list[str]:
    """Wordpieces of the corpus' tokens in lower case, each once."""
    ids = np.unique(corpus.tokens.token_id.values[corpus.rows])
    return sorted({_folded_pieces(corpus)[one] for one in ids})


def _by_phrase(corpus: Corpus, sought: str) -> Tokens:
    sentence, word_index = (corpus.tokens[name].values[corpus.rows] for name in ("sentence_index", "word_index"))
    return tokens_of_phrase(texts(corpus), sentence, word_index, sought)


def tokens_of_phrase(
    text: Texts, sentence: NDArray[np.integer], word_index: NDArray[np.integer], sought: str
) -> Tokens:
    """Which tokens, of these sentences of the text and these words of them, are of a word that the phrase covers: (token,)."""
    at = np.fromiter(_occurrences(text.folded, sought), np.int64)
    partly = _sentences_at(text, at)
    told = text.agrees[sentence]
    word = np.where(told & (word_index >= 0), text.first_word[sentence] + word_index, -1)
    covered = _covered(text.word[at], text.word[at + len(sought) - 1], int(text.word[-1]) + 1)
    return np.where(told, covered[word], partly[sentence])


def sentences_with(corpus: Corpus, sought: str) -> Tokens:
    """Which sentences have this in their text, in any case: (sentence,), none where it is empty."""
    return _sentences_with(corpus, folded(spaced(sought)))


@cached
def _sentences_with(corpus: Corpus, wanted: str) -> Tokens:
    # Sentence by sentence: a letter occurs far more often than there are sentences.
    each = texts(corpus).folded.split(BETWEEN)[: corpus.n_sentences]
    return np.fromiter((wanted in one for one in each), bool) & bool(wanted)


def _sentences_at(text: Texts, at: NDArray[np.int64]) -> Tokens:
    """Which sentences have one of these characters of the text: (sentence,)."""
    there = np.zeros(len(text.start), bool)
    there[np.searchsorted(text.start, at, side="right") - 1] = True
    return there


def _occurrences(text: str, sought: str) -> Iterator[int]:
    """Where `sought` starts, overlaps included."""
    at = text.find(sought) if sought else -1
    while at >= 0:
        yield at
        at = text.find(sought, at + 1)


def _covered(first: NDArray[np.int32], last: NDArray[np.int32], words: int) -> NDArray[np.bool_]:
    """Which words lie in one of the stretches: (word + 1,), the one past the end, where -1 points, never."""
    steps = np.bincount(first, minlength=words + 1) - np.bincount(last + 1, minlength=words + 1)
    return np.append(np.cumsum(steps)[:words] > 0, False)


def _sentence(corpus: Corpus, sentence: int, tokens: NDArray[np.int64]) -> Sentence:
    """A sentence with the words of these tokens marked."""
    rows = corpus.rows[tokens]
    own = texts(corpus)
    text = spaced(str(corpus.sentences.text.values[sentence]))
    start = int(own.start[sentence])
    words = own.word[start : start + len(text)] - own.first_word[sentence]
    marked = np.isin(words, corpus.tokens.word_index.values[rows]) & bool(own.agrees[sentence])
    return Sentence(
        sentence=sentence,
        token=int(tokens[0]),
        position=int(corpus.tokens.position.values[rows[0]]),
        label=corpus.label_name(sentence),
        parts=_parts(text, marked),
    )


def _marked_phrase(corpus: Corpus, sentence: int, q: str) -> tuple[tuple[str, bool], ...]:
    text, sought = spaced(str(corpus.sentences.text.values[sentence])), folded(spaced(q))
    marked = np.zeros(len(text), bool)
    for at in _occurrences(folded(text), sought):
        marked[at : at + len(sought)] = True
    return _parts(text, marked)


def _parts(text: str, marked: NDArray[np.bool_]) -> tuple[tuple[str, bool], ...]:
    """The text cut where marks begin and end; spaces at the end of a mark are left out of it."""
    marked = marked & ~(np.array([one == " " for one in text], bool) & ~np.append(marked[1:], False))
    cuts = [0, *(np.flatnonzero(np.diff(marked)) + 1).tolist(), len(text)]
    return tuple((text[low:high], bool(marked[low])) for low, high in itertools.pairwise(cuts) if low < high)

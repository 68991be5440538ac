"""The text of a review, put together again from its wordpieces: the store has the text of the corpus' sentences alone."""

import unicodedata

import numpy as np
from numpy.typing import NDArray

from dashboard.features.pieces import pieces_of
from dashboard.points.search import BETWEEN, Texts, folded, parted, tokens_of_phrase
from dashboard.web.cache import cached
from store.features import Features


def phrase_in_review(features: Features, sought: str) -> NDArray[np.bool_]:
    """Which tokens are of a word that the phrase, in lower case, covers: (token,); a review is one sentence here."""
    word_index = features.tokens.word_index.values
    own = review_text(features)
    return tokens_of_phrase(own, np.zeros(len(word_index), np.int64), word_index, _plain(parted(sought)))


@cached
def review_text(features: Features) -> Texts:
    """Its words with a space between them, without capitals and accents: some tokenizers leave these out themselves."""
    words = [_plain(word) for word in _words(features)]
    word = np.repeat(np.arange(len(words), dtype=np.int32), [len(one) + 1 for one in words])
    first = np.zeros(1, np.int64)
    return Texts(folded(" ".join(words) + BETWEEN), first, word, first, np.ones(1, bool))


def _plain(text: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFD", text) if unicodedata.category(one) != "Mn")


def _words(features: Features) -> list[str]:
    """Its words in order; one that is not in the vocabulary is [UNK]."""
    word_index = features.tokens.word_index.values
    words = [""] * (int(word_index.max()) + 1)
    for piece, word in zip(pieces_of(features), word_index, strict=True):
        if word >= 0:
            words[word] += piece.removeprefix("##") if words[word] else piece
    return words

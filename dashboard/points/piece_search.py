"""Searching tokens by their wordpiece or its beginning, in any case.

A wordpiece is found by its name, such as `##ing` or `▁film`, and one that begins a word by the text that it stands for too.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dashboard.web.results import cached
from dashboard.web.state import Within
from store import Corpus
from store.schema.corpus import CONTINUATION
from store.text import Piece

Tokens = NDArray[np.bool_]


def folded(text: str) -> str:
    """The text in lower case, without changing its length."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def tokens_of_piece(corpus: Corpus, sought: str, within: Within) -> Tokens:
    """Which tokens of the corpus match, none where `sought` is empty: (token,). `sought` is in lower case."""
    ids, flags = (corpus.tokens[name].values[corpus.rows] for name in ("token_id", "token_flags"))
    named, spelled = (
        _matches(pieces, sought, within)[ids] for pieces in (_folded_names(corpus), _folded_texts(corpus))
    )
    matching: Tokens = named | spelled & ((flags & CONTINUATION) == 0)
    return matching


def matching_pieces(pieces: Sequence[Piece], sought: str, within: Within) -> Tokens:
    """The same of wordpieces where they stand: (piece,)."""
    names, texts = (_folded(each) for each in zip(*((piece.name, piece.text) for piece in pieces), strict=True))
    begins = np.array([not piece.continues for piece in pieces])
    return _matches(names, sought, within) | _matches(texts, sought, within) & begins


def _matches(pieces: NDArray[np.str_], sought: str, within: Within) -> NDArray[np.bool_]:
    if not sought or sought.endswith("\0"):  # numpy drops a NUL at the end
        return np.zeros(len(pieces), bool)
    return np.strings.startswith(pieces, sought) if within == "prefix" else pieces == sought


@cached
def _folded_names(corpus: Corpus) -> NDArray[np.str_]:
    return _folded(corpus.vocab)


@cached
def _folded_texts(corpus: Corpus) -> NDArray[np.str_]:
    return _folded(corpus.piece_texts)


def _folded(pieces: Iterable[object]) -> NDArray[np.str_]:
    """In lower case, as an array of numpy's variable-width strings."""
    return np.array([folded(str(piece)) for piece in pieces], np.dtypes.StringDType())


@cached
def occurring_pieces(corpus: Corpus) -> list[str]:
    """Wordpieces of the corpus' tokens in lower case, each once."""
    ids = np.unique(corpus.tokens.token_id.values[corpus.rows])
    return sorted(set(_folded_names(corpus)[ids].tolist()))

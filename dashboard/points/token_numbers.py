"""What each column reads of the drawn tokens, every function (panel, token, role), with 1 for what makes no difference.

Numbers are float64 with NaN for none, categories are int64 codes with -1 for none.
"""

import numpy as np
from numpy.typing import NDArray

from dashboard.points.drawn import Drawn
from dashboard.web.cache import cached
from store import Corpus
from store.schema import CLS, CONTINUATION, PUNCTUATION, SEP, SYMBOL

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]

#: Occurrences with which the second and the later bands begin: each is about ten times as frequent as the one before.
FREQUENCIES = (2, 10, 100, 1_000)


def role(drawn: Drawn) -> Codes:
    """0 for a query, 1 for a key."""
    return np.broadcast_to(np.arange(2), (1, len(drawn.rows), 2))


def position(drawn: Drawn) -> Numbers:
    """0 for [CLS]."""
    return _numbers(drawn.of_tokens("position"))


def position_share(drawn: Drawn) -> Numbers:
    """0 for [CLS], 1 for [SEP]."""
    last = sentence_length(drawn) - 1
    return position(drawn) / np.where(last > 0, last, 1)


def position_modulo_5(drawn: Drawn) -> Codes:
    """Codes 0 to 4."""
    return _codes(drawn.of_tokens("position") % 5)


def kind(drawn: Drawn) -> Codes:
    """Codes of `columns.KINDS`; what is both is the first of them."""
    return _codes(kinds_of(drawn.of_tokens("token_flags")))


def kinds_of(flags: NDArray[np.integer]) -> Codes:
    """Codes of `columns.KINDS` by flags of any shape."""
    bits = (CLS, SEP, PUNCTUATION, SYMBOL, CONTINUATION)
    return np.select([flags & bit != 0 for bit in bits], range(len(bits)), len(bits)).astype(np.int64)


def punctuation(drawn: Drawn) -> Codes:
    """Codes of `columns.PUNCTUATION`."""
    flags = drawn.of_tokens("token_flags")
    return _codes(np.select([flags & (CLS | SEP) != 0, flags & (PUNCTUATION | SYMBOL) != 0], [2, 1], 0))


def token_length(drawn: Drawn) -> Numbers:
    """Characters of the wordpiece without ##; [CLS] and [SEP] have none."""
    special = drawn.of_tokens("token_flags") & (CLS | SEP) != 0
    return _numbers(np.where(special, np.nan, piece_lengths(drawn.corpus)[drawn.of_tokens("token_id")]))


def sentence_length(drawn: Drawn) -> Numbers:
    """Tokens, [CLS] and [SEP] included."""
    return _numbers(drawn.of_sentences(drawn.corpus.sentences.row_size.values))


def frequency(drawn: Drawn) -> Numbers:
    """How often the wordpiece occurs in the whole corpus."""
    return _numbers(piece_counts(drawn.corpus)[drawn.of_tokens("token_id")])


def frequency_band(drawn: Drawn) -> Codes:
    """Codes of `columns.FREQUENCY_BANDS`."""
    return np.searchsorted(FREQUENCIES, frequency(drawn), side="right").astype(np.int64)


def norm(drawn: Drawn) -> Numbers:
    """Length of the query for a query, of the key for a key."""
    lengths = [drawn.lengths(vectors) for vectors in (drawn.corpus.query, drawn.corpus.key)]
    return np.stack(lengths, axis=-1).astype(np.float64)


def value_norm(drawn: Drawn) -> Numbers:
    """Kobayashi's ||f(x)||."""
    return drawn.of_heads(drawn.corpus.value_norm).astype(np.float64)[..., None]


def statistic(drawn: Drawn, *, name: str) -> Numbers:
    """One of `store.STATISTICS`."""
    return drawn.of_heads(drawn.corpus.token_statistic.sel(statistic=name)).astype(np.float64)[..., None]


def given(drawn: Drawn) -> Numbers:
    """What of a token's attention goes to other tokens: 1 - p(i,i)."""
    return 1 - statistic(drawn, name="to_self")


def label(drawn: Drawn) -> Codes:
    """Codes of the data's label names."""
    return _codes(drawn.of_sentences(drawn.corpus.sentences.label.values))


def review(drawn: Drawn) -> Codes:
    """Numbers of the reviews in the data."""
    return _codes(drawn.of_sentences(drawn.corpus.sentences.document.values))


def of_data(drawn: Drawn, *, name: str) -> Codes:
    """Codes of a column that came with the data."""
    return _codes(drawn.of_sentences(drawn.corpus.columns[name].values))


@cached
def piece_counts(corpus: Corpus) -> NDArray[np.int64]:
    """Occurrences of each wordpiece in the corpus: (vocab,)."""
    return np.bincount(corpus.tokens.token_id.values[corpus.rows], minlength=len(corpus.vocab))


@cached
def piece_lengths(corpus: Corpus) -> NDArray[np.int64]:
    """Characters of each wordpiece without ##: (vocab,)."""
    return np.fromiter((len(str(piece).removeprefix("##")) for piece in corpus.vocab), np.int64)


def _numbers(values: NDArray[np.generic]) -> Numbers:
    return values.astype(np.float64)[None, :, None]


def _codes(values: NDArray[np.generic]) -> Codes:
    return values.astype(np.int64)[None, :, None]

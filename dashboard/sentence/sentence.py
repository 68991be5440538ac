"""One sentence with its queries and keys, from which every view of its attention is computed."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.web.cache import cached
from store import Corpus
from store.kernels.attention import attention_pattern, attention_rollout

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence of the corpus, or one or two typed by a reader.

    Attributes
    ----------
    text, second
        Of a pair the first and the second; otherwise `second` is empty.
    label
        Empty where there is none.
    wordpieces
        [CLS] and [SEP] included: (token,).
    flags
        Token flags of `store.schema`: (token,).
    word_index
        Word of each wordpiece, -1 for special tokens; of a pair counted on through both: (token,).
    segment
        0 for [CLS] A [SEP], 1 for B [SEP]: (token,).
    query, key
        (layer, head, token, channel), before the 1/sqrt(channels) scale.
    value_norm
        ||f(x)|| (layer, head, token); `store.kernels.attention.value_norm`.
    mixing
        Share of each token that comes from others (ratio, layer, token); `store.schema.model.RATIOS`.
    cut
        Whether the text was longer than the model allows.
    """

    text: str
    second: str
    label: str
    wordpieces: tuple[str, ...]
    flags: NDArray[np.uint8]
    word_index: NDArray[np.int16]
    segment: NDArray[np.uint8]
    query: Floats
    key: Floats
    value_norm: Floats
    mixing: Floats
    cut: bool

    @property
    def pattern(self) -> Floats:
        """Attention (layer, head, query_token, key_token); rows sum to 1."""
        pattern: Floats = attention_pattern(self.query, self.key)
        return pattern

    @property
    def mean_over_heads(self) -> Floats:
        """Attention of every layer, the mean of its heads (layer, query_token, key_token)."""
        return np.stack([self.layer_pattern(layer).mean(axis=0) for layer in range(len(self.query))])

    @property
    def rollout(self) -> Floats:
        """Attention rollout up to every layer (layer, query_token, input_token)."""
        return _rollout(self)

    def layer_pattern(self, layer: int) -> Floats:
        """Attention of one layer (head, query_token, key_token), without computing that of the others."""
        pattern: Floats = attention_pattern(self.query[layer], self.key[layer])
        return pattern


@cached
def _rollout(sentence: Sentence) -> Floats:
    rollout: Floats = attention_rollout(sentence.mean_over_heads[:, None])
    return rollout


@cached
def stored_sentence(corpus: Corpus, index: int) -> Sentence:
    """A sentence of the corpus; raises a StoreError for an unknown one."""
    rows = corpus.sentence_rows(index)
    tokens = corpus.tokens.isel(token=rows)
    return Sentence(
        text=str(corpus.sentences.text.values[index]),
        second="",
        label=corpus.label_name(index),
        wordpieces=tuple(corpus.wordpieces(rows)),
        flags=tokens.token_flags.values,
        word_index=tokens.word_index.values,
        segment=np.zeros(tokens.sizes["token"], np.uint8),
        query=_numbers(corpus.query, rows),
        key=_numbers(corpus.key, rows),
        value_norm=_numbers(corpus.value_norm, rows),
        mixing=_numbers(corpus.token_mixing, rows),
        cut=_cut(corpus, tokens.sizes["token"]),
    )


def _numbers(array: xr.DataArray, rows: slice) -> Floats:
    return array.variable[:, :, rows].values.astype(np.float32)


def _cut(corpus: Corpus, tokens: int) -> bool:
    """Estimated from the store, which only counts truncated sentences: hardly one has exactly the maximum length."""
    known = corpus.corpus_attributes
    return bool(known.get("truncated", 0)) and tokens >= int(known["max_length"])

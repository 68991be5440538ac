"""One sentence with its queries and keys, from which every view of its attention is computed."""

import weakref
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dashboard.web.results import cached
from store import Corpus
from store.kernels.attention import attention_pattern, attention_rollout

Floats = NDArray[np.float32]
#: Arrays of a stored sentence whose first axis is the layer.
ByLayer = Literal["query", "key", "value_norm"]


class StoredLayers:
    """An array (layer, head, token, ...) of a stored sentence, of which only the layers that are needed are read.

    Most requests are about one layer: of 144 heads, reading all takes twelve times as long. Layers are cached one by one.
    """

    def __init__(self, corpus: Corpus, name: ByLayer, sentence: int) -> None:
        self._corpus, self._name, self._sentence = weakref.ref(corpus), name, sentence  # a cache must not keep it alive
        rows, array = corpus.sentence_rows(sentence), getattr(corpus, name)
        self.shape: tuple[int, ...] = (*array.shape[:2], rows.stop - rows.start, *array.shape[3:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> Any:
        """As of an array, whose first index is a layer or a slice of layers: only these are read."""
        first, *rest = part if isinstance(part, tuple) else (part,)
        if isinstance(first, slice):
            return np.stack([self._layer(layer) for layer in range(len(self))[first]])[:, *rest]
        return self._layer(int(first))[tuple(rest)]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        every: Floats = self[:]
        return every

    def _layer(self, layer: int) -> Floats:
        corpus = self._corpus()
        assert corpus is not None, "the request that shows the sentence holds its corpus"
        return _stored_layer(corpus, self._name, self._sentence, layer)


@cached
def _stored_layer(corpus: Corpus, name: ByLayer, sentence: int, layer: int) -> Floats:
    array = getattr(corpus, name).variable[layer, :, corpus.sentence_rows(sentence)]
    numbers: Floats = array.values.astype(np.float32)
    return numbers


Layers = Floats | StoredLayers


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
    texts
        The text that each wordpiece stands for: (token,).
    flags
        Token flags of `store.schema`: (token,).
    word_index
        Word of each wordpiece, -1 for special tokens; of a pair counted on through both: (token,).
    segment
        0 for [CLS] A [SEP], 1 for B [SEP], or what the tokenizer makes of a pair: (token,).
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
    texts: tuple[str, ...]
    flags: NDArray[np.uint8]
    word_index: NDArray[np.int16]
    segment: NDArray[np.uint8]
    query: Layers
    key: Layers
    value_norm: Layers
    mixing: Floats
    cut: bool

    @property
    def pattern(self) -> Floats:
        """Attention (layer, head, query_token, key_token); rows sum to 1."""
        pattern: Floats = attention_pattern(np.asarray(self.query), np.asarray(self.key))
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
        texts=tuple(corpus.piece_texts[tokens.token_id.values]),
        flags=tokens.token_flags.values,
        word_index=tokens.word_index.values,
        segment=np.zeros(tokens.sizes["token"], np.uint8),
        query=StoredLayers(corpus, "query", index),
        key=StoredLayers(corpus, "key", index),
        value_norm=StoredLayers(corpus, "value_norm", index),
        mixing=corpus.token_mixing.variable[:, :, rows].values.astype(np.float32),
        cut=is_cut(corpus, tokens.sizes["token"]),
    )


def is_cut(corpus: Corpus, tokens: int) -> bool:
    """Whether a sentence of the corpus with so many tokens was longer.

    Estimated from the store, which only counts truncated sentences: hardly one has exactly the maximum length.
    """
    known = corpus.corpus_attributes
    return bool(known.get("truncated", 0)) and tokens >= int(known["max_length"])

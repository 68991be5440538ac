"""One sentence with its queries and keys, and its attention as it is shown: weighted, filtered, between words, averaged or rolled out."""

import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dashboard.web.results import cached
from dashboard.web.state import PAIRS, Mean, Pair
from store import Corpus
from store.kernels.attention import attention_logits, attention_pattern, attention_rollout, merge_words
from store.kernels.bias import AttentionBias
from store.schema.corpus import NO_WORD

Floats = NDArray[np.float32]
#: Arrays of a stored sentence whose first axis is the layer.
ByLayer = Literal["query", "key", "value_norm"]
#: Fields of a link that change what is shown.
FIELDS = ("weights", "pair", "hide", "special", "renormalize", "words", "rollout")
#: Most positions that a link hides.
MOST_HIDDEN = 1_024
_POSITION = re.compile(r"[0-9]{1,4}")
Weights = NDArray[np.floating]


class StoredLayers:
    """An array (layer, head, token, ...) of a stored sentence, of which only the layers that are needed are read.

    Most requests are about one layer: of 144 heads, reading all takes twelve times as long. Layers are cached one by one.
    """

    def __init__(self, corpus: Corpus, name: ByLayer, sentence: int, read: "ReadLayer | None" = None) -> None:
        """`read` reads a layer, by default into the cache."""
        self._corpus, self._name, self._sentence = weakref.ref(corpus), name, sentence  # a cache must not keep it alive
        self._read = read or _stored_layer
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
        return self._read(corpus, self._name, self._sentence, layer)


@cached
def _stored_layer(corpus: Corpus, name: ByLayer, sentence: int, layer: int) -> Floats:
    array = getattr(corpus, name).variable[layer, :, corpus.sentence_rows(sentence)]
    numbers: Floats = array.values.astype(np.float32)
    return numbers


#: Reads an array of a sentence in a layer: (head, token, ...).
ReadLayer = Callable[[Corpus, ByLayer, int, int], Floats]
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
    bias
        What the model adds to q.k / sqrt(channels); None where it adds nothing.
    last
        Output of the last layer (token, feature); None of stored vectors, which have none.
    answer, answers
        Logits of a classifier (label,), and what it calls them; empty of another model; None of stored vectors.
    hidden_loss
        Sum over hidden wordpieces of -ln of the probability of the right one, in nats; None where none is asked for, or the
        model predicts none.
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
    bias: AttentionBias | None = None
    last: Floats | None = None
    answer: Floats | None = None
    answers: tuple[str, ...] = ()
    hidden_loss: float | None = None

    @property
    def pattern(self) -> Floats:
        """Attention (layer, head, query_token, key_token); rows sum to 1."""
        if self.bias is not None:
            return np.stack([self.layer_pattern(layer) for layer in range(len(self.query))])
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
        bias = self.bias and self.bias.part(layer)
        pattern: Floats = attention_pattern(self.query[layer], self.key[layer], bias=bias)
        return pattern

    def row_logits(self, layer: int, query: int) -> Floats:
        """Logits of one query in every head of a layer: (head, key_token)."""
        keys = self.key[layer]
        bias = self.bias and self.bias.part(layer).at([query], range(keys.shape[-2]))
        logits: Floats = attention_logits(self.query[layer][:, query : query + 1], keys, bias=bias)[:, 0]
        return logits


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
        bias=corpus.bias and corpus.bias.within(tokens.sizes["token"]),
    )


def is_cut(corpus: Corpus, tokens: int) -> bool:
    """Whether a sentence of the corpus with so many tokens was longer.

    Estimated from the store, which only counts truncated sentences: hardly one has exactly the maximum length.
    """
    known = corpus.corpus_attributes
    return bool(known.get("truncated", 0)) and tokens >= int(known["max_length"])


@dataclass(frozen=True)
class PatternOptions:
    """How a sentence's patterns are shown; the defaults show the patterns themselves.

    Attributes
    ----------
    weights
        `norm`: ||a f(x)|| = a ||f(x)||, the weight times the value norm (Kobayashi et al. 2020). Without effect on a
        rollout, whose weights are of the input tokens.
    pair
        Of a pair of sentences: `ab` shows queries of the first and keys of the second (BertViz). Without effect on a single
        sentence.
    hide
        Positions hidden as queries and keys; a word is hidden with all its wordpieces.
    special
        Whether [CLS], [SEP] and special tokens in the text are shown.
    renormalize
        Rows are divided by their sum; an empty row stays 0.
    words
        Wordpieces merged (Clark et al. 2019, section 4.1).
    rollout
        Attention rollout up to the layer instead of its pattern (Abnar & Zuidema 2020); one head, the mean.
    """

    weights: Literal["attention", "norm"] = "attention"
    pair: Pair = "all"
    hide: tuple[int, ...] = ()
    special: bool = True
    renormalize: bool = False
    words: bool = False
    rollout: bool = False

    @property
    def shares(self) -> bool:
        """Whether weights are shares of a row, at most 1."""
        return self.weights == "attention" or self.renormalize or self.rollout

    @property
    def fields(self) -> dict[str, str]:
        """The parameters of a link that differ from the defaults."""
        flags = {name: "1" for name in ("renormalize", "words", "rollout") if getattr(self, name)}
        texts = {"weights": self.weights, "pair": self.pair, "hide": ".".join(map(str, self.hide))}
        changed = {name: text for name, text in texts.items() if text not in ("", "attention", "all")}
        every = changed | ({} if self.special else {"special": "0"}) | flags
        return {name: every[name] for name in FIELDS if name in every}


def parse_options(fields: Mapping[str, str]) -> PatternOptions:
    """The options of a link; invalid ones have their default."""
    return PatternOptions(
        weights="norm" if fields.get("weights") == "norm" else "attention",
        pair=next((pair for pair in PAIRS if pair == fields.get("pair")), "all"),
        hide=parse_positions(fields.get("hide", "")),
        special=fields.get("special") != "0",
        renormalize=fields.get("renormalize") == "1",
        words=fields.get("words") == "1",
        rollout=fields.get("rollout") == "1",
    )


def parse_positions(text: str) -> tuple[int, ...]:
    """Whole numbers of a text like `0.5.7`, ascending; other parts are ignored."""
    parts = text[: 5 * MOST_HIDDEN].split(".")[:MOST_HIDDEN]
    return tuple(sorted({int(part) for part in parts if _POSITION.fullmatch(part)}))


@dataclass(frozen=True)
class Unit:
    """A wordpiece, or a word with all its wordpieces' positions."""

    name: str
    positions: tuple[int, ...]
    segment: int
    special: bool


@dataclass(frozen=True, eq=False)
class ShownPattern:
    """Weights (layer, head, query, key) between units; one head of a rollout."""

    units: tuple[Unit, ...]
    keys: tuple[Unit, ...]
    weights: Floats


def shown_pattern(sentence: Sentence, options: PatternOptions, *, layer: int | None = None) -> ShownPattern:
    """The shown pattern of one layer, or of all."""
    queries, keys = shown_units(sentence, options)
    weights = _weights(sentence, options, layer)
    between = merge_words(weights, *([unit.positions for unit in units] for units in (queries, keys)))
    return ShownPattern(queries, keys, renormalized(between) if options.renormalize else between)


def renormalized(weights: Floats) -> Floats:
    """Rows (..., key) that sum to 1; a row of zeros stays as it is."""
    total = weights.sum(axis=-1, keepdims=True)
    shares: Floats = weights / (total + (total == 0))
    return shares


def shown_units(sentence: Sentence, options: PatternOptions) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """The queries and keys that are not hidden."""
    hidden = frozenset(options.hide)
    shown = [
        unit
        for unit in _units(sentence, words=options.words)
        if hidden.isdisjoint(unit.positions) and (options.special or not unit.special)
    ]
    if options.pair == "all" or not sentence.segment.any():
        return tuple(shown), tuple(shown)
    of_query, of_key = ("ab".index(letter) for letter in options.pair)
    queries, keys = (tuple(unit for unit in shown if unit.segment == part) for part in (of_query, of_key))
    return queries, keys


def _units(sentence: Sentence, *, words: bool) -> list[Unit]:
    """Every wordpiece or every word, in their order; a special token is a word of its own."""
    positions = range(len(sentence.wordpieces))
    grouped = groupby(positions, lambda place: _word(sentence, place) if words else (place, place))
    names = sentence.texts if words else sentence.wordpieces
    return [_unit(sentence, names, tuple(group)) for _, group in grouped]


def _word(sentence: Sentence, position: int) -> tuple[int, int]:
    """A key that the wordpieces of one word share."""
    index = int(sentence.word_index[position])
    return index, position if index < 0 else -1


def _unit(sentence: Sentence, names: Sequence[str], positions: tuple[int, ...]) -> Unit:
    return Unit(
        name="".join(names[position] for position in positions) or sentence.wordpieces[positions[0]],
        positions=positions,
        segment=int(sentence.segment[positions[0]]),
        special=bool(sentence.flags[positions[0]] & NO_WORD),
    )


def _weights(sentence: Sentence, options: PatternOptions, layer: int | None) -> Floats:
    """Between all wordpieces: (layer, head, query_token, key_token)."""
    if options.rollout:
        return sentence.rollout[_part(layer), None]
    pattern = sentence.pattern if layer is None else sentence.layer_pattern(layer)[None]
    if options.weights == "attention":
        return pattern
    return pattern * sentence.value_norm[_part(layer), :, None, :]


def _part(layer: int | None) -> slice:
    return slice(None) if layer is None else slice(layer, layer + 1)


def mean_pattern(
    sentence: Sentence, options: PatternOptions, *, mean: Mean, layer: int, head: int, heads: Sequence[int] = ()
) -> Floats:
    """Mean weights (query, key) over heads of a layer, over layers of a head, over both, or one head's own.

    `heads` are those a mean over heads is of; none are all. A rollout has one head, the mean already.
    """
    layers = range(len(sentence.query)) if mean in ("layers", "both") else (layer,)
    averaged = list(heads) if mean in ("heads", "both") else [head]
    # Layer by layer: all patterns of a long sentence at once are large.
    first, *others = layers
    total = _mean_over_heads(sentence, options, first, averaged)
    for other in others:
        total += _mean_over_heads(sentence, options, other, averaged)
    return total / np.float32(len(layers))


def _mean_over_heads(sentence: Sentence, options: PatternOptions, layer: int, heads: list[int]) -> Floats:
    weights = shown_pattern(sentence, options, layer=layer).weights[0]
    mean: Floats = (weights if options.rollout or not heads else weights[heads]).mean(axis=0)
    return mean

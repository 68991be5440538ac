"""A sentence with its queries and keys, and its attention as views show it: weighted, filtered, between words, averaged or rolled out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.methods import METHOD_OF, MODEL_METHODS, NO_PRODUCTS, NOT_RUN, TOO_LONG, Decomposed, most_tokens
from dashboard.sentence.stored_layers import Layers, StoredLayers
from dashboard.web.errors import Refusal
from dashboard.web.results import cached
from dashboard.web.state import PAIRS, ROLLOUTS, Mean, Pair, Rollout
from store import Corpus
from store.kernels.attention import attention_logits, attention_pattern, attention_rows, merge_words
from store.kernels.bias import AttentionBias
from store.kernels.mixing import layer_matrix, roll_out
from store.mixing import has_products
from store.schema.corpus import IDLE
from store.text import WINDOW, Window

Floats = NDArray[np.float32]
#: Fields of a link that change the shown patterns.
FIELDS = ("weights", "pair", "hide", "special", "renormalize", "words", "rollout", "difference", "window", "keywindow")
#: Most positions that a link hides.
MOST_HIDDEN = 1_024
_POSITION = re.compile(r"[0-9]{1,4}")
Weights = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence of the corpus, or one or two sentences typed by a reader.

    Attributes
    ----------
    text, second
        Texts of the first and of the second sentence; `second` is empty without a pair.
    label
        Label of the sentence's review; empty without a label.
    wordpieces
        Names of the wordpieces, with [CLS] and [SEP]: (token,).
    texts
        The text that each wordpiece stands for: (token,).
    flags
        Token flags of `store.schema`: (token,).
    word_index
        Word of each wordpiece, -1 for special tokens; numbers go on through both sentences of a pair: (token,).
    segment
        0 for [CLS] A [SEP], 1 for B [SEP], or what the tokenizer makes of a pair: (token,).
    query, key
        Query and key vectors (layer, head, token, channel), before the 1/sqrt(channels) scale.
    value_norm
        Value norm ||f(x)|| (layer, head, token); `store.kernels.attention.value_norm`.
    mixing
        Share of each token's new vector that comes from other tokens (ratio, layer, token); `store.schema.model.RATIOS`.
    cut
        Whether the text was longer than the model allows.
    bias
        What the model adds to q.k / sqrt(channels); None where it adds nothing.
    products
        Inner products for context mixing (layer, product, token), `store.kernels.mixing`; None where the store lacks them.
    last
        Output of the last layer (token, feature); None for a stored sentence.
    answer, answers
        Logits of a classifier (label,), and the names of its labels; empty for other models; None for a stored sentence.
    hidden_loss
        Loss in nats, summed over hidden wordpieces: -ln of the probability of the right wordpiece. None where it is not requested, or
        the model predicts no wordpieces.
    decomposed
        Numbers by a method of `dashboard.sentence.methods`; None where none is requested. A pass for a method gives no queries, keys,
        norms and ratios.
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
    products: Layers | None = None
    last: Floats | None = None
    answer: Floats | None = None
    answers: tuple[str, ...] = ()
    hidden_loss: float | None = None
    decomposed: Decomposed | None = None

    @property
    def pattern(self) -> Floats:
        """Attention (layer, head, query_token, key_token); rows sum to 1."""
        if self.bias is not None:
            return np.stack([self.layer_pattern(layer) for layer in range(len(self.query))])
        pattern: Floats = attention_pattern(np.asarray(self.query), np.asarray(self.key))
        return pattern

    def rollout(self, how: Rollout) -> Floats:
        """Shares of the input tokens in each token, up to every layer or in each layer alone (layer, query_token, input_token)."""
        return self.decomposed.shares if self.decomposed and how == self.decomposed.method else _rollout(self, how)

    def layer_pattern(self, layer: int) -> Floats:
        """Attention of one layer (head, query_token, key_token), computed without the other layers."""
        bias = self.bias and self.bias.part(layer)
        pattern: Floats = attention_pattern(self.query[layer], self.key[layer], bias=bias)
        return pattern

    def rows(self, layer: int, queries: NDArray[np.integer]) -> Floats:
        """Attention of some queries in one layer (head, query, key_token), computed without the other queries."""
        keys = self.key[layer]
        bias = self.bias and self.bias.part(layer).at(queries, range(keys.shape[-2]))
        rows: Floats = attention_pattern(self.query[layer][:, queries], keys, bias=bias)
        return rows

    def lacks_rollout(self, how: Rollout) -> str:
        """Why a rollout cannot be computed, as a sentence; empty where it can."""
        tokens, most = len(self.wordpieces), most_tokens(*self.query.shape[:2])
        if how in MODEL_METHODS:
            return "" if self.decomposed and self.decomposed.method == how else NOT_RUN
        if how != "1" and self.products is None:
            return NO_PRODUCTS
        return TOO_LONG.format(most, tokens) if tokens > most else ""

    def all_rows(self, layer: int) -> Iterator[tuple[slice, Floats]]:
        """Attention of all queries in one layer (head, query, key_token), some queries at a time, after the slice of these queries."""
        return attention_rows(self.query[layer], self.key[layer], bias=self.bias and self.bias.part(layer))

    def rollout_rows(self, how: Rollout, layer: int, queries: NDArray[np.integer], *, whole: int = WINDOW) -> Floats:
        """`rollout` of some queries up to a layer (query, input_token).

        For a sentence of more than `whole` tokens it goes from the layer downwards and keeps only shares of these queries. Raises a
        `Refusal` where the rollout takes too long, or the store lacks inner products.
        """
        tokens = len(self.wordpieces)
        if problem := self.lacks_rollout(how):
            raise Refusal(problem, 400)
        if tokens <= whole or how in MODEL_METHODS:
            return self.rollout(how)[layer][queries]
        shares = np.zeros((len(queries), tokens), np.float32)
        shares[np.arange(len(queries)), queries] = 1
        for below in range(layer, layer - 1 if how == "layer" else -1, -1):
            mixed = np.zeros_like(shares)
            for block, matrix in self.mixing_rows(METHOD_OF[how], below):
                mixed += shares[:, block] @ matrix
            shares = mixed
        return shares

    def mixing_rows(self, method: str, layer: int) -> Iterator[tuple[slice, Floats]]:
        """Context mixing of a layer (query, key_token) by a method of `store.schema.mixing`, some queries at a time, after their slice."""
        products = self.products[layer].T if method == "globenc" and self.products is not None else None
        norms = self.value_norm[layer] if method == "norm" else None
        for block, rows in self.all_rows(layer):
            queries = np.arange(block.start, block.stop)
            yield block, layer_matrix(method, rows, value_norm=norms, products=products, queries=queries)

    def mixing_matrices(self, method: str) -> list[Floats]:
        """Context mixing of every layer (query_token, key_token) by a method of `store.schema.mixing`."""
        layers = range(len(self.query))
        return [np.concatenate([rows for _, rows in self.mixing_rows(method, layer)]) for layer in layers]

    def row_logits(self, layer: int, query: int) -> Floats:
        """Logits of one query in every head of a layer: (head, key_token)."""
        keys = self.key[layer]
        bias = self.bias and self.bias.part(layer).at([query], range(keys.shape[-2]))
        logits: Floats = attention_logits(self.query[layer][:, query : query + 1], keys, bias=bias)[:, 0]
        return logits


@cached
def _rollout(sentence: Sentence, how: Rollout) -> Floats:
    matrices = sentence.mixing_matrices(METHOD_OF[how])
    shares: Floats = np.stack(matrices) if how == "layer" else roll_out(matrices)
    return shares


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
        products=StoredLayers(corpus, "product", index) if has_products(corpus, index) else None,
    )


def is_cut(corpus: Corpus, tokens: int) -> bool:
    """Whether a sentence of the corpus with `tokens` tokens was cut.

    An estimate: the store only counts cut sentences, and hardly any other sentence has exactly the maximum length.
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
        The sentences of queries and keys in a pair: `ab` shows queries of the first and keys of the second (BertViz). Without
        effect on a single sentence.
    hide
        Positions hidden as queries and as keys; a hidden position hides its whole word.
    special
        Whether [CLS], [SEP] and special tokens in the text are shown.
    renormalize
        Whether rows are divided by their sum; an empty row stays 0.
    words
        Whether wordpieces are merged to words (Clark et al. 2019, section 4.1).
    rollout
        One head in place of the patterns: attention rollout up to the layer (Abnar & Zuidema 2020); what arrives by GlobEnc up to the
        layer, or in the layer alone (Modarressi et al. 2022); or what arrives by a method of the model.
    difference
        Whether attention is subtracted from what arrives: attention rollout, or in one layer the mean attention of its heads.
    window, keywindow
        Index of the first shown query and of the first shown key of a long sentence, among tokens that are not hidden.
    """

    weights: Literal["attention", "norm"] = "attention"
    pair: Pair = "all"
    hide: tuple[int, ...] = ()
    special: bool = True
    renormalize: bool = False
    words: bool = False
    rollout: Rollout | None = None
    difference: bool = False
    window: int = 0
    keywindow: int = 0

    @property
    def shares(self) -> bool:
        """Whether weights are shares of a row, at most 1."""
        return self.weights == "attention" or self.renormalize or self.rollout is not None

    @property
    def fields(self) -> dict[str, str]:
        """The parameters of a link that differ from the defaults."""
        flags = {name: "1" for name in ("renormalize", "words", "difference") if getattr(self, name)}
        flags |= {"rollout": self.rollout} if self.rollout else {}
        texts = {"weights": self.weights, "pair": self.pair, "hide": ".".join(map(str, self.hide))}
        changed = {name: text for name, text in texts.items() if text not in ("", "attention", "all")}
        starts = {name: str(start) for name in ("window", "keywindow") if (start := getattr(self, name))}
        every = changed | ({} if self.special else {"special": "0"}) | flags | starts
        return {name: every[name] for name in FIELDS if name in every}


def parse_options(fields: Mapping[str, str]) -> PatternOptions:
    """The options of a link; invalid fields have their defaults."""
    return PatternOptions(
        weights="norm" if fields.get("weights") == "norm" else "attention",
        pair=next((pair for pair in PAIRS if pair == fields.get("pair")), "all"),
        hide=parse_positions(fields.get("hide", "")),
        special=fields.get("special") != "0",
        renormalize=fields.get("renormalize") == "1",
        words=fields.get("words") == "1",
        rollout=(how := next((how for how in ROLLOUTS if how == fields.get("rollout")), None)),
        difference=fields.get("difference") == "1" and how not in (None, "1"),
        window=next(iter(parse_positions(fields.get("window", ""))), 0),
        keywindow=next(iter(parse_positions(fields.get("keywindow", ""))), 0),
    )


def parse_positions(text: str) -> tuple[int, ...]:
    """Whole numbers of a text like `0.5.7`, ascending; other parts are ignored."""
    parts = text[: 5 * MOST_HIDDEN].split(".")[:MOST_HIDDEN]
    return tuple(sorted({int(part) for part in parts if _POSITION.fullmatch(part)}))


@dataclass(frozen=True)
class Unit:
    """A wordpiece, or a word; `positions` are those of its wordpieces."""

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
    """The shown pattern of one layer, or of all layers: queries and keys of the windows."""
    return windowed(row_pattern(sentence, options, layer=layer), options)


def row_pattern(sentence: Sentence, options: PatternOptions, *, layer: int | None = None) -> ShownPattern:
    """The pattern of the queries of the window, with every key that is not hidden, in the window or not."""
    every, keys = unhidden_units(sentence, options)
    units = tuple(Window.at(options.window, len(every)).of(every))
    rows = np.array([position for unit in units for position in unit.positions], np.intp)
    of_rows = iter(range(len(rows)))
    queries = [tuple(next(of_rows) for _ in unit.positions) for unit in units]
    layers = range(len(sentence.query)) if layer is None else (layer,)
    weights = np.stack([_weights(sentence, options, each, rows) for each in layers])
    between = merge_words(weights, queries, [unit.positions for unit in keys])
    between = renormalized(between) if options.renormalize else between
    return ShownPattern(units, keys, between[:, :1] - between[:, 1:] if options.difference else between)


def windowed(pattern: ShownPattern, options: PatternOptions) -> ShownPattern:
    """A pattern with every key, cut to the keys of the window."""
    window = Window.at(options.keywindow, len(pattern.keys))
    return replace(
        pattern, keys=tuple(window.of(pattern.keys)), weights=pattern.weights[..., window.first : window.stop]
    )


def renormalized(weights: Floats) -> Floats:
    """Weights (..., key) with rows that sum to 1; a row of zeros stays as it is."""
    total = weights.sum(axis=-1, keepdims=True)
    shares: Floats = weights / (total + (total == 0))
    return shares


def shown_units(sentence: Sentence, options: PatternOptions) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """The queries and keys of the windows."""
    queries, keys = unhidden_units(sentence, options)
    starts = zip((options.window, options.keywindow), (queries, keys), strict=True)
    queries, keys = (tuple(Window.at(first, len(units)).of(units)) for first, units in starts)
    return queries, keys


def is_short(sentence: Sentence) -> bool:
    """Whether one window has the whole sentence."""
    return len(sentence.wordpieces) <= WINDOW


def unhidden_units(sentence: Sentence, options: PatternOptions) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """The queries and keys that are not hidden, in the windows or not."""
    hidden = frozenset(options.hide)
    shown = [
        unit
        for unit in units_of(sentence, words=options.words)
        if hidden.isdisjoint(unit.positions) and (options.special or not unit.special)
    ]
    if options.pair == "all" or not sentence.segment.any():
        return tuple(shown), tuple(shown)
    of_query, of_key = ("ab".index(letter) for letter in options.pair)
    queries, keys = (tuple(unit for unit in shown if unit.segment == part) for part in (of_query, of_key))
    return queries, keys


def units_of(sentence: Sentence, *, words: bool) -> list[Unit]:
    """Every wordpiece or every word, in their order; a special token is a word of its own."""
    positions = range(len(sentence.wordpieces))
    grouped = groupby(positions, lambda place: _word(sentence, place) if words else (place, place))
    names = sentence.texts if words else sentence.wordpieces
    return [_unit(sentence, names, tuple(group)) for _, group in grouped]


def _word(sentence: Sentence, position: int) -> tuple[int, int]:
    """A grouping key that is equal for the wordpieces of a word."""
    index = int(sentence.word_index[position])
    return index, position if index < 0 else -1


def _unit(sentence: Sentence, names: Sequence[str], positions: tuple[int, ...]) -> Unit:
    return Unit(
        name="".join(names[position] for position in positions) or sentence.wordpieces[positions[0]],
        positions=positions,
        segment=int(sentence.segment[positions[0]]),
        special=bool(sentence.flags[positions[0]] & IDLE),
    )


def _weights(sentence: Sentence, options: PatternOptions, layer: int, rows: NDArray[np.integer]) -> Floats:
    """Shown weights of one layer from some wordpieces to all: (head, query_token, key_token)."""
    if options.rollout:
        arrived = sentence.rollout_rows(options.rollout, layer, rows)[None]
        return (
            np.concatenate([arrived, _looked(sentence, options.rollout, layer, rows)])
            if options.difference
            else arrived
        )
    weights = sentence.rows(layer, rows)
    if options.weights == "norm":
        weights *= sentence.value_norm[layer][:, None, :]
    return weights


def _looked(sentence: Sentence, how: Rollout, layer: int, rows: NDArray[np.integer]) -> Floats:
    """The attention that a difference subtracts from what arrives: (1, query_token, key_token)."""
    looked = sentence.rows(layer, rows).mean(axis=0) if how == "layer" else sentence.rollout_rows("1", layer, rows)
    return np.asarray(looked)[None]


def mean_pattern(
    sentence: Sentence, options: PatternOptions, *, mean: Mean, layer: int, head: int, heads: Sequence[int] = ()
) -> Floats:
    """Mean weights (query, key) over heads of a layer, over layers of a head, over both, or one head's own.

    `heads` are the averaged heads of a mean over heads; empty for all. A rollout has one head, which is already a mean.
    """
    return windowed(mean_rows(sentence, options, mean=mean, layer=layer, head=head, heads=heads), options).weights


def mean_rows(
    sentence: Sentence, options: PatternOptions, *, mean: Mean, layer: int, head: int, heads: Sequence[int] = ()
) -> ShownPattern:
    """The mean weights of `mean_pattern` (query, key), with every key that is not hidden, in the window or not."""
    layers = range(len(sentence.query)) if mean in ("layers", "both") else (layer,)
    averaged = list(heads) if mean in ("heads", "both") else [head]
    # Layer by layer: all patterns of a long sentence at once are large.
    first, *others = layers
    rows = row_pattern(sentence, options, layer=first)
    total = _mean_over_heads(rows, options, averaged)
    for other in others:
        total += _mean_over_heads(row_pattern(sentence, options, layer=other), options, averaged)
    return replace(rows, weights=total / np.float32(len(layers)))


def _mean_over_heads(rows: ShownPattern, options: PatternOptions, heads: list[int]) -> Floats:
    weights = rows.weights[0]
    mean: Floats = (weights if options.rollout or not heads else weights[heads]).mean(axis=0)
    return mean

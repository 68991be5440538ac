"""A sentence's attention as it is shown: weighted, filtered, between words, averaged or rolled out; as bytes and as a table."""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.sentence import Floats, Sentence
from dashboard.ui.files import Table
from dashboard.ui.text import significant
from dashboard.web.state import PAIRS, Mean, Pair
from store.kernels.attention import merge_words, softmax
from store.schema.corpus import NO_WORD

#: Fields of a link that change what is shown.
FIELDS = ("weights", "pair", "hide", "special", "renormalize", "words", "rollout")
#: Most positions that a link hides.
MOST_HIDDEN = 1_024
_POSITION = re.compile(r"[0-9]{1,4}")
LAYER_MAGIC, MODEL_MAGIC = b"HSL1", b"HST1"
#: Largest code of a weight and of a thumbnail's cell.
MOST_WEIGHT, MOST_CELL = 65_535, 255
Weights = NDArray[np.floating]


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
    total = _of_layer(sentence, options, first, averaged)
    for other in others:
        total += _of_layer(sentence, options, other, averaged)
    return total / np.float32(len(layers))


def _of_layer(sentence: Sentence, options: PatternOptions, layer: int, heads: list[int]) -> Floats:
    weights = shown_pattern(sentence, options, layer=layer).weights[0]
    mean: Floats = (weights if options.rollout or not heads else weights[heads]).mean(axis=0)
    return mean


def encode_layer(weights: Weights, *, shares: bool) -> bytes:
    """`HSL1`, u32 heads, queries, keys, f32 most, then u16 [head, query, key]: weight = u16 / 65535 * most.

    Parameters
    ----------
    weights
        (head, query, key).
    shares
        Whether no weight is above 1: then `most` is 1, otherwise the largest weight.
    """
    most = _most(weights, shares)
    head = LAYER_MAGIC + struct.pack("<3If", *weights.shape, most)
    return head + _codes(weights, most, MOST_WEIGHT).astype("<u2").tobytes()


def encode_model(layers: Sequence[Weights], *, shares: bool) -> bytes:
    """`HST1`, u32 layers, heads, rows, columns, f32 most, then u8 [layer, head, row, column]: weight = u8 / 255 * most.

    `layers` are thumbnails (head, row, column) of every layer; see `pooled`.
    """
    weights = np.stack(layers)
    most = _most(weights, shares)
    head = MODEL_MAGIC + struct.pack("<4If", *weights.shape, most)
    return head + _codes(weights, most, MOST_CELL).astype(np.uint8).tobytes()


def pooled(weights: Weights, *, side: int) -> Weights:
    """The largest weight of each cell of a thumbnail: (..., row, column), at most `side` each, from (..., query, key)."""
    for axis in (-2, -1):
        size = weights.shape[axis]
        if size > side:
            weights = np.maximum.reduceat(weights, np.arange(side) * size // side, axis=axis)
    return weights


def _most(weights: Weights, shares: bool) -> float:
    """As the browser reads it, in 32 bits."""
    largest = 1.0 if shares else float(np.float32(weights.max(initial=0)))
    return largest or 1.0


def _codes(weights: Weights, most: float, largest: int) -> Weights:
    return np.rint(np.clip(weights / np.float32(most), 0, 1) * np.float32(largest))


def weight_tables(
    sentence: Sentence, options: PatternOptions, *, mean: Mean, layer: int, head: int, heads: Sequence[int] = ()
) -> Iterator[Table]:
    """A row for each head, query and key, one head after the other; the position of a word is that of its first wordpiece.

    `heads` are those in the table, none are `head` alone; of a mean those it is over, see `mean_pattern`. A mean over
    heads and a rollout have `mean` in place of a head.
    """
    units, keys = shown_units(sentence, options)
    if mean == "none" and not options.rollout:
        weights = shown_pattern(sentence, options, layer=layer).weights[0]
        return (_table(str(number), units, keys, weights[number]) for number in heads or (head,))
    of = str(head) if mean == "layers" and not options.rollout else "mean"
    return iter(
        [_table(of, units, keys, mean_pattern(sentence, options, mean=mean, layer=layer, head=head, heads=heads))]
    )


def _table(head: str, units: Sequence[Unit], keys: Sequence[Unit], weights: Floats) -> Table:
    """`weights` are (query, key)."""
    names = [np.array([unit.name for unit in column], object) for column in (units, keys)]
    places = [np.array([unit.positions[0] for unit in column], np.int64) for column in (units, keys)]
    return {
        "head": np.full(weights.size, head, object),
        "query": np.repeat(names[0], len(keys)),
        "query_position": np.repeat(places[0], len(keys)),
        "key": np.tile(names[1], len(units)),
        "key_position": np.tile(places[1], len(units)),
        "weight": np.array(significant(weights.ravel().tolist())),
    }


def neuron(sentence: Sentence, layer: int, head: int, query: int) -> dict[str, object]:
    """JSON-ready: the query vector, and of every key its vector, their product, its sum, the logit and the weight.

    logit = dot / sqrt(channels); weight = softmax of the logits over all keys (Vaswani et al. 2017, section 3.2.1).
    """
    vector, both, steps = _steps(sentence, layer, head, query)
    vectors = [[significant(row) for row in array.tolist()] for array in both]
    numbers = [significant(array.tolist()) for array in steps]
    names = ("name", "key", "product", "dot", "logit", "weight")
    every = zip(sentence.wordpieces, *vectors, *numbers, strict=True)
    return {"query": significant(vector.tolist()), "keys": [dict(zip(names, values, strict=True)) for values in every]}


def neuron_table(sentence: Sentence, layer: int, head: int, query: int) -> Table:
    """The same as a file: a row a key, a column for each channel of q, k and their product."""
    vector, both, steps = _steps(sentence, layer, head, query)
    keys, products, *numbers = (_rounded(array) for array in (*both, *steps))
    queries = np.broadcast_to(_rounded(vector), keys.shape)
    channels = (("q", queries), ("k", keys), ("product", products))
    return {
        "key": np.array(sentence.wordpieces, object),
        "key_position": np.arange(len(keys)),
        **dict(zip(("dot", "logit", "weight"), numbers, strict=True)),
        **{f"{name}{channel}": array[:, channel] for name, array in channels for channel in range(keys.shape[-1])},
    }


def _rounded(array: Floats) -> NDArray[np.float64]:
    rounded: NDArray[np.float64] = np.array(significant(array.ravel().tolist())).reshape(array.shape)
    return rounded


def _steps(sentence: Sentence, layer: int, head: int, query: int) -> tuple[Floats, list[Floats], list[Floats]]:
    """Query (channel); keys and products (key, channel); dot, logit and weight (key)."""
    vector, keys = sentence.query[layer, head, query], sentence.key[layer, head]
    products = vector * keys
    dots = products.sum(axis=-1)
    logits = dots * np.float32(len(vector) ** -0.5)
    return vector, [keys, products], [dots, logits, softmax(logits)]

"""Routes of a sentence, of the corpus or typed: weights as bytes, the steps to a query's weights, and files."""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from flask import Flask, Response, abort, jsonify, request
from numpy.typing import NDArray

from dashboard.points.clicked_point import sentence_overlay, strongest_lines
from dashboard.points.distance import place_vectors
from dashboard.sentence.arrival import with_arrival
from dashboard.sentence.charts import position_table
from dashboard.sentence.encoder import TypedSentences, corpus_sentence
from dashboard.sentence.sentence import (
    Floats,
    PatternOptions,
    Sentence,
    Unit,
    Weights,
    is_short,
    mean_pattern,
    parse_options,
    parse_positions,
    shown_pattern,
    shown_units,
)
from dashboard.sentence.tree import tree_arcs, tree_svg
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.text import significant
from dashboard.web.admission import reader_left
from dashboard.web.http import (
    BASE,
    ONE_HEAD,
    bounded,
    check_head,
    check_head_of,
    codes,
    corpus_of,
    lasting,
    share_of_query,
)
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LEAST, MEANS, MOST_TOP, TOP, Mean
from store import Corpus
from store.kernels.attention import softmax
from store.schema.model import RATIOS

#: Cells of a thumbnail's side: by default, and at most.
SIDE, MOST_SIDE = 64, 512
#: Largest number of a layer or head in a query string: no model has as many.
MOST_NUMBER = 9_999
Find = Callable[..., Sentence]
LAYER_MAGIC, MODEL_MAGIC = b"HSL1", b"HST1"
#: Largest code of a weight, and of a thumbnail's cell.
MOST_WEIGHT, MOST_CELL = 65_535, 255


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes of sentences of the corpus and of typed sentences."""

    def of_corpus(snapshot: str, model: str, index: int) -> Sentence:
        corpus = corpus_of(served_store, snapshot, model)
        return with_arrival(served_store, corpus, corpus_sentence(served_store, corpus, index), _options().rollout)

    _add(server, "sentence/<int:index>", of_corpus)

    @server.get(f"{BASE}/tree/<int:index>/<int:layer>/<int:head>.svg")
    def tree(snapshot: str, model: str, index: int, layer: int, head: int) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        corpus.sentence_rows(index)  # raises where the corpus has no such sentence
        words = corpus.words.texts(corpus.words.rows(index))
        drawn = tree_svg(words, tree_arcs(corpus, index, layer, head))
        return lasting(Response(drawn, mimetype="image/svg+xml"))

    def typed(snapshot: str, model: str) -> Sentence:
        corpus = corpus_of(served_store, snapshot, model)
        return with_arrival(served_store, corpus, _typed(served_store, corpus), _options().rollout)

    _add(server, "typed", typed)

    @server.get(f"{BASE}/typed/focus/<view>/{ONE_HEAD}.json")
    def typed_in_picture(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        return lasting(jsonify(_overlay(corpus, view, _typed(served_store, corpus), layer, head)))

    @server.get(f"{BASE}/positions/{ONE_HEAD}.{FORM}")
    def positions_of_head(snapshot: str, model: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        return file(iter([position_table(corpus, layer, head)]), f"positions-L{layer}-H{head}", form)


def _typed(served_store: ServedStore, corpus: Corpus) -> Sentence:
    """The typed sentence of a request, encoded."""
    return served_store.service(TypedSentences).encode(
        corpus, request.args.get("text", ""), request.args.get("second", ""), reader_left
    )


def _overlay(corpus: Corpus, view: str, sentence: Sentence, layer: int, head: int) -> dict[str, object]:
    """The places of a typed sentence in the picture of a head, and the strongest lines of all its queries."""
    places = place_vectors(corpus, view, sentence.query[layer, head], sentence.key[layer, head], layer=layer, head=head)
    top, least = bounded("top", TOP, MOST_TOP, fewest=0), share_of_query("least", LEAST)
    lines = strongest_lines(
        lambda queries: sentence.rows(layer, queries)[head],
        len(sentence.wordpieces),
        0,
        role="query",
        lines="sentence",
        top=top,
        least=least,
    )
    return {**sentence_overlay(0, sentence.wordpieces, places, lines), "near": []}


def _add(server: Flask, source: str, find: Find) -> None:
    for rule, answer in _ANSWERS.items():
        path = f"{BASE}/{source}/{rule}"
        server.add_url_rule(path, endpoint=path, view_func=partial(answer, find))


def _layer(find: Find, layer: int, **named: Any) -> Response:
    sentence, options = find(**named), _options()
    _check_head(sentence, layer)
    weights = shown_pattern(sentence, options, layer=layer).weights[0]
    return codes(encode_layer(_heads_of(weights, options), shares=options.shares))


def _model(find: Find, **named: Any) -> Response:
    sentence, options = find(**named), _options()
    side = bounded("side", SIDE, MOST_SIDE)
    # Layer by layer: all patterns of a long sentence at once are large.
    shown = (shown_pattern(sentence, options, layer=layer).weights[0] for layer in range(len(sentence.query)))
    thumbnails = [pooled(_heads_of(weights, options), side=side) for weights in shown]
    return codes(encode_model(thumbnails, shares=options.shares))


def _matrix(find: Find, **named: Any) -> Response:
    sentence, options = find(**named), _options()
    layer, head = (bounded(name, 0, MOST_NUMBER, fewest=0) for name in ("layer", "head"))
    heads = parse_positions(request.args.get("heads", ""))
    _check_head(sentence, layer, max(head, *heads, 0))
    weights = mean_pattern(sentence, options, mean=_mean(), layer=layer, head=head, heads=heads)
    return codes(encode_layer(_heads_of(weights[None], options), shares=options.shares))


def _heads_of(weights: Weights, options: PatternOptions) -> Weights:
    """The drawn weights (head, query, key): of a difference, the part above 0 as one head and the part below 0 as another."""
    return np.concatenate([np.maximum(weights, 0), np.maximum(-weights, 0)]) if options.difference else weights


def _neuron(find: Find, layer: int, head: int, query: int, **named: Any) -> Response:
    sentence = find(**named)
    _check_head(sentence, layer, head)
    _check_position(sentence, query)
    return lasting(jsonify(neuron(sentence, layer, head, query, _shown_keys(sentence))))


def _neuron_file(find: Find, layer: int, head: int, query: int, **named: Any) -> Response:
    sentence = find(**named)
    _check_head(sentence, layer, head)
    _check_position(sentence, query)
    table = neuron_table(sentence, layer, head, query, _shown_keys(sentence))
    return file(iter([table]), f"neuron-L{layer}-H{head}-{query}", "csv")


def _shown_keys(sentence: Sentence) -> slice:
    """Positions of the shown keys: all of a short sentence, else from the first to the last key of the window."""
    if is_short(sentence):
        return slice(None)
    _, keys = shown_units(sentence, _options())
    return slice(keys[0].positions[0], keys[-1].positions[-1] + 1) if keys else slice(0)


def _mixing(find: Find, **named: Any) -> Response:
    return file(iter([_mixing_table(find(**named))]), "mixing", "csv")


def _weights(find: Find, layer: int, head: int, **named: Any) -> Response:
    sentence, options, mean = find(**named), _options(), _mean()
    heads = parse_positions(request.args.get("heads", ""))
    _check_head(sentence, layer, max(head, *heads, 0))
    tables = weight_tables(sentence, options, mean=mean, layer=layer, head=head, heads=heads)
    stem, several = (
        "difference" if options.difference else "rollout" if options.rollout else "weights",
        options.rollout or len(heads) > 1,
    )
    of = f"L{layer}" if several else f"L{layer}-H{heads[0] if heads else head}"
    means = {
        "heads": f"L{layer}-mean-of-heads",
        "layers": f"H{head}-mean-of-layers",
        "both": "mean-of-layers-and-heads",
    }
    return file(tables, f"{stem}-{means.get(mean, of)}", "csv")


_ANSWERS: dict[str, Callable[..., Response]] = {
    "layer/<int:layer>.bin": _layer,
    "model.bin": _model,
    "matrix.bin": _matrix,
    f"neuron/{ONE_HEAD}/<int:query>.json": _neuron,
    f"neuron/{ONE_HEAD}/<int:query>.csv": _neuron_file,
    "mixing.csv": _mixing,
    f"weights/{ONE_HEAD}.csv": _weights,
}


def _options() -> PatternOptions:
    return parse_options(request.args)


def _mean() -> Mean:
    return next((mean for mean in MEANS if mean == request.args.get("mean")), "none")


def _mixing_table(sentence: Sentence) -> Table:
    """A row for each token and layer, a column for each ratio."""
    layers, tokens = sentence.mixing.shape[1:]
    shares = {
        name: np.array(significant(values.T.ravel().tolist()))
        for name, values in zip(RATIOS, sentence.mixing, strict=True)
    }
    return {
        "wordpiece": np.repeat(np.array(sentence.wordpieces, object), layers),
        "position": np.repeat(np.arange(tokens), layers),
        "layer": np.tile(np.arange(layers), tokens),
        **shares,
    }


def _check_head(sentence: Sentence, layer: int, head: int = 0) -> None:
    check_head_of(layer, head, *sentence.query.shape[:2])


def _check_position(sentence: Sentence, position: int) -> None:
    tokens = len(sentence.wordpieces)
    if position >= tokens:
        abort(404, f"There is no position {position} in this sentence. Choose one of 0 to {tokens - 1}.")


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
    """The largest weight in each cell of a thumbnail: (..., row, column) from (..., query, key); at most `side` rows and columns."""
    for axis in (-2, -1):
        size = weights.shape[axis]
        if size > side:
            weights = np.maximum.reduceat(weights, np.arange(side) * size // side, axis=axis)
    return weights


def _most(weights: Weights, shares: bool) -> float:
    """The weight of the largest code: 1 for shares, else the largest weight, in the 32 bits that the browser reads."""
    largest = 1.0 if shares else float(np.float32(weights.max(initial=0)))
    return largest or 1.0


def _codes(weights: Weights, most: float, largest: int) -> Weights:
    return np.rint(np.clip(weights / np.float32(most), 0, 1) * np.float32(largest))


def weight_tables(
    sentence: Sentence, options: PatternOptions, *, mean: Mean, layer: int, head: int, heads: Sequence[int] = ()
) -> Iterator[Table]:
    """A row for each head, query and key, one head after the other; the position of a word is that of its first wordpiece.

    `heads` are the heads in the table; empty for `head` alone. For a mean they are the averaged heads, see `mean_pattern`. A mean
    over heads and a rollout have `mean` in place of a head.
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
    """A row for each query and key of the weights (query, key) of one head."""
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


def neuron(sentence: Sentence, layer: int, head: int, query: int, keys: slice = slice(None)) -> dict[str, object]:
    """JSON-ready: the query vector; for each key in `keys` its vector, the product with the query, its sum (dot), the logit and the weight.

    logit = dot / sqrt(channels), plus the model's bias if `biased`; None for a key that the query does not see. weight = softmax of
    the logits over all keys (Vaswani et al. 2017, section 3.2.1).
    """
    vector, both, steps = _steps(sentence, layer, head, query, keys)
    vectors = [[significant(row) for row in array.tolist()] for array in both]
    dots, logits, weights = (significant(array.tolist()) for array in steps)
    numbers = [dots, [logit if np.isfinite(logit) else None for logit in logits], weights]  # JSON has no infinity
    names = ("name", "key", "product", "dot", "logit", "weight")
    every = zip(sentence.wordpieces[keys], *vectors, *numbers, strict=True)
    biased = sentence.bias is not None and sentence.bias.adds
    rows = [dict(zip(names, values, strict=True)) for values in every]
    return {"query": significant(vector.tolist()), "biased": biased, "keys": rows}


def neuron_table(sentence: Sentence, layer: int, head: int, query: int, shown: slice = slice(None)) -> Table:
    """The steps of `neuron` as a file: a row for each key, a column for each channel of q, k and their product."""
    vector, both, steps = _steps(sentence, layer, head, query, shown)
    keys, products, *numbers = (_rounded(array) for array in (*both, *steps))
    queries = np.broadcast_to(_rounded(vector), keys.shape)
    channels = (("q", queries), ("k", keys), ("product", products))
    return {
        "key": np.array(sentence.wordpieces[shown], object),
        "key_position": np.arange(len(sentence.wordpieces))[shown],
        **dict(zip(("dot", "logit", "weight"), numbers, strict=True)),
        **{f"{name}{channel}": array[:, channel] for name, array in channels for channel in range(keys.shape[-1])},
    }


def _rounded(array: Floats) -> NDArray[np.float64]:
    rounded: NDArray[np.float64] = np.array(significant(array.ravel().tolist())).reshape(array.shape)
    return rounded


def _steps(
    sentence: Sentence, layer: int, head: int, query: int, shown: slice
) -> tuple[Floats, list[Floats], list[Floats]]:
    """The steps to a query's weights: query (channel); keys and products (key, channel); dot, logit and weight (key)."""
    vector, keys = sentence.query[layer, head, query], sentence.key[layer, head]
    products = vector * keys
    dots = products.sum(axis=-1)
    logits = (
        dots * np.float32(len(vector) ** -0.5) if sentence.bias is None else sentence.row_logits(layer, query)[head]
    )
    return vector, [keys[shown], products[shown]], [each[shown] for each in (dots, logits, softmax(logits))]

"""Routes of one sentence, of the corpus or typed: its weights as bytes, the steps of a query, and files."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from flask import Flask, Response, abort, jsonify, request

from dashboard.points.clicked_point import sentence_overlay, strongest_lines
from dashboard.points.distance import place_vectors
from dashboard.sentence.encoder import TypedSentences, corpus_sentence
from dashboard.sentence.pattern import (
    PatternOptions,
    encode_layer,
    encode_model,
    mean_pattern,
    neuron,
    neuron_table,
    parse_options,
    parse_positions,
    pooled,
    shown_pattern,
    weight_tables,
)
from dashboard.sentence.positions import position_table
from dashboard.sentence.sentence import Sentence
from dashboard.sentence.tree import tree_arcs, tree_svg
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.text import significant
from dashboard.web.admission import reader_left
from dashboard.web.http import BASE, ONE_HEAD, bounded, check_head, codes, corpus_of, lasting, share
from dashboard.web.library import Library
from dashboard.web.state import LEAST, MEANS, MOST_TOP, TOP, Mean
from store import Corpus
from store.schema.model import RATIOS

#: Cells of a thumbnail in each direction.
SIDE, MOST_SIDE = 64, 512
#: What no model has as many layers or heads as.
MOST_NUMBER = 9_999

Find = Callable[..., Sentence]


def register(server: Flask, library: Library) -> None:
    """Add the routes of sentences of the corpus and of typed ones."""

    def of_corpus(snapshot: str, model: str, index: int) -> Sentence:
        return corpus_sentence(library, corpus_of(library, snapshot, model), index)

    _add(server, "sentence/<int:index>", of_corpus)

    @server.get(f"{BASE}/tree/<int:index>/<int:layer>/<int:head>.svg")
    def tree(snapshot: str, model: str, index: int, layer: int, head: int) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        corpus.sentence_rows(index)  # says it where there is no such sentence
        words = corpus.words.texts(corpus.words.rows(index))
        drawn = tree_svg(words, tree_arcs(corpus, index, layer, head))
        return lasting(Response(drawn, mimetype="image/svg+xml"))

    def typed(snapshot: str, model: str) -> Sentence:
        return _typed(library, corpus_of(library, snapshot, model))

    _add(server, "typed", typed)

    @server.get(f"{BASE}/typed/focus/<view>/{ONE_HEAD}.json")
    def typed_in_picture(snapshot: str, model: str, view: str, layer: int, head: int) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        return lasting(jsonify(_overlay(corpus, view, _typed(library, corpus), layer, head)))

    @server.get(f"{BASE}/positions/{ONE_HEAD}.{FORM}")
    def positions_of_head(snapshot: str, model: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        return file(iter([position_table(corpus, layer, head)]), f"positions-L{layer}-H{head}", form)


def _typed(library: Library, corpus: Corpus) -> Sentence:
    """The typed sentence, encoded."""
    return library.get(TypedSentences).encode(
        corpus, request.args.get("text", ""), request.args.get("second", ""), reader_left
    )


def _overlay(corpus: Corpus, view: str, sentence: Sentence, layer: int, head: int) -> dict[str, object]:
    """Where a typed sentence is placed in the picture of a head, and the strongest lines of all its queries."""
    places = place_vectors(corpus, view, sentence.query[layer, head], sentence.key[layer, head], layer=layer, head=head)
    top, least = bounded("top", TOP, MOST_TOP, fewest=0), share("least", LEAST)
    pattern = sentence.layer_pattern(layer)[head]
    lines = strongest_lines(pattern, 0, role="query", lines="sentence", top=top, least=least)
    return {**sentence_overlay(0, sentence.wordpieces, places, lines), "near": []}


def _add(server: Flask, source: str, find: Find) -> None:
    for rule, answer in _ANSWERS.items():
        path = f"{BASE}/{source}/{rule}"
        server.add_url_rule(path, endpoint=path, view_func=partial(answer, find))


def _layer(find: Find, layer: int, **named: Any) -> Response:
    sentence, options = find(**named), _options()
    _check_head(sentence, layer)
    return codes(encode_layer(shown_pattern(sentence, options, layer=layer).weights[0], shares=options.shares))


def _model(find: Find, **named: Any) -> Response:
    sentence, options = find(**named), _options()
    side = bounded("side", SIDE, MOST_SIDE)
    # Layer by layer: all patterns of a long sentence at once are large.
    shown = (shown_pattern(sentence, options, layer=layer).weights[0] for layer in range(len(sentence.query)))
    return codes(encode_model([pooled(weights, side=side) for weights in shown], shares=options.shares))


def _matrix(find: Find, **named: Any) -> Response:
    sentence, options = find(**named), _options()
    layer, head = (bounded(name, 0, MOST_NUMBER, fewest=0) for name in ("layer", "head"))
    heads = parse_positions(request.args.get("heads", ""))
    _check_head(sentence, layer, max(head, *heads, 0))
    weights = mean_pattern(sentence, options, mean=_mean(), layer=layer, head=head, heads=heads)
    return codes(encode_layer(weights[None], shares=options.shares))


def _neuron(find: Find, layer: int, head: int, query: int, **named: Any) -> Response:
    sentence = find(**named)
    _check_head(sentence, layer, head)
    _check_position(sentence, query)
    return lasting(jsonify(neuron(sentence, layer, head, query)))


def _neuron_file(find: Find, layer: int, head: int, query: int, **named: Any) -> Response:
    sentence = find(**named)
    _check_head(sentence, layer, head)
    _check_position(sentence, query)
    return file(iter([neuron_table(sentence, layer, head, query)]), f"neuron-L{layer}-H{head}-{query}", "csv")


def _mixing(find: Find, **named: Any) -> Response:
    return file(iter([_mixing_table(find(**named))]), "mixing", "csv")


def _weights(find: Find, layer: int, head: int, **named: Any) -> Response:
    sentence, options, mean = find(**named), _options(), _mean()
    heads = parse_positions(request.args.get("heads", ""))
    _check_head(sentence, layer, max(head, *heads, 0))
    tables = weight_tables(sentence, options, mean=mean, layer=layer, head=head, heads=heads)
    stem, several = "rollout" if options.rollout else "weights", options.rollout or len(heads) > 1
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
    layers, heads = sentence.query.shape[:2]
    if layer >= layers or head >= heads:
        abort(404, f"There is no head L{layer} H{head}. Choose one of L0 to L{layers - 1} and H0 to H{heads - 1}.")


def _check_position(sentence: Sentence, position: int) -> None:
    tokens = len(sentence.wordpieces)
    if position >= tokens:
        abort(404, f"There is no position {position} in this sentence. Choose one of 0 to {tokens - 1}.")

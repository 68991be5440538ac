"""Dictionary of a head on the tab Role: pairs of wordpieces, distances and positions with the largest scores in the head's tables. Files of
the tab: roles of a head with their tests, how well rules predict the head, and its dictionary.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from dash import html
from flask import Flask, Response, request

from dashboard.roles.head_roles import tests_at
from dashboard.ui.controls import info
from dashboard.ui.deferred import DeferredPart, of_corpus
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.glossary import defined
from dashboard.ui.markup import file_links, heading
from dashboard.ui.text import signed
from dashboard.web.http import BASE, ONE_HEAD, check_head, corpus_of, data_link
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from dashboard.web.state import THRESHOLDS, LinkState
from store import Corpus
from store.kernels.head_tables import MOST_OF_ONE
from store.phrases import many
from store.rules import LEAST_AT_POSITION, LEAST_COUNTED, LEAST_SENTENCES, chosen_rules

#: Number of listed distances.
LISTED = 5
_MEANING = defined(
    "score",
    "It is a sum of what wordpieces, positions, one of each and the context say. Here context is left "
    f"out. Listed are wordpieces that occur at least {LEAST_COUNTED} times, pairs of them in at least {LEAST_SENTENCES} sentences, "
    f"pairs with a position in at least {LEAST_AT_POSITION}, each wordpiece or position at most {MOST_OF_ONE} times on a side; "
    "distances up to 10 tokens, mean over sentences. Sentences are those that have both. Position 0 is the first special token.",
)
_NO_PAIR = "No pair occurs often enough. Ingest more sentences."
#: Dimensions of `Corpus.head_dictionary` whose pairs have a query and a key.
PAIRS = ("word_pair", "word_position", "position_word")
#: Dimensions among `PAIRS` with a position -> title of their pairs.
_OF_POSITION = {"word_position": "wordpiece → position", "position_word": "position → wordpiece"}
_NUMBERS = ("score", "sentences")
#: Names of the scores of a set of rules in `Corpus.rules`.
_SCORES = ("iou", "skill", "sqrt_jsd", "top_key", "top_word_key", "words_share", "words_skill")
_TESTS = ("bias", "p", "found", "replicated", "offset_bias", "offset_p", "offset_found")


@cached
def dictionary_of(corpus: Corpus, layer: int, head: int) -> xr.Dataset:
    """The dictionary of a head, see `Corpus.head_dictionary`."""
    return corpus.head_dictionary(layer, head)


def dictionary_part(corpus: Corpus, state: LinkState) -> list[object]:
    """The dictionary of the head of a link: the pairs with the largest scores first."""
    return draw_dictionary(corpus, state, dictionary_of(corpus, state.layer, state.head))


def draw_dictionary(corpus: Corpus, state: LinkState, found: xr.Dataset) -> list[object]:
    """Tables of the pairs and positions with the largest scores, and a line of distances; see `Corpus.head_dictionary`."""
    pairs = pairs_of(found, "word_pair")
    of_positions: list[Any] = [
        _table((title,), [(f"{query} → {key}", *numbers) for query, key, *numbers in of_position])
        for name, title in _OF_POSITION.items()
        if (of_position := pairs_of(found, name))
    ]
    return [
        html.P(
            [
                "How much the score of a pair, without context, exceeds that of the same query with an average key; +1 makes the weight "
                f"2.7 times as large. From {many(found.attrs['sentences'], 'sentence')}.",
                info("the dictionary", _MEANING),
            ],
            className="caption",
        ),
        _table(("query", "key"), pairs) if pairs else html.P(_NO_PAIR, className="unmade"),
        html.P(f"Distances of the key: {_distances(found)}.", className="caption"),
        html.Div(of_positions, className="shares"),
        file_links(data_link(corpus), "Dictionary", f"dictionary/{state.layer}/{state.head}"),
    ]


def pairs_of(found: xr.Dataset, name: str) -> list[tuple[Any, ...]]:
    """Query, key, score and number of sentences of the pairs of one dimension, the largest score first."""
    columns = (found[f"{name}_{part}"].values.tolist() for part in ("query", "key", "logit", "sentences"))
    return list(zip(*columns, strict=True))


def _distances(found: xr.Dataset) -> str:
    """The distances with the largest scores: `1 ahead +8.7, itself +6.7`."""
    scores = found.offset_logit.values
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(-scores[known], kind="stable")][:LISTED].tolist()
    return ", ".join(f"{_distance(int(found.offset[place]))} {signed(float(scores[place]), 1)}" for place in order)


def _distance(offset: int) -> str:
    return "itself" if not offset else f"{abs(offset)} {'ahead' if offset > 0 else 'back'}"


def _table(names: tuple[str, ...], pairs: Sequence[tuple[Any, ...]]) -> html.Table:
    """A table of pairs; the last two parts of a pair are its score and its number of sentences."""
    rows = [
        html.Tr(
            [
                *(html.Td(html.Bdi(str(name))) for name in own),
                html.Td(signed(score, 1), className="number"),
                html.Td(f"{sentences:,}", className="number"),
            ]
        )
        for *own, score, sentences in pairs
    ]
    return html.Table([heading((*names, *_NUMBERS), _NUMBERS), html.Tbody(rows)], className="rows")


DICTIONARY = DeferredPart(
    "role-dictionary",
    "the dictionary of the head",
    of_corpus(dictionary_part),
    ("layer", "head"),
    690,
    900,
    middle=630,
    shape="box",
)


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    tables: Mapping[str, Callable[[Corpus, int, int], Table]] = {
        "roles": _roles_table,
        "rules": _rules_table,
        "dictionary": _dictionary_table,
    }

    @server.get(f"{BASE}/<any({', '.join(tables)}):what>/{ONE_HEAD}.{FORM}")
    def file_of_roles(snapshot: str, model: str, what: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        return file(iter([tables[what](corpus, layer, head)]), f"{what}-L{layer}-H{head}", form)


def _roles_table(corpus: Corpus, layer: int, head: int) -> Table:
    """A row for every role with its share, and its test where it is tested; the last row is the unexplained share."""
    threshold = request.args.get("threshold", LinkState.threshold)
    threshold = threshold if threshold in THRESHOLDS else LinkState.threshold
    roles = corpus.roles.isel(layer=layer, head=head)
    tests = tests_at(corpus, threshold).isel(layer=layer, head=head).reindex(role=roles.role.values)
    told: dict[str, Any] = {name: roles[name].values.astype(object) for name in ("role", "title", "kind", "breadth")}
    numbers = {name: tests[name].values.astype(np.float64) for name in _TESTS}
    return (
        told | {"share": roles.share.values} | numbers | {"threshold": np.full(roles.sizes["role"], float(threshold))}
    )


def _rules_table(corpus: Corpus, layer: int, head: int) -> Table:
    """A row for every set of rules: its scores on the judging sentences, and its chosen rules in the order of their choice."""
    rules = corpus.rules.isel(layer=layer, head=head)
    low, high = rules.interval.transpose("bound", "rules").values
    chosen, weights = chosen_rules(rules.chosen.values, rules.rule_weight.values)
    six = ", ".join(f"{weight:+.3f} {name}" for weight, name in zip(weights, chosen, strict=True))
    names = list(map(str, rules.rules.values))
    written = {"single": "".join(chosen[:1]), "six": six}
    return {
        "rules": np.array(names, object),
        **{name: rules[name].values for name in _SCORES},
        "iou_low": low,
        "iou_high": high,
        "chosen": np.array([written.get(name, "") for name in names], object),
    }


def _dictionary_table(corpus: Corpus, layer: int, head: int) -> Table:
    """A row for every pair and distance: kind, query, key, score and sentences; the key of a distance is the distance."""
    found = dictionary_of(corpus, layer, head)
    rows: list[tuple[Any, ...]] = [
        (name, *map(str, pair[:2]), *pair[2:]) for name in PAIRS for pair in pairs_of(found, name)
    ]
    every = found.attrs["sentences"]
    rows += [
        ("distance", "", f"{offset:+d}", score, every)
        for offset, score in zip(found.offset.values.tolist(), found.offset_logit.values.tolist(), strict=True)
    ]
    kinds, queries, keys, scores, sentences = zip(*rows, strict=True)
    texts = {"kind": kinds, "query": queries, "key": keys}
    return {name: np.array(column, object) for name, column in texts.items()} | {
        "score": np.array(scores),
        "sentences": np.array(sentences),
    }

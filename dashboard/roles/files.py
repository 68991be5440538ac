"""Files of the tab Role: the roles of a head with their tests, how well rules predict it, and its dictionary."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from flask import Flask, Response, request

from dashboard.roles.dictionary import PAIRS, dictionary_of, pairs_of
from dashboard.roles.head_roles import tests_at
from dashboard.ui.files import FORM, Table, file
from dashboard.web.http import BASE, ONE_HEAD, check_head, corpus_of
from dashboard.web.served_store import ServedStore
from dashboard.web.state import THRESHOLDS, LinkState
from store import Corpus
from store.rules import chosen_rules

#: Scores of a set of rules, as `Corpus.rules` has them.
_SCORES = ("iou", "skill", "sqrt_jsd", "top_key", "top_word_key", "words_share", "words_skill")
_TESTS = ("bias", "p", "found", "replicated", "offset_bias", "offset_p", "offset_found")


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
    """Every role with its share, and its test where it has one; what is not explained is the last row."""
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
    """Every set of rules with its scores on the sentences that judge; the rules that were chosen, in the order of their choice."""
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
    """Every pair and every distance: its kind, query, key, score, and sentences; the key of a distance is the distance."""
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

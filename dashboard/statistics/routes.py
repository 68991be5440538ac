"""Files of statistics: of all heads over the corpus or a part of it, of one head, of the layers."""

from collections.abc import Sequence
from itertools import product
from typing import Any
from urllib.parse import urlencode

import numpy as np
import xarray as xr
from flask import Flask, Response, request
from numpy.typing import NDArray

from dashboard.roles.shares import known_shares
from dashboard.statistics.data import HeadGrid, head_columns, importance_of, ranks, shown_statistic
from dashboard.statistics.parts import Part, PartCounts, part_labels, part_of
from dashboard.statistics.reach import arrival_table
from dashboard.statistics.reach_data import FIELDS as REACH_FIELDS
from dashboard.statistics.reach_data import sides_of
from dashboard.statistics.scatter import scores_of
from dashboard.statistics.shown import LinkCounts, part_numbers, shown_grid
from dashboard.ui.files import FORM, Table, file
from dashboard.web.context import resolve
from dashboard.web.errors import Refusal
from dashboard.web.http import BASE, ONE_HEAD, check_head, corpus_of, source_of_means
from dashboard.web.served_store import ServedStore
from dashboard.web.state import FIELDS, LinkState
from store import Corpus
from store.schema.model import BOUNDS, varying_statistics


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes of all files of statistics."""
    _add_part_files(server, served_store)
    _add_corpus_files(server, served_store)


def _add_part_files(server: Flask, served_store: ServedStore) -> None:
    """Add the routes of files on the corpus or a part of it."""

    @server.get(f"{BASE}/statistics.{FORM}")
    def statistics_of_heads(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        source, part = source_of_means(), _part(corpus)
        means = served_store.service(PartCounts).numbers(corpus, part).means
        labels = part_labels(corpus, part, means)
        shares = known_shares(corpus)
        wording = shares.wording if shares else None
        table = heads_table(means.sel(source=source), labels, importance_of(corpus), wording)
        return _file(table, f"statistics-{source}{_suffix(part)}", form)

    @server.get(f"{BASE}/heat-map.{FORM}")
    def heat_map(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        fields = {name: request.args[name] for name in FIELDS if name in request.args}
        context = resolve(served_store, "statistics", urlencode(fields | {"snapshot": snapshot, "model": model}))
        state, counts = context.state, LinkCounts.of(context)
        part = part_of(corpus, state.where)
        grid = shown_grid(counts, part_numbers(counts.of_parts, corpus, state, part))
        name = f"{grid.kind}-{shown_statistic(state, corpus)}-{state.source}{_suffix(part)}"
        other = state.other if state.values == "difference" else None
        return file(iter([_grid_table(grid)]), name, form, [other] if other else [])

    @server.get(f"{BASE}/mixing.{FORM}")
    def mixing_of_layers(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        part = _part(corpus)
        table = _mixing_table(served_store.service(PartCounts).numbers(corpus, part).mixing)
        return _file(table, f"mixing{_suffix(part)}", form)

    @server.get(f"{BASE}/reach.{FORM}")
    def what_vectors_are_made_of(snapshot: str, model: str, form: str) -> Response:
        corpus, state, layer = _reached(served_store, snapshot, model)
        part = _part(corpus)
        own = corpus.reach_by(state.reachedby, state.reached, layer=layer, chosen=part.rows)
        return _file(_reach_table(own), f"reach{_suffix(part)}", form)

    @server.get(f"{BASE}/reach-labels.{FORM}")
    def what_vectors_of_labels_are_made_of(snapshot: str, model: str, form: str) -> Response:
        corpus, state, layer = _reached(served_store, snapshot, model)
        if state.labelled is None:
            known = " or ".join(corpus.label_names) or "none, as the sentences have no labels"
            raise Refusal(f"Give the label as labelled=: {known}.", 400)
        part = _part(corpus)
        own, others = sides_of(corpus, state.labelled, part.rows)
        compared = corpus.reach_contrast(state.reachedby, state.reached, own, others=others, layer=layer)
        return _file(_contrast_table(compared), f"reach-{state.labelled}{_suffix(part)}", form)


def _add_corpus_files(server: Flask, served_store: ServedStore) -> None:
    """Add the routes of files on the whole corpus: of the layers, or of one head."""

    @server.get(f"{BASE}/expansion.{FORM}")
    def expansion_of_layers(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        return _file({"layer": np.arange(corpus.layers), "rate": corpus.expansion_rate.values}, "expansion", form)

    @server.get(f"{BASE}/arrival.{FORM}")
    def what_arrives(snapshot: str, model: str, form: str) -> Response:
        mixing = corpus_of(served_store, snapshot, model).mixing
        return _file(arrival_table(mixing.arrival, mixing.arrival_interval), "arrival", form)

    @server.get(f"{BASE}/scores.{FORM}")
    def scores_of_heads(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        scores = scores_of(corpus)
        numbers = {name: score.values.ravel() for name, score in scores.items() if name != "layer"}
        return _file({**head_columns(corpus.layers, corpus.heads), **numbers}, "scores", form)

    tables = {"statistics": _statistics_table, "profile": _profile_table, "received": _received_table}

    @server.get(f"{BASE}/<any({', '.join(tables)}):what>/{ONE_HEAD}.{FORM}")
    def file_of_head(snapshot: str, model: str, what: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        check_head(corpus, layer, head)
        return _file(tables[what](corpus, layer, head), f"{what}-L{layer}-H{head}", form)


def _reached(served_store: ServedStore, snapshot: str, model: str) -> tuple[Corpus, LinkState, int]:
    """The corpus, the fields of the query string, and the layer."""
    fields = {name: request.args[name] for name in REACH_FIELDS if name in request.args}
    context = resolve(served_store, "statistics", urlencode(fields | {"snapshot": snapshot, "model": model}))
    after = context.state.after
    return context.corpus, context.state, context.corpus.layers - 1 if after is None else after


def _part(corpus: Corpus) -> Part:
    """The part of the query string; conditions that cannot select are ignored (the page shows a notice)."""
    return part_of(corpus, request.args.get("where"), q=request.args.get("q"), within=request.args.get("within"))


def _suffix(part: Part) -> str:
    """The end of a file's name: `-part` unless the file is of the whole corpus."""
    return "" if part.whole else "-part"


def _file(table: Table, name: str, form: str) -> Response:
    return file(iter([table]), name, form)


def heads_table(
    means: xr.DataArray,
    labels: xr.DataArray,
    importance: NDArray[np.float64] | None = None,
    roles: NDArray[np.str_] | None = None,
) -> Table:
    """Every head with its label, its statistics and its rank in each: rank 1 has the largest value, NaN has none.

    Parameters
    ----------
    means
        (statistic, layer, head), with their source as a coordinate.
    labels
        (layer, head), empty for a head without a label.
    importance
        (layer, head), a further column.
    roles
        Role of every head in words: (layer, head), a further column.
    """
    numbers = {name: means.sel(statistic=name).values.ravel() for name in varying_statistics(str(means.source.item()))}
    if importance is not None:
        numbers["importance"] = importance.ravel()
    return {
        **head_columns(*labels.shape),
        "label": labels.values.astype(object).ravel(),
        **({} if roles is None else {"roles": roles.astype(object).ravel()}),
        **numbers,
        **{f"{name}_rank": ranks(values) for name, values in numbers.items()},
    }


def _grid_table(grid: HeadGrid) -> Table:
    """The numbers of a heat map of all heads, with the ends of their intervals where they are known."""
    column = "difference" if grid.diverging else grid.kind
    ends = {} if grid.interval is None else dict(zip(BOUNDS, grid.interval, strict=True))
    return {
        **head_columns(*grid.values.shape),
        column: grid.values.ravel(),
        **{f"{column}_{bound}": end.ravel() for bound, end in ends.items()},
    }


def _mixing_table(ratios: xr.DataArray) -> Table:
    """Table of mixing ratios (source, ratio, layer), a row each."""
    rows = list(product(ratios.source.values, ratios.ratio.values, ratios.layer.values))
    source, ratio, layer = (np.array(column, object) for column in zip(*rows, strict=True))
    return {"layer": layer.astype(np.int64), "source": source, "ratio": ratio, "share": ratios.values.ravel()}


def _statistics_table(corpus: Corpus, layer: int, head: int) -> Table:
    """Every statistic of a head over the rows of every source, with its 95% interval."""
    means, interval = (array[..., layer, head] for array in (corpus.head_statistic, corpus.head_interval))
    rows = list(product(means.source.values, means.statistic.values))
    source, statistic = (np.array(list(map(str, column))) for column in zip(*rows, strict=True))
    return {
        "statistic": statistic,
        "source": source,
        "mean": means.transpose("source", "statistic").values.ravel(),
        **{bound: interval.sel(bound=bound).transpose("source", "statistic").values.ravel() for bound in BOUNDS},
    }


def _profile_table(corpus: Corpus, layer: int, head: int) -> Table:
    """Share of a head's weight at each offset (key - query); the outermost offsets stand for all keys farther than 10 tokens."""
    shares = corpus.head_profile.sel(layer=layer, head=head)
    return {"offset": shares.offset.values, "share": shares.values}


def _received_table(corpus: Corpus, layer: int, head: int) -> Table:
    """Mean weight that each position receives, and the number of sentences with this position."""
    received = corpus.received_at.sel(layer=layer, head=head)
    count = received["count"].values
    return {
        "position": np.arange(len(count))[count > 0],
        "sentences": count[count > 0],
        "received": received.values[count > 0],
    }


def _reach_table(own: xr.Dataset) -> Table:
    """Every class with its numbers at one layer."""
    numbers = ("reach", "received", "hidden", "share")
    one = own.isel(layer=0)
    return _with_ends(one, numbers) | {name: one[name].values for name in ("tokens", "sentences")}


def _contrast_table(own: xr.Dataset) -> Table:
    """Every class with its numbers in both parts at one layer."""
    sides = [f"{side}_{name}" for side in ("own", "rest") for name in ("share", "reach")]
    one = own.isel(layer=0)
    counts = [f"{side}_{name}" for side in ("own", "rest") for name in ("tokens", "sentences")]
    return _with_ends(one, (*sides, "share_difference", "excess_difference", "reach_difference")) | {
        name: one[name].values for name in ("share_found", "excess_found", "reach_found", *counts)
    }


def _with_ends(one: xr.Dataset, numbers: Sequence[str]) -> dict[str, Any]:
    columns: dict[str, Any] = {"class": one.category.values.astype(object)}
    for name in numbers:
        low, high = one[f"{name}_interval"].values
        columns |= {name: one[name].values, f"{name}_low": low, f"{name}_high": high}
    return columns

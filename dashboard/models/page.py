"""Page Models: the heads of all models of the store, and of others, by any two numbers that all have; a box filters the table below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from flask import Flask, Response, request
from numpy.typing import NDArray

from dashboard.models.trees import ABOUT as ABOUT_COUNTED
from dashboard.models.trees import COUNTED, CountedMetrics, Tree, Trees
from dashboard.statistics.scatter import (
    AXES,
    DOT,
    HeadScatter,
    Score,
    axes_of,
    named_scores,
    scatter_chart,
    scatter_choices,
    scatter_of,
)
from dashboard.topic import Choices, Topic, read_then_draw
from dashboard.ui.charts import QUIET, DotGroup
from dashboard.ui.deferred import ROW, DeferredPart, deferred
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.markup import Page, Unmade, file_links, scrolling, stacked_cells
from dashboard.ui.text import model_names
from dashboard.ui.theme import DOT_SYMBOLS, KIND_COLOURS
from dashboard.web.context import Context
from dashboard.web.http import BASE, data_link
from dashboard.web.paths import PageLinks
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, Snapshot
from store.phrases import as_label, many
from store.schema.model import head_name

TITLE = "Heads of all models"
#: Most rows of the table; the file has all heads.
LISTED = 200
_ABOUT = (
    "Each dot is a head, with the colour and shape of its model. Numbers are those that all models have: means over all queries of "
    "the corpus of each model. Two corpora differ in their text, or in the wordpieces that the tokenizers of their models make of it."
)

_ABOUT_TREES = (
    " Numbers of HeadVis are means over all tokens of its own text, where the store weighs sentences equally; attention to the previous "
    "token is over the tokens that have one. Its heads open no page and are not in the files."
)


@dataclass(frozen=True, eq=False)
class EveryHead:
    """The heads of several models, one model after the other.

    Attributes
    ----------
    models
        Titles of the models by their keys; the key of a model that is not in the store is its title.
    trees
        Keys of the models that are not in the store.
    corpora
        Number of corpora that the models were run on.
    model
        Key of the model of each head: (head,).
    layer, head
        Layer and number of each head, from 0: (head,).
    scores
        Every number that all models have, by its name in a link.
    """

    models: Mapping[str, str]
    corpora: int
    model: NDArray[np.object_]
    layer: NDArray[np.int64]
    head: NDArray[np.int64]
    scores: Mapping[str, Score]
    trees: frozenset[str] = frozenset()

    @property
    def counted(self) -> str:
        """A caption: numbers of heads and models, and what differs between models on several corpora."""
        corpora = f" on {self.corpora} corpora: their text or wordpieces differ" if self.corpora > 1 else ""
        read = int(np.isin(self.model, list(self.trees)).sum())
        other = f" {read:,} are read from HeadVis: means over tokens, not over sentences." if read else ""
        return f"{len(self.model):,} heads of {many(len(self.models), 'model')}{corpora}.{other}"


@dataclass(frozen=True, eq=False)
class ShownModels:
    """What the page shows; `alone` says why there is no second model, `waits` is the part whose numbers are still to be counted."""

    state: LinkState
    every: EveryHead
    chart: HeadScatter
    alone: Unmade | None = None
    waits: html.Div | None = None


@cached
def every_head(snapshot: Snapshot) -> EveryHead:
    """The heads of all models of a snapshot with their numbers."""
    models = snapshot.head_numbers()
    layer, head = np.concatenate([list(np.ndindex(*numbers.shape)) for numbers in models.values()]).T
    keys = np.repeat(np.array(list(models), object), [int(np.prod(numbers.shape)) for numbers in models.values()])
    corpora = len({model["corpus"] for model in snapshot.models.values()})
    return EveryHead(
        model_names(snapshot), corpora, keys, layer, head, _common_scores(list(map(named_scores, models.values())))
    )


def shown_heads(snapshot: Snapshot, trees: Sequence[Tree], counted: NDArray[np.float64] | None = None) -> EveryHead:
    """The heads of the snapshot and of the trees; `counted` has metrics that are counted on demand, (metric, head), NaN by default."""
    every = every_head(snapshot)
    values = np.full((len(COUNTED), len(every.model)), np.nan) if counted is None else counted
    return reduce(_with_tree, trees, with_counted(every, values))


def with_counted(every: EveryHead, values: NDArray[np.float64]) -> EveryHead:
    """The heads, with the values (metric, head) of `COUNTED` added."""
    counted = {
        name: Score(metric.title, metric.unit, own) for (name, metric), own in zip(COUNTED.items(), values, strict=True)
    }
    return replace(every, scores={**every.scores, **counted})


def _with_tree(every: EveryHead, tree: Tree) -> EveryHead:
    layer, head = np.nonzero(tree.known)
    own = {name: score._replace(values=score.values[tree.known]) for name, score in named_scores(tree.numbers).items()}
    own |= {name: every.scores[name]._replace(values=values[tree.known]) for name, values in tree.counted.items()}
    return replace(
        every,
        models={**every.models, tree.title: tree.title},
        trees=every.trees | {tree.title},
        model=np.append(every.model, np.full(len(layer), tree.title, object)),
        layer=np.append(every.layer, layer),
        head=np.append(every.head, head),
        scores=_common_scores([every.scores, own]),
    )


def _common_scores(models: Sequence[Mapping[str, Score]]) -> dict[str, Score]:
    """The numbers that all models have: (head,)."""
    return {
        name: score._replace(values=np.concatenate([model[name].values.ravel() for model in models]))
        for name, score in models[0].items()
        if all(name in model for model in models)
    }


def read(context: Context) -> ShownModels:
    """The heads of all models, and the numbers of the link."""
    every = shown_heads(context.snapshot, context.served_store.service(Trees).trees)
    chart = _chart(context.corpus, context.state, every)
    missing = f"The store has one model, {context.corpus.title}. Ingest another one to see the heads of both."
    alone = Unmade(missing, "Run `headscape ingest --model=bert-base-uncased`.", context.ingest)
    return ShownModels(
        context.state,
        every,
        chart,
        alone if len(every.models) == 1 else None,
        deferred(context, COUNTS) if _is_counted(chart) else None,
    )


def read_counted(context: Context) -> ShownModels:
    """The heads of all models and the numbers of the link, with the metrics that are counted on demand."""
    counted = context.served_store.service(CountedMetrics).of_every_head(context.snapshot)
    every = shown_heads(context.snapshot, context.served_store.service(Trees).trees, counted)
    return ShownModels(context.state, every, _chart(context.corpus, context.state, every))


def _is_counted(chart: HeadScatter) -> bool:
    """Whether the chart shows a metric that is counted on demand."""
    return not COUNTED.keys().isdisjoint((chart.across, chart.up, chart.tint, chart.sized))


def _chart(corpus: Corpus, state: LinkState, every: EveryHead) -> HeadScatter:
    places = zip(every.layer, every.head, every.model, strict=True)
    names = np.array([f"{head_name(layer, head)} of {as_label(model)}" for layer, head, model in places], object)
    return scatter_of(
        state,
        every.scores,
        names=names,
        groups=_groups(every),
        by="model",
        shares=None,
        of=every.counted,
        files=f"{data_link(corpus)}/models",
    )


def _groups(every: EveryHead) -> list[DotGroup]:
    """The dots of each model: colours and shapes repeat in other pairs."""
    colours = len(KIND_COLOURS)
    line = {"color": QUIET, "width": 1}
    return [
        DotGroup(
            as_label(title),
            every.model == key,
            {
                "size": DOT,
                "color": KIND_COLOURS[number % colours],
                "symbol": DOT_SYMBOLS[(number + number // colours) % len(DOT_SYMBOLS)],
                "line": line,
            },
        )
        for number, (key, title) in enumerate(every.models.items())
    ]


def choices(shown: ShownModels) -> Choices:
    """Names of the shown numbers, and of the default ones."""
    current, defaults = (axes_of(state, shown.every.scores) for state in (shown.state, LinkState(page="models")))
    return dict(zip(AXES, current, strict=True)), dict(zip(AXES, defaults, strict=True))


def draw(shown: ShownModels) -> Page:
    """The chart and the table of the heads in its box, or the part that has both once their numbers are counted."""
    alone = shown.alone and dmc.Alert(shown.alone.text, color="blue", variant="light", id="one-model")
    about = _ABOUT + (_ABOUT_TREES if shown.every.trees else "") + ABOUT_COUNTED
    return Page(
        above=[
            html.H1(TITLE),
            *([alone] if alone else []),
            html.P(shown.every.counted, className="caption"),
            *scatter_choices(shown.chart, about=about),
            *(draw_heads(shown) if shown.waits is None else [shown.waits]),
        ]
    )


def draw_heads(shown: ShownModels) -> list[object]:
    """The chart and the table."""
    state, chart = shown.state, shown.chart
    file = {"counted": "1" if _is_counted(chart) else None}
    return [*scatter_chart(state, chart, table="below", file=file), *_table(state, shown.every, chart, file)]


def _table(state: LinkState, every: EveryHead, chart: HeadScatter, file: Mapping[str, str | None]) -> list[object]:
    """The table of the heads in the box, the largest number of the vertical axis first."""
    inside = np.ones(len(every.model), bool) if chart.inside is None else chart.inside
    heads = np.flatnonzero(inside)
    heads = heads[np.argsort(-np.nan_to_num(chart.y.values[heads], nan=-np.inf), kind="stable")]
    listed = heads[:LISTED]
    columns = dict.fromkeys(
        (chart.across, chart.up, *(name for name in (chart.tint, chart.sized) if name in every.scores))
    )
    scores = [every.scores[name] for name in columns]
    titles = [score.axis for score in scores]
    page = state.on("head")  # made once: the table has hundreds of links
    rows = [_row(page, every, scores, int(number)) for number in listed]
    which = (
        f"The first {len(listed):,} of {len(heads):,} heads" if len(listed) < len(heads) else many(len(heads), "head")
    )
    count = f"{which} by {chart.y.title}, largest first." if rows else "No head lies in the box. Clear the box."
    table = stacked_cells(["head", "model", *titles], rows, set(titles))
    # The table is as high as with all heads: a box moves nothing below it.
    room = {"minHeight": f"min(420px, {ROW * (len(every.model) + 1)}px)"}
    return [
        html.H2("Heads in the box" if chart.inside is not None else "All heads"),
        html.P(count, className="caption", role="status"),
        html.Div(scrolling(table, "Heads of all models"), style=room),
        file_links(chart.files, f"All heads{' of the store' if every.trees else ''} with every number", "scores", file),
    ]


def _row(page: LinkState, every: EveryHead, scores: Sequence[Score], number: int) -> list[html.Td]:
    model, layer, head = str(every.model[number]), int(every.layer[number]), int(every.head[number])
    name, href = head_name(layer, head), page.with_(model=model, layer=layer, head=head).href
    numbers = [html.Td(score.number((number,)), className="number") for score in scores]
    named = name if model in every.trees else dcc.Link(name, href=href)
    return [html.Td(named), html.Td(html.Bdi(every.models[model])), *numbers]


def scores_table(every: EveryHead) -> Table:
    """A row for each head of each model, with every number that all models have."""
    numbers = {name: score.values for name, score in every.scores.items() if name != "layer"}
    return {"model": every.model, "layer": every.layer, "head": every.head, **numbers}


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the route of the file; `model` in its address is any of the models, `counted=1` adds the metrics counted on demand."""

    @server.get(f"{BASE}/models/scores.{FORM}")
    def scores_of_models(snapshot: str, model: str, form: str) -> Response:
        opened = served_store.snapshot(snapshot)
        others = [key for key in opened.models if key != opened.corpus(model).name]
        every = every_head(opened)
        if request.args.get("counted") == "1":
            every = with_counted(every, served_store.service(CountedMetrics).of_every_head(opened))
        return file(iter([scores_table(every)]), "scores-of-models", form, others)


COUNTS = DeferredPart(
    "counted-metrics",
    "induction and the variance of distances",
    read_then_draw(read_counted, draw_heads),
    (*AXES, "tint", "sized"),
    900,
    shape="box",
)


MODELS = Topic(
    name="models",
    title="Models",
    letter="a",
    docs="links.md#models",
    layout=read_then_draw(read, draw),
    links=PageLinks(every_model=True),
    choices=choices,
    deferred=(COUNTS,),
    routes=(register,),
)

"""Changes over a sample of the corpus where heads are replaced, computed on demand on page Sentence: the heads of a link; and more and
more heads as a curve, with its file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from flask import Flask, Response, abort, request

from dashboard.roles.shares import known_shares
from dashboard.sentence.curve import (
    KINDS,
    SHARES,
    Curve,
    CurvePoint,
    curve_table,
    known_orders,
    measure_curves,
    measured_by,
)
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sample import EncodedSample, LinkChange, NumberRow, SampleChange, Sampling, Watch, number_rows
from dashboard.ui.charts import QUIET, SERIES, axis, chart, layout
from dashboard.ui.charts import SHARES as SHARE_AXIS
from dashboard.ui.controls import action, info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.files import FORM, file
from dashboard.ui.markup import Unmade, file_href, heading, scrolling, unmade_line
from dashboard.ui.text import in_interval
from dashboard.ui.work import current_job
from dashboard.web.admission import Room
from dashboard.web.context import Context, LinkReader
from dashboard.web.http import BASE, corpus_of, data_link
from dashboard.web.results import current_cache
from dashboard.web.served_store import ServedStore
from dashboard.web.state import Instead, LinkState, heads_numbers
from store import Corpus
from store.phrases import many
from store.replacement import INSTEAD, ORDERS, SENTENCES, Heads
from store.repository.errors import NotIngested
from store.schema.model import head_name

#: Most listed relations, and pixels of the part.
LISTED, HEIGHT = 5, 560
#: Most threads of a worker that measure at once: the other threads still answer.
READERS = 2
BUSY = "The server measures for other readers. Try again in a minute."
_ABOUT = (
    "The model runs on sentences of the corpus that no rule of a head was fitted on, with all heads and with these ones replaced. "
    "The vector of a sentence is the mean of the last layer's output over the tokens of words."
)
_COLUMNS = ("relation", "head", "pairs", "before", "after")
#: Pixels of the curve.
CURVE_HEIGHT = 520
#: Titles, colours and symbols of the orders; titles and dashes of the replacements.
ORDER_TITLES: Mapping[str, str] = {
    "explained": "best explained first",
    "unimportant": "least important first",
    "random": "random",
}
_COLOURS = dict(zip(ORDERS, (SERIES[0], SERIES[2], QUIET), strict=True))
_SYMBOLS = dict(zip(ORDERS, ("circle", "square", "diamond"), strict=True))
_KIND_TITLES: Mapping[Instead, str] = {"rule": "rules", "mean": "mean pattern", "even": "even", "off": "off"}
_DASHES: Mapping[Instead, str] = {"rule": "solid", "mean": "dash", "even": "dot", "off": "dashdot"}
_ABOUT_CURVE = (
    f"The model runs on {SENTENCES} sentences of the corpus that no rule was fitted on, with 0, 10, 25, 50, 75 and 100% of its heads "
    "replaced. Best explained: by the IoU of at most six rules, judged on the half of the sentences that the sample is of; the other "
    "half gives nearly the same order. Least important: without which the loss grows least. Random: one draw, always the same. Above: how far sentence vectors "
    "move, as a share of the distance between two sentences. Below: Spearman's correlation of the similarities of all pairs of sentences."
)


class Measuring(Room):
    """Room for the readers who measure in this process."""

    @classmethod
    def of(cls, _served_store: ServedStore) -> "Measuring":
        """The room of a served store."""
        return cls(READERS, BUSY)


def can_be_measured(corpus: Corpus, state: LinkState) -> bool:
    """Whether the heads of a link can be replaced over the corpus: not by rules in a store without rules.

    Nor by their patterns in another sentence: few sentences of the corpus have as many tokens as it.
    """
    has_rules = state.instead != "rule" or known_shares(corpus) is not None
    return bool(state.without) and state.instead != "patch" and has_rules


def over_corpus(state: LinkState, measured: html.Div | None) -> list[object]:
    """A button that measures the change over the corpus, or the measured change."""
    if measured is None:
        button = action(f"Measure over {SENTENCES} sentences of the corpus", state.with_(sampled="1").href)
        return [html.P(button, className="over-corpus")]
    title = html.H3(["Over the corpus", info("the corpus", _ABOUT)])
    return [title, measured]


def _key(without: str | None, instead: Instead) -> tuple[str, str | None, str]:
    return "sample of changed heads", without, instead


def known_change(corpus: Corpus, without: str | None, instead: Instead) -> SampleChange | None:
    """The change without these heads, if it was measured before."""
    found: SampleChange | None = current_cache().find(corpus, _key(without, instead))
    return found


def _is_measured(corpus: Corpus, state: LinkState) -> bool:
    return known_change(corpus, state.without, state.instead) is not None


def sample_change(
    served_store: ServedStore, corpus: Corpus, without: str, instead: Instead, watch: Watch
) -> SampleChange:
    """The change of the sample without the heads of a link: measured now if it was not before, and cached."""

    def measured() -> SampleChange:
        sampling, heads = sampling_of(served_store, corpus), heads_numbers(without)
        first = 0.0 if current_cache().find(corpus, _ALL_HEADS) else 0.5
        before = sample_as_it_is(sampling, lambda share, title: watch(first * share, title))
        after = sampling.changed(heads, instead, lambda share, title: watch(first + (1 - first) * share, title))
        return sampling.compare(before, after, heads, instead)

    found: SampleChange = current_cache().get(corpus, _key(without, instead), measured)
    return found


def compute_sampled(context: Context) -> list[object]:
    """The part with the change over the corpus. Only a new measurement takes room; a cached one takes none."""
    corpus, state = context.corpus, context.state
    if not (state.without and state.sampled) or state.instead == "patch":
        return []
    if (known := known_change(corpus, state.without, state.instead)) is not None:
        return draw_sampled(known)
    with context.served_store.service(Measuring).entered():
        watch = current_job().watch
        return draw_sampled(sample_change(context.served_store, corpus, state.without, state.instead, watch))


def sampling_of(served_store: ServedStore, corpus: Corpus) -> Sampling:
    """The sample of a corpus, encoded by the model of its server."""
    typed = served_store.service(TypedSentences)
    return Sampling(corpus, lambda text, change: typed.run(corpus, text, change))


def sample_as_it_is(sampling: Sampling, watch: Watch) -> EncodedSample:
    """The sample encoded with all heads: the same for every link, and cached."""
    encoded: EncodedSample = current_cache().get(sampling.corpus, _ALL_HEADS, lambda: sampling.as_it_is(watch))
    return encoded


#: Cache key of the sample with all heads.
_ALL_HEADS = "sample with all heads"
SAMPLED = DeferredPart(
    "sampled",
    "what changes over the corpus",
    compute_sampled,
    ("without", "instead", "sampled"),
    HEIGHT,
    ready=_is_measured,
)


def draw_sampled(shown: SampleChange) -> list[object]:
    """The numbers as a table, and the relations of which later heads link fewer pairs."""
    return [_numbers(shown), *_links(shown)]


def _numbers(shown: SampleChange) -> html.Div:
    body = [html.Tr([_row_title(row), html.Td(row.number, className="number")]) for row in number_rows(shown)]
    return scrolling(html.Table(html.Tbody(body), className="rows"), "What changes over the corpus")


def _row_title(row: NumberRow) -> html.Th:
    return html.Th([row.title, info(row.title, row.about)] if row.about else row.title, scope="row")


def _links(shown: SampleChange) -> list[object]:
    """A table of relations of which later heads link fewer pairs, the largest number of lost pairs first."""
    worst = sorted(shown.links, key=lambda link: link.pairs * (link.after - link.before))[:LISTED]
    lost = [link for link in worst if link.after < link.before]
    if not lost:
        return []
    table = html.Table([heading(_COLUMNS, _COLUMNS[2:]), html.Tbody([_row(link) for link in lost])], className="rows")
    return [html.P("Relations that later heads link less:"), scrolling(table, "Relations that later heads link less")]


def _row(link: LinkChange) -> html.Tr:
    shares = (f"{100 * share:.0f}%" for share in (link.before, link.after))
    numbers = (html.Td(text, className="number") for text in (f"{link.pairs:,}", *shares))
    return html.Tr([html.Td(link.relation), html.Td(head_name(link.layer, link.head)), *numbers])


@dataclass(frozen=True)
class ShownCurves:
    """The curves of a link, why the store does not know the other orders, and the URL of the numbers."""

    curves: list[Curve]
    missing: list[Unmade]
    sentences: int
    csv: str


def curve_panel(state: LinkState, computed: html.Div | None, *, has_rules: bool) -> list[object]:
    """The section of the curves: buttons that add or remove a curve, and the chart, computed after the page."""
    drawn = kinds_of(state)
    offered = [kind for kind in KINDS if kind not in drawn and (kind != "rule" or has_rules)]
    buttons = [action(INSTEAD[kind], _with(state, [*drawn, kind]), look="plain") for kind in offered]
    shown = [
        action(f"{INSTEAD[kind]} ✕", _with(state, [other for other in drawn if other != kind]), look="plain")
        for kind in drawn
    ]
    return [
        html.H3(["Over the number of heads", info("the curve over the number of heads", _ABOUT_CURVE)]),
        *([html.P(["Drawn, where heads: ", *shown], className="switched-off")] if shown else []),
        *([html.P(["Draw, where heads: ", *buttons], className="switched-off")] if buttons else []),
        *([] if computed is None else [computed]),
    ]


def kinds_of(state: LinkState) -> list[Instead]:
    """The replacements of the curves of a link, in the order of the buttons."""
    written = (state.curve or "").split(".")
    return [kind for kind in KINDS if kind in written]


def _with(state: LinkState, kinds: list[Instead]) -> str:
    return state.with_(curve=".".join(kind for kind in KINDS if kind in kinds) or None).href


def read_curves(served_store: ServedStore, corpus: Corpus, state: LinkState) -> tuple[list[Curve], list[NotIngested]]:
    """The curves of a link, measured now if they were not before, and why orders are missing; NotIngested without needed rules."""
    orders, missing = known_orders(corpus)
    kinds = kinds_of(state)
    if "rule" in kinds and "explained" in missing:
        raise missing["explained"]
    sampling, cache = sampling_of(served_store, corpus), current_cache()
    measure = measured_by(sampling, lambda watch: sample_as_it_is(sampling, watch))

    def kept(heads: Heads, instead: Instead, watch: Watch) -> CurvePoint:
        key = "point of a curve", tuple(heads), instead
        point: CurvePoint = cache.get(corpus, key, lambda: measure(heads, instead, watch))
        return point

    def measured() -> list[Curve]:
        with served_store.service(Measuring).entered():
            return measure_curves(orders, kinds, kept, current_job().watch)

    curves: list[Curve] = cache.get(corpus, ("curves", *kinds), measured)
    return curves, list(missing.values())


def curve_part(context: Context) -> list[object]:
    """Read the curves of a link, and draw them."""
    corpus, state = context.corpus, context.state
    curves, missing = read_curves(context.served_store, corpus, state)
    csv = file_href(data_link(corpus), "curve.csv", {"curve": state.curve or ""})
    unmade = [Unmade.of(error, context.ingest) for error in missing]
    return draw_curves(ShownCurves(curves, unmade, SENTENCES, csv))


CURVE = DeferredPart(
    "curve", "what changes with the number of heads", curve_part, ("curve",), CURVE_HEIGHT + 60, shape="box"
)


def draw_curves(shown: ShownCurves) -> list[object]:
    """The chart, and below it why the store does not know some orders."""
    return [
        *chart(
            curve_figure(shown.curves),
            name="curve-of-heads",
            caption="Colour: the order of the heads; dashes: what they do instead. ",
            label="Change of the sentence vectors, and order of their similarities, by the share of the heads that are replaced",
            of=f"over {many(shown.sentences, 'sentence')} at most",
            data=shown.csv,
            height=CURVE_HEIGHT,
        ),
        *map(unmade_line, shown.missing),
    ]


def curve_figure(curves: list[Curve]) -> go.Figure:
    """The change as a share of the distance between two sentences (above) and Spearman's correlation (below), a line for each curve."""
    lines = [trace for curve in curves for trace in _lines(curve)]
    across = {"title": "heads replaced", "tickformat": ".0%", "tickvals": list(SHARES), "anchor": "y2"}
    above = {"title": "share of the distance", **SHARE_AXIS, "domain": [0.54, 1]}
    drawn = layout(across, above, showlegend=True, margin={"l": 62, "r": 12, "t": 8, "b": 42})
    drawn["yaxis2"] = axis("Spearman", showgrid=True, domain=[0, 0.46])
    return go.Figure(lines, drawn)


def _lines(curve: Curve) -> list[Any]:
    """The lines of a curve in the upper and in the lower axes; the upper line has the entry in the legend."""
    name = f"{ORDER_TITLES[curve.order]}, {_KIND_TITLES[curve.instead]}"
    look: dict[str, Any] = {
        "mode": "lines+markers",
        "name": name,
        "legendgroup": name,
        "line": {"color": _COLOURS[curve.order], "dash": _DASHES[curve.instead], "width": 2},
        "marker": {"symbol": _SYMBOLS[curve.order], "size": 7},
        "x": list(SHARES),
        "customdata": [[point.heads, point.change, in_interval(point.low, point.high, 4)] for point in curve.points],
    }
    heads = f"{name}, %{{customdata[0]}} heads: "
    change = "%{y:.2%}<br>1 − cosine %{customdata[1]:.4f}%{customdata[2]}"
    upper = go.Scatter(y=_of(curve, "of_distance"), hovertemplate=f"{heads}{change}<extra></extra>", **look)
    lower = go.Scatter(
        y=_of(curve, "spearman"),
        yaxis="y2",
        showlegend=False,
        hovertemplate=f"{heads}%{{y:.3f}}<extra></extra>",
        **look,
    )
    return [upper, lower]


def _of(curve: Curve, name: str) -> list[float | None]:
    numbers = [float(getattr(point, name)) for point in curve.points]
    return [None if np.isnan(number) else number for number in numbers]


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the route of the file."""

    @server.get(f"{BASE}/curve.{FORM}")
    def curve(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        state = LinkState().with_(curve=LinkReader(dict(request.args), {}, []).read("curve"))
        if not kinds_of(state):
            abort(404, "This names no replacement. Give ?curve=rule, mean, even or off, or several with dots between.")
        curves, _ = read_curves(served_store, corpus, state)
        return file(iter([curve_table(curves)]), "curve", form)

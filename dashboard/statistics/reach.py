"""Section of page Statistics on what vectors are made of: by class of token (word, part of speech, dependency, position) and by label; and
after each layer by origin, by GlobEnc and beside it by rollout of attention weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.statistics.figures import Dots, class_dots, dots_height, label_lines, ratio_line
from dashboard.statistics.reach_data import (
    DRAWN,
    FIELDS,
    Reach,
    compared_labels,
    counted_part,
    kinds_of,
    read_reach,
    shown_labels,
)
from dashboard.statistics.sections import size_of_part
from dashboard.ui.charts import ISOLATES, NOTE, SHARES, chart, error_bars, layers_across, layout
from dashboard.ui.controls import action, choice, info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.files import Table
from dashboard.ui.glossary import defined, term
from dashboard.ui.markup import Unmade, file_href, scrolling, stacked_table, unmade_line
from dashboard.ui.text import QUERIES, decimal, in_brackets
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import Corpus
from store.mixing import LONGEST
from store.phrases import as_label, many
from store.reach import FEWEST, KINDS
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.mixing import METHODS, ORIGINS, TARGETS
from store.schema.model import BOUNDS

#: Caption of the contrast of labels where a filter keeps one label alone.
NO_LABEL = "Sentences of every label count here: the filter by label does not apply."
#: Anchor of the section of classes on page Statistics.
PLACE = "reach"
_REACH = defined(
    "reach",
    "Attention: the weight that the token gets from the vector's tokens, mean over heads and over the layers so far, over even attention.",
    f"Means over sentences of the mean over the tokens of a class; classes of fewer than {FEWEST} sentences are left out. Bars: 95% intervals "
    "by bootstrap over sentences; they ignore that the classes were chosen as the largest of all.",
)
_CONTRAST = (
    "Share of the vector that all tokens of a class make up, 0 in a sentence without it, mean over the sentences of a label; in points. Hollow: "
    "the same if every token counted alike, so what the number of its tokens alone explains. Drawn: the largest differences that are told apart "
    "by Welch's t test over sentences at 5% false discoveries among all classes (Benjamini and Hochberg 1995)."
)
_HIDDEN = (
    "Reach less attention, both over an even share. Listed: the largest differences on either side that a t test over sentences tells from 0 at 5% "
    "false discoveries among all classes. The example is the token nearest to the mean of its class."
)
#: Origin of a share -> its title on pages.
TITLES: Mapping[str, str] = dict(
    zip(ORIGINS, ("the token itself", "[CLS]", "[SEP]", "punctuation and symbols", "other words"), strict=True)
)
#: Anchor of the section of origins on page Statistics.
MADE_OF = "made-of"
_TITLE = "What a token's vector is made of"
_ABOUT = (
    "GlobEnc: the length of what each input token adds to a token's vector, with all heads, the residual connection and the layer norms, as "
    "a share of the sum of these lengths, multiplied up through the layers (Modarressi et al. 2022); the output of the feed-forward network "
    "is left out. Rollout takes attention weights alone and half of each layer for the token itself (Abnar and Zuidema 2020): in the tables "
    "of GlobEnc's authors its order of tokens disagrees with gradients (Spearman −0.24 on SST-2, GlobEnc 0.77). Bars are 95% intervals by "
    "bootstrap over sentences."
)
_FIGURES = {
    "globenc": "With norms and residuals (GlobEnc)",
    "rollout": "By attention weights alone (rollout)",
}
TOO_LONG = f"What arrives is counted in sentences of at most {LONGEST} wordpieces, and every one is longer."
Floats = NDArray[np.float64]


def reach_section(corpus: Corpus, state: LinkState, computed: html.Div) -> list[object]:
    """The section: title, number of tokens that count, controls, and `computed`, which is filled after the page is shown."""
    part = counted_part(corpus, state.where)
    counted = [] if part.whole else [html.P(size_of_part(corpus, part), className="caption")]
    controls = _controls(
        state, corpus.layers, kinds_of(corpus), shown_labels(corpus), compared_labels(corpus, state)[0]
    )
    shown: list[Any] = [
        "How much of a vector comes from each class of token, its ",
        term("reach"),
        ", beside the attention it gets.",
    ]
    title = html.H2("Which tokens a vector is made of", id=PLACE)
    return [title, html.P(shown, className="caption"), *counted, controls, computed]


def _controls(
    state: LinkState, layers: int, kinds: Mapping[str, str], labels: Sequence[str], compared: str
) -> html.Div:
    """Controls of the vector, the kind of class and the layer; with more than two labels also of the compared label."""
    after = {str(layer): f"L{layer}" for layer in range(layers)}
    chosen = layers - 1 if state.after is None else state.after
    controls: list[Any] = [
        choice("reached", "Vector", TARGETS, state.reached, 170, by="reach"),
        choice("reachedby", "By", kinds, state.reachedby, 150, by="reach"),
        choice("after", "After layer", after, str(chosen), 90, by="reach", of_data=True),
    ]
    if len(labels) > 2:
        names = {label: label for label in labels}
        controls.append(choice("labelled", "Label", names, compared, 140, by="reach", of_data=True))
    return html.Div(controls, className="controls")


def reach_part(context: Context) -> list[object]:
    """The figures and the table of the section of classes."""
    corpus, state = context.corpus, context.state
    try:
        return draw_reach(read_reach(corpus, state))
    except NotIngested as error:
        return [unmade_line(Unmade.of(error, context.ingest))]


def draw_reach(shown: Reach) -> list[object]:
    """The figures of classes and labels, one class by layer, and the table of what attention hides."""
    if shown.no_class:
        return [html.P(shown.no_class)]
    state = shown.state
    files = {
        "reached": state.reached,
        "reachedby": state.reachedby,
        "after": str(shown.layer),
        "where": state.where,
    }
    figures: list[Any] = [_largest(shown, files)]
    if shown.contrast is not None or shown.few:
        figures.append(_labels(shown, files))
    return [
        html.Div(figures, className="figures halves"),
        *([_by_layer(shown)] if shown.lines else []),
        *_hidden_table(shown),
    ]


def _of(shown: Reach) -> str:
    return f"{shown.target} after layer {shown.layer}"


def _counted(vector: str, counted: str) -> str:
    """A vector in words, and the number of tokens that filters keep."""
    return "; ".join(filter(None, (vector, counted)))


def _largest(shown: Reach, files: Mapping[str, str | None]) -> html.Div:
    own = shown.largest.isel(layer=0)
    low, high = own.reach_interval.values
    hover = [
        f"{as_label(str(name))}: {decimal(reach)} × even share (95%: {decimal(least)} to {decimal(most)}), "
        f"attention {decimal(received)}, {share:.1%} of the vector<br>{many(int(sentences), 'sentence')}"
        for name, reach, least, most, received, share, sentences in zip(
            own.category.values,
            own.reach.values,
            low,
            high,
            own.received.values,
            own.share.values,
            own.sentences.values,
            strict=True,
        )
    ]
    dots = Dots(
        _names(own, shown.state.reachedby),
        own.reach.values,
        own.reach_interval.values,
        own.received.values,
        hover,
        ("share of the vector", "attention"),
        "× even share",
        1.0,
    )
    title = html.H3(["Largest share for one token", info("the reach of a token", _REACH)])
    label = f"The classes that {_of(shown)} is made of most"
    of = f"{_counted(_of(shown), shown.counted)}; classes of at least {FEWEST} sentences"
    return _dots_figure(
        title, dots, name="reach-classes", label=label, of=of, csv=file_href(shown.files, "reach.csv", files)
    )


def _labels(shown: Reach, files: Mapping[str, str | None]) -> html.Div:
    label, other = shown.labels
    side, rest = map(as_label, shown.labels)
    title = html.H3([f"Share of the vector, {label} minus {other}", info("the difference between labels", _CONTRAST)])
    if shown.contrast is None or not shown.contrast.sizes["category"]:
        reason = shown.few or "No class is told apart between the labels."
        return html.Div([title, html.P(reason, className="caption")], className="figure")
    own = shown.contrast.isel(layer=0)
    low, high = 100 * own.share_difference_interval.values
    hover = [
        f"{as_label(str(name))}: {decimal(100 * value, 2, '+')} points (95%: {decimal(least)} to {decimal(most)}), "
        f"by its number alone {decimal(100 * even, 2, '+')}<br>{first:,} sentences {side}, {second:,} {rest}"
        for name, value, least, most, even, first, second in zip(
            own.category.values,
            own.share_difference.values,
            low,
            high,
            own.even_difference.values,
            own.own_sentences.values,
            own.rest_sentences.values,
            strict=True,
        )
    ]
    dots = Dots(
        _names(own, shown.state.reachedby),
        100 * own.share_difference.values,
        100 * own.share_difference_interval.values,
        100 * own.even_difference.values,
        hover,
        ("share of the vector", "by number of tokens alone"),
        "points",
        0.0,
    )
    csv = file_href(shown.files, "reach-labels.csv", {**files, "labelled": label, "where": shown.contrast_where})
    said, counted = f"Share of {_of(shown)}, {label} minus {other}", _counted(_of(shown), shown.contrast_counted)
    caption = NO_LABEL if shown.contrast_where != shown.state.where else ""
    return _dots_figure(title, dots, name="reach-labels", caption=caption, label=said, of=counted, csv=csv)


def _dots_figure(
    title: html.H3, dots: Dots, *, name: str, label: str, of: str, csv: str, caption: str = ""
) -> html.Div:
    drawn: list[Any] = chart(
        class_dots(dots), name=name, caption=caption, label=label, of=of, data=csv, height=dots_height(DRAWN)
    )
    return html.Div([title, *drawn], className="figure")


def _by_layer(shown: Reach) -> html.Div:
    assert shown.contrast is not None
    links = [
        part
        for name in map(str, shown.contrast.category.values[:DRAWN])
        for part in (
            ", ",
            html.Bdi(name) if name == shown.chosen else action(html.Bdi(name), _href(shown, name), look="link"),
        )
    ][1:]
    drawn: list[Any] = chart(
        label_lines(shown.lines),
        name="reach-layers",
        caption="Dotted: if every token counted alike.",
        label=f"Share of “{shown.chosen}” in {shown.target} by layer and label",
        of=_counted(shown.target, shown.contrast_counted),
        height=280,
    )
    title = html.H3(["From which layer on: ", html.Bdi(shown.chosen)])
    return html.Div([title, html.P(["Show: ", *links, "."], className="how-to-read"), *drawn], className="figure")


def _href(shown: Reach, name: str) -> str:
    return shown.state.with_(reachedclass=name).href


def _hidden_table(shown: Reach) -> list[object]:
    title = html.H3(["What attention hides", info("what attention hides", _HIDDEN)])
    if not shown.hidden:
        return [title, html.P("No class is told apart from the attention that it gets.", className="caption")]
    titles = (KINDS[shown.state.reachedby], "share", "attention", "difference", "95%", "sentences", "example")
    rows = [
        [
            html.Bdi(own.name),
            decimal(own.reach),
            decimal(own.received),
            decimal(own.reach - own.received, 2, "+"),
            f"{decimal(own.low)} to {decimal(own.high)}",
            f"{own.sentences:,}",
            dcc.Link("sentence", href=own.href) if own.href else "",
        ]
        for own in shown.hidden
    ]
    caption = f"Share of {_of(shown)} and attention, both over an even share: what attention hides first, what it overrates last."
    table = stacked_table(titles, rows, titles[1:-1])
    return [title, html.P(caption, className="caption"), scrolling(table, "What attention hides")]


def _names(own: xr.Dataset, kind: str) -> list[str]:
    return [
        as_label(f"{name}{in_brackets(name) if kind == 'relation' else ''}") for name in map(str, own.category.values)
    ]


#: The deferred section, with its height in a window of 1440 pixels, in a narrow one and in one of medium width.
REACH = DeferredPart("reach", "what vectors are made of", reach_part, FIELDS, 1340, 2110, middle=1860, shape="box")


@dataclass(frozen=True)
class Arrival:
    """Shares of a token's vector by origin.

    Attributes
    ----------
    shares, interval
        (approach, origin, layer) and (bound, approach, origin, layer), over the tokens of a source.
    source
        Kind of token that the shares are means over.
    sentences
        Number of sentences that are counted.
    csv
        URL of the numbers.
    """

    shares: xr.DataArray
    interval: xr.DataArray
    source: str
    sentences: int
    csv: str

    @property
    def last(self) -> Mapping[str, Mapping[str, float]]:
        """Shares after the last layer by approach and origin."""
        shares = self.shares.isel(layer=-1)
        return {
            str(name): dict(zip(ORIGINS, shares.sel(approach=name).values.tolist(), strict=True))
            for name in shares.approach.values
        }


def read_arrival(corpus: Corpus, source: str, running: IngestProgress | None) -> Arrival | Unmade:
    """Shares of the tokens of a source; of all tokens where the corpus has no token of this source."""
    try:
        mixing = corpus.mixing
    except NotIngested as error:
        return Unmade.of(error, running)
    if not mixing.attrs["counted_sentences"]:
        return Unmade(TOO_LONG, "Ingest sentences of fewer wordpieces (MAX_LENGTH).", running)
    every = mixing[["arrival", "arrival_interval"]].load()
    known = source if np.isfinite(every.arrival.sel(source=source)).all() else "all"
    own = every.sel(source=known)
    csv = file_href(data_link(corpus), "arrival.csv")
    return Arrival(own.arrival, own.arrival_interval, known, int(mixing.attrs["counted_sentences"]), csv)


def draw_arrival(shown: Arrival | Unmade) -> list[object]:
    """A sentence and two figures; where the store has no numbers, how to get them."""
    title = html.H2([_TITLE, info("what a token's vector is made of", _ABOUT)], id=MADE_OF)
    if isinstance(shown, Unmade):
        return [title, unmade_line(shown)]
    of = f"{QUERIES[shown.source]}, {many(shown.sentences, 'sentence')}"
    figures: list[Any] = [_drawn(shown, approach, of) for approach in _FIGURES]
    return [title, _finding(shown, of), html.Div(figures, className="figures halves")]


def _finding(shown: Arrival, of: str) -> html.P:
    share, rollout = shown.last["globenc"], shown.last["rollout"]
    own: list[Any] = [
        "After the last layer ",
        html.Strong(f"{share['self']:.0%} of a token's vector is still its own"),
        f", {share['word']:.0%} comes from other words",
    ]
    said = f"{METHODS['rollout'].title.capitalize()}, which ignores norms, says"
    if shown.source == "cls":  # shares from [CLS] are the token's own
        return html.P([*own, f" ({of}). {said} {rollout['self']:.0%} is its own."])
    from_first: list[Any] = [f" and {share['cls']:.0%} from ", term("special", "[CLS]")]
    return html.P([*own, *from_first, f" ({of}). {said} {rollout['cls']:.0%} from [CLS]."])


def _drawn(shown: Arrival, approach: str, of: str) -> html.Div:
    heading = _FIGURES[approach]
    label = f"{heading}: share by where it comes from, layer by layer"
    drawn: list[Any] = chart(
        _figure(shown, approach), name=f"arrival-{approach}", caption="", label=label, of=of, data=shown.csv
    )
    return html.Div([html.H3(heading), *drawn], className="figure")


def _figure(shown: Arrival, approach: str) -> go.Figure:
    """A line for each origin with a share above 0."""
    shares, interval = (each.sel(approach=approach) for each in (shown.shares, shown.interval))
    drawn = [origin for origin in ORIGINS if float(shares.sel(origin=origin).max()) > 0]
    traces = [
        _line(TITLES[origin], shares.sel(origin=origin).values, interval.sel(origin=origin).values, index)
        for index, origin in enumerate(drawn)
    ]
    below = {"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top", "font": {"size": NOTE}, **ISOLATES}
    shares_down = SHARES | {"range": [0, 1]}
    return go.Figure(traces, layout(layers_across(shares.sizes["layer"]), shares_down, showlegend=True, legend=below))


def _line(title: str, values: Floats, between: Floats, index: int) -> Any:
    line = ratio_line(title, values, index)
    return line.update(error_y=error_bars(values, between, line.line.color))


def arrival_table(arrival: xr.DataArray, interval: xr.DataArray) -> Table:
    """Table of shares (approach, origin, source, layer) and the ends of their intervals (bound, ...), a row each."""
    stacked = arrival.stack(row=("approach", "source", "layer", "origin"))
    names: Sequence[str] = ("approach", "source", "layer", "origin")
    ends = {bound: interval.sel(bound=bound).stack(row=names).values for bound in BOUNDS}
    return {**{name: stacked[name].values for name in names}, "share": stacked.values, **ends}

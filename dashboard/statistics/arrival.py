"""What tokens' vectors are made of after each layer: by GlobEnc, and by rollout of attention weights beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from dash import html
from numpy.typing import NDArray

from dashboard.statistics.figures import ratio_line
from dashboard.ui.charts import ISOLATES, NOTE, SHARES, chart, error_bars, layers_across, layout
from dashboard.ui.controls import info
from dashboard.ui.files import Table
from dashboard.ui.glossary import term
from dashboard.ui.markup import Unmade, file_href, unmade_line
from dashboard.ui.text import QUERIES
from dashboard.web.http import data_link
from store import Corpus
from store.mixing import LONGEST
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.mixing import METHODS, ORIGINS
from store.schema.model import BOUNDS

#: Where a share comes from, as pages say it.
TITLES: Mapping[str, str] = dict(
    zip(ORIGINS, ("the token itself", "[CLS]", "[SEP]", "punctuation and symbols", "other words"), strict=True)
)
#: Where the section is on page Statistics.
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


@dataclass(frozen=True)
class Arrival:
    """Shares of what arrives.

    Attributes
    ----------
    shares, interval
        (approach, origin, layer) and (bound, approach, origin, layer), over the tokens of a source.
    source
        Which tokens.
    sentences
        How many sentences they are of.
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
    """The shares of the tokens of a source; of all tokens where the corpus has none of these."""
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
    """A sentence and two figures; how to get the numbers where the store has none."""
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
    if shown.source == "cls":  # what comes from [CLS] is its own
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
    """A line for each origin that there is."""
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
    """Shares (approach, origin, source, layer) with the ends of their intervals (bound, ...), a row each."""
    stacked = arrival.stack(row=("approach", "source", "layer", "origin"))
    names: Sequence[str] = ("approach", "source", "layer", "origin")
    ends = {bound: interval.sel(bound=bound).stack(row=names).values for bound in BOUNDS}
    return {**{name: stacked[name].values for name in names}, "share": stacked.values, **ends}

"""How much the features of tokens are mixed: the five ratios by layer, by the kind of token, and f's expansion rate."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from dash import html
from numpy.typing import NDArray

from dashboard.statistics.definitions import ROWS
from dashboard.statistics.expansion import expansion
from dashboard.statistics.mixing_figure import mixing
from dashboard.ui.charts import chart
from dashboard.ui.file_links import file_href
from dashboard.web.view import Place
from store.schema.model import RATIOS

#: The ratio that counts all there is in the attention block.
WHOLE = "attnresln_n"
#: Kobayashi's names of the ratios.
_NAMES = {
    "attn_w": "Attn-W",
    "attnres_w": "AttnRes-W",
    "attn_n": "Attn-N",
    "attnres_n": "AttnRes-N",
    "attnresln_n": "AttnResLn-N",
}
#: Source -> its kind of token. All but [SEP] is no kind.
_KINDS = {"all": "all", "cls": "[CLS]", "sep": "[SEP]", "punctuation": ". or ,", "word": "words"}


def mixing_figures(place: Place, found: xr.DataArray) -> list[object]:
    """Three figures of mixing ratios (source, ratio, layer), and what the ratios are."""
    ratios = ratio_lines(found, place.address.source)
    kinds = {kind: found.sel(source=name, ratio=WHOLE).values for name, kind in _KINDS.items()}
    rate = expansion(place.corpus.expansion_rate.values)
    data, rates = file_href(place, "mixing.csv", {"where": place.address.where}), file_href(place, "expansion.csv")
    five = f"Five ratios, {ROWS[place.address.source]}"
    figures = [
        _figure(five, mixing(ratios), of="mixing", label="Mixing ratios by layer", data=data),
        _figure(
            "Mixing ratio by token type",
            mixing(kinds),
            of="mixing-kinds",
            label="Mixing ratio by token type",
            data=data,
        ),
        _figure(
            "Expansion rate of f, from the weights",
            rate,
            of="expansion",
            label="Expansion rate of f by layer",
            data=rates,
        ),
    ]
    return [html.Div(figures, className="figures"), _meanings()]


def ratio_lines(found: xr.DataArray, source: str) -> dict[str, NDArray[np.float64]]:
    """Every ratio (source, ratio, layer) by its name, over the rows of some tokens: (layer)."""
    return {_NAMES[name]: found.sel(source=source, ratio=name).values for name in RATIOS}


def _figure(title: str, drawn: go.Figure, *, of: str, label: str, data: str) -> html.Div:
    return html.Div([html.H3(title), *chart(drawn, of=of, says="", label=label, data=data)], className="figure")


def _meanings() -> html.Details:
    rows = [html.Tr([html.Th(_NAMES[name]), html.Td(one.title), html.Td(one.formula)]) for name, one in RATIOS.items()]
    said = html.P(
        "The share of a token's new vector that comes from other tokens; the rest is its own (Kobayashi et al. 2021, section 3). "
        "Expansion rate: by how much f lengthens vectors on average, root of the mean squared singular value of its affine map.",
        className="caption",
    )
    return html.Details([html.Summary("What the ratios are"), said, html.Table(html.Tbody(rows), className="rows")])

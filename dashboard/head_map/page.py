"""Page Head map: heads near each other where they attend alike (Figure 6 of Clark et al. 2019), their divergences, the nearest of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
import numpy as np
import plotly.graph_objects as go
from dash import dcc, html
from flask import Flask, Response
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from dashboard.roles.shares import RoleShares, described, groups_by_kind, known_shares, summary
from dashboard.statistics.data import head_columns, hover_texts, values_of
from dashboard.statistics.heads import (
    Nearest,
    about_divergence,
    divergence_info,
    divergence_sample,
    head_label,
    label_of,
    mean_divergence,
    nearest,
    read_nearest,
)
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.charts import (
    NOTE,
    QUIET,
    RAMP,
    SERIES,
    STEPS,
    DotGroup,
    chart,
    colour_bar_above,
    dot_groups,
    every,
    layout,
    names,
    square,
)
from dashboard.ui.controls import choice, explained, head_choices, info, statistic_info
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.glossary import defined
from dashboard.ui.markup import Page, Unmade, file_href, file_links
from dashboard.ui.text import unit_title
from dashboard.ui.theme import LABEL_COLOURS
from dashboard.web.context import Context
from dashboard.web.http import BASE, corpus_of, data_link
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.kernels.heads import LABELS, clustered_order
from store.repository.errors import NotIngested
from store.schema.model import head_name, varying_statistics

#: Pixels of a dot with a category.
LARGE = 13
#: Most heads whose names fit on an axis of the matrix.
NAMED = 24
#: Lines around the selected head: seen on the darkest and on the lightest cell.
MARKED = SERIES[1]
#: Pixels from the middle of the selected dot to its ring.
RING = 10
Floats = NDArray[np.float64]
Texts = list[list[str]]
NO_LABELS = "No head passes a threshold, so all are unlabelled. Colour by layer or by a statistic."
_SCALING = defined(
    "divergence",
    "Metric multidimensional scaling of it, seed {seed}; stress {stress:.3f} (0 is faithful, above 0.2 is poor); equal axis scales. "
    "After Figure 6 of Clark et al. 2019. ",
)
_ORDER = "Similar heads are placed side by side (hierarchical clustering: average linkage, optimal leaf ordering)."


def by_number(places: Floats, values: Floats, hover: Texts, title: str, chosen: tuple[int, int]) -> go.Figure:
    """Dots at (layer, head, component) coloured by numbers (layer, head)."""
    marker = _filled(values) | {"colorscale": RAMP, "colorbar": colour_bar_above(title)}
    return _figure_of_map([_dots(places, hover, np.ones(values.size, bool), marker, "")], places, chosen)


def by_layer(places: Floats, hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    """Dots at (layer, head, component), each layer with a step of one ordered scale."""
    layers, heads = places.shape[:2]
    ticks = list(range(0, layers, every(layers)))
    bar = colour_bar_above("layer") | {"tickvals": ticks, "ticktext": [f"L{layer}" for layer in ticks]}
    bands = {"colorscale": _bands(layers), "cmin": -0.5, "cmax": layers - 0.5, "colorbar": bar}
    marker = _filled(np.repeat(np.arange(layers, dtype=float), heads)) | bands
    return _figure_of_map([_dots(places, hover, np.ones(layers * heads, bool), marker, "")], places, chosen)


def _bands(count: int) -> list[tuple[float, str]]:
    """A colour scale of so many even steps, without a transition between them."""
    colours = sample_colorscale(list(STEPS), np.linspace(0, 1, count) if count > 1 else [0.5])
    return [(edge / count, colour) for step, colour in enumerate(colours) for edge in (step, step + 1)]


def _filled(values: Floats) -> dict[str, Any]:
    return {"size": LARGE, "color": values.ravel(), "line": {"color": QUIET, "width": 1}}


def by_label(places: Floats, labels: NDArray[np.str_], hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    """Dots with the colour and symbol of their label (layer, head); unlabelled ones are small and grey."""
    titles = {label: label for label in LABELS}
    groups = dot_groups(labels, titles, LABEL_COLOURS, size=LARGE, without="unlabelled")
    return _by_group(places, groups, hover, chosen)


def by_role(places: Floats, shares: RoleShares, chosen: tuple[int, int]) -> go.Figure:
    """Dots with the colour and symbol of the kind of their clearest role; those without one are small and grey."""
    layers, heads = shares.clearest.shape
    hover = [[summary(shares, layer, head) for head in range(heads)] for layer in range(layers)]
    return _by_group(places, groups_by_kind(shares, LARGE), hover, chosen)


def _by_group(places: Floats, groups: Sequence[DotGroup], hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    traces = [_dots(places, hover, group.heads.ravel(), group.marker, group.title) for group in groups]
    return _figure_of_map(traces, places, chosen).update_layout(showlegend=True)


def _dots(places: Floats, hover: Texts, which: NDArray[np.bool_], marker: dict[str, Any], name: str) -> Any:
    heads = [head for row in names(*places.shape[:2]) for head in row]
    texts = [text for row in hover for text in row]
    x, y = places.reshape(-1, places.shape[-1])[which].T[:2]
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        marker=marker,
        name=name,
        customdata=[head for head, shown in zip(heads, which, strict=True) if shown],
        text=[text for text, shown in zip(texts, which, strict=True) if shown],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )


def _figure_of_map(traces: list[Any], places: Floats, chosen: tuple[int, int]) -> go.Figure:
    """Equal axis scales; the axes have no meaning, so they have no numbers. Where few dots are shown, they stay in their places."""
    flat = places.reshape(-1, places.shape[-1])[:, :2]
    across, down = (
        {"showticklabels": False, "ticks": "", "autorangeoptions": {"include": [float(low), float(high)]}}
        for low, high in zip(flat.min(axis=0), flat.max(axis=0), strict=True)
    )
    figure = go.Figure(traces, layout(across, down, margin={"l": 8, "r": 8, "t": 30, "b": 8}))
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    x, y = places[chosen][:2]
    name = names(*places.shape[:2])[chosen[0]][chosen[1]]
    around = {"x0": -RING, "x1": RING, "y0": -RING, "y1": RING}
    figure.add_shape(
        type="circle", xsizemode="pixel", ysizemode="pixel", xanchor=x, yanchor=y, **around, line={"width": 2}
    )
    figure.add_annotation(x=x, y=y, text=f"<b>{name}</b>", showarrow=False, yshift=RING + 10)
    return figure


def divergence_matrix(divergence: Floats, heads: Sequence[str], chosen: str) -> go.Figure:
    """Mean divergences (head, head) in nats, named in their order; 0 has the most contrast. The chosen head is framed."""
    heat: Any = go.Heatmap(
        z=divergence.astype(np.float32),
        x=list(heads),
        y=list(heads),
        colorscale=RAMP,
        reversescale=True,
        zmin=0,
        colorbar=colour_bar_above("nats per token"),
        hovertemplate="%{y} and %{x}: %{z:.3f} nats<extra></extra>",
    )
    place = heads.index(chosen)
    ticks = {"tickvals": _named_on_axis(heads, place), "tickfont": {"size": NOTE}}
    named = {"type": "category", "title": "layer and head", **ticks}
    margin = {"l": 54, "r": 4, "t": 8, "b": 54}
    down = named | {"autorange": "reversed"}
    figure = square(go.Figure(heat, layout(named | {"tickangle": -90}, down, margin=margin)))
    _frame(figure, place, len(heads))
    return figure.update_yaxes(constraintoward="top")


def _named_on_axis(heads: Sequence[str], chosen: int) -> list[str]:
    """As many heads as fit, and the chosen one instead of its neighbours."""
    step = every(len(heads), NAMED)
    return [name for at, name in enumerate(heads) if at == chosen or (at % step == 0 and abs(at - chosen) >= step)]


def _frame(figure: go.Figure, chosen: int, heads: int) -> None:
    """Lines around the row and the column of the chosen head."""
    own = {"0": chosen - 0.5, "1": chosen + 0.5}
    whole = {"0": -0.5, "1": heads - 0.5}
    for across, down in ((whole, own), (own, whole)):
        ends = {f"x{end}": at for end, at in across.items()} | {f"y{end}": at for end, at in down.items()}
        figure.add_shape(type="rect", **ends, fillcolor="rgba(0,0,0,0)", line={"color": MARKED, "width": 1.5})


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    tables = {"divergence": _divergence_table, "map": _map_table}

    @server.get(f"{BASE}/<any({', '.join(tables)}):what>.{FORM}")
    def file_of_heads(snapshot: str, model: str, what: str, form: str) -> Response:
        return file(iter([tables[what](corpus_of(served_store, snapshot, model))]), what, form)


def _divergence_table(corpus: Corpus) -> Table:
    """Each two heads with their mean Jensen-Shannon divergence, in nats per token."""
    count = corpus.layers * corpus.heads
    heads = head_columns(corpus.layers, corpus.heads)
    first, second = np.triu_indices(count, 1)
    return {
        **{name: column[first] for name, column in heads.items()},
        **{f"other_{name}": column[second] for name, column in heads.items()},
        "divergence": mean_divergence(corpus).reshape(count, count)[first, second],
    }


def _map_table(corpus: Corpus) -> Table:
    """Where every head is on the map."""
    places, shares = corpus.divergence["place"].values.reshape(corpus.layers * corpus.heads, -1), known_shares(corpus)
    return {
        **head_columns(corpus.layers, corpus.heads),
        "label": corpus.head_labels.values.astype(object).ravel(),
        **({"roles": shares.wording.astype(object).ravel()} if shares else {}),
        **dict(zip("xyz", places.T, strict=False)),
    }


@dataclass(frozen=True)
class HeadMap:
    """What the page shows of a model with a map.

    Attributes
    ----------
    divergences
        Of every two heads: (layer, head, layer, head) in nats.
    places, labels, numbers
        The place of every head on the map: (layer, head, axis), its label, and the statistic that colours it: (layer, head);
        None where none does.
    shares
        What every head does; None of a store without roles.
    order
        Heads, numbered through all layers, so that similar ones stand together.
    scaling, sample, about
        In words: how the map was made, what divergences are means over, and what they are.
    label
        Of the selected head.
    files
        The beginning of the URLs of the corpus' files.
    """

    state: LinkState
    divergences: NDArray[np.float64]
    places: NDArray[np.float64]
    labels: NDArray[np.str_]
    shares: RoleShares | None
    numbers: NDArray[np.float64] | None
    order: list[int]
    scaling: str
    sample: str
    about: str
    label: str
    nearest: Nearest | Unmade
    files: str


@dataclass(frozen=True)
class NoMap:
    """A model without a map: how many heads it has, and how to get a map; None where one head can have none."""

    heads: int
    unmade: Unmade | None


def read(context: Context) -> HeadMap | NoMap:
    """Everything that the page shows."""
    corpus, state = context.corpus, context.state
    heads = corpus.layers * corpus.heads
    if heads < 2:
        return NoMap(heads, None)
    try:
        divergences = mean_divergence(corpus)
    except NotIngested as error:
        return NoMap(heads, Unmade.of(error, context.ingest))
    attributes, sample = corpus.divergence.attrs, divergence_sample(corpus)
    is_number = state.paint not in ("label", "layer", "role")
    return HeadMap(
        state=state,
        divergences=divergences,
        places=corpus.divergence["place"].values,
        labels=corpus.head_labels.values,
        shares=known_shares(corpus),
        numbers=values_of(corpus.head_statistic, state.paint, "all") if is_number else None,
        order=_clustered(corpus),
        scaling=_SCALING.format(seed=attributes["seed"], stress=float(attributes["stress"])) + sample,
        sample=sample,
        about=about_divergence(corpus),
        label=label_of(corpus, state.layer, state.head),
        nearest=read_nearest(corpus, state.layer, state.head, context.ingest),
        files=data_link(corpus),
    )


def draw(shown: HeadMap | NoMap) -> Page:
    """The page; where there is no map, how to get one."""
    if isinstance(shown, NoMap):
        return Page(above=[html.H1(_title(shown.heads)), _how_to_get(shown)])
    layers, heads = shown.labels.shape
    how_to_read = "Each dot is a head; nearby heads attend alike; the axes have no meaning."
    return Page(
        above=[
            html.H1(_title(layers * heads)),
            html.P([how_to_read, info("the map of heads", shown.scaling)], className="how-to-read"),
            html.Div(
                [
                    _colour_choice(shown.state.paint, roles=shown.shares is not None),
                    *head_choices(shown.state, layers, heads),
                ],
                className="controls",
            ),
            html.Div(
                [
                    html.Div(_map(shown)),
                    html.Div(_selected_head(shown), className="selected-head"),
                    html.Div([html.H2(["Divergence between heads", divergence_info(shown.about)]), *_matrix(shown)]),
                ],
                className="split",
            ),
        ]
    )


def _title(heads: int) -> str:
    return f"Map of all {heads} heads"


def _how_to_get(shown: NoMap) -> dmc.Alert:
    if shown.unmade is None:
        message: list[object] = ["The model has one head, and a map needs two. Ingest a model with more heads."]
    else:
        message = shown.unmade.text
    return dmc.Alert(message, color="blue", variant="light")


def _colour_choice(paint: str, *, roles: bool) -> object:
    named = {"layer": "layer", **({"role": "clearest role"} if roles else {}), "label": "label"}
    ways = named | {name: STATISTICS[name].title for name in varying_statistics("all")}
    control = choice("paint", "Colour", ways, paint, 230)
    return explained(control, statistic_info(paint)) if paint in STATISTICS else control


def _map(shown: HeadMap) -> list[object]:
    paint, (layers, heads) = shown.state.paint, shown.labels.shape
    labelled = paint != "label" or (shown.labels != "").any()
    return [
        *([] if labelled else [html.P(NO_LABELS, className="caption")]),
        *chart(
            _coloured(shown),
            name="head-map",
            caption="Click a dot to select its head. ",
            label=f"Map of {layers} by {heads} heads, coloured by {paint}",
            of=shown.sample,
            data=file_href(shown.files, "map.csv"),
            height=560,
            opens=True,
            turns=True,
        ),
    ]


def _coloured(shown: HeadMap) -> go.Figure:
    """The map in the colours of the link."""
    paint, chosen, labels = shown.state.paint, (shown.state.layer, shown.state.head), shown.labels
    if shown.numbers is not None:
        unit = STATISTICS[paint].unit
        texts = hover_texts(shown.numbers, unit, None)
        return by_number(shown.places, shown.numbers, texts, unit_title(unit), chosen)
    if paint == "role" and shown.shares is not None:
        return by_role(shown.places, shown.shares, chosen)
    if paint == "label":
        texts = [[str(label) or "unlabelled" for label in row] for row in labels]
        return by_label(shown.places, labels, texts, chosen)
    texts = [[f"layer {layer}, {label or 'unlabelled'}" for label in row] for layer, row in enumerate(labels)]
    return by_layer(shown.places, texts, chosen)


def _matrix(shown: HeadMap) -> list[object]:
    layers, heads = shown.labels.shape
    matrix = shown.divergences.reshape(layers * heads, layers * heads)[np.ix_(shown.order, shown.order)]
    names = [head_name(*divmod(head, heads)) for head in shown.order]
    chosen = head_name(shown.state.layer, shown.state.head)
    about = f"{_ORDER} Lines frame the selected head."
    return [
        *chart(
            divergence_matrix(matrix, names, chosen),
            name="matrix",
            caption=[
                "Click a cell to select that row's head.",
                info("the matrix", about),
                " ",
            ],
            label=f"Divergence of every two of {layers * heads} heads; lines frame {chosen}",
            of=shown.sample,
            height=620,
            opens=True,
            turns=True,
        ),
        file_links(shown.files, "All divergences", "divergence"),
    ]


@cached
def _clustered(corpus: Corpus) -> list[int]:
    """Heads, numbered through all layers, in an order that puts similar ones together."""
    return [int(head) for head in clustered_order(mean_divergence(corpus))]


def _selected_head(shown: HeadMap) -> list[object]:
    """What stands beside the map. A row of the list selects a head, too."""
    return [
        html.H2(head_name(shown.state.layer, shown.state.head)),
        html.P(f"{described(shown.shares, shown.state.layer, shown.state.head)}." if shown.shares else None),
        html.P(head_label(shown.label)),
        html.Ul(
            [html.Li(dcc.Link(text, href=href)) for text, href in _links_of_head(shown.state).items()],
            className="links-of-head",
        ),
        *nearest(shown.state, shown.nearest),
    ]


def _links_of_head(state: LinkState) -> dict[str, str]:
    head = state.on("head")
    return {
        "Open the head": head.href,
        "Highest-scoring pairs": head.with_(tab="pairs").href,
        "Attention in a sentence": state.on("sentence").with_(heads=str(state.head)).href,
    }


HEAD_MAP = Topic(
    name="map",
    title="Head map",
    letter="m",
    docs="pictures.md#head-map",
    layout=read_then_draw(read, draw),
    routes=(register,),
)

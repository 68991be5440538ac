"""Page Head map: heads near each other where they attend alike, the divergences behind it, and the nearest of one head."""

import dash_mantine_components as dmc
import numpy as np
import plotly.graph_objects as go
from dash import dcc, html

from dashboard.head_map.figures import by_label, by_layer, by_number, divergence_matrix
from dashboard.head_map.routes import register
from dashboard.statistics.data import hover_texts, values_of
from dashboard.statistics.divergence import divergence_info, divergence_sample, mean_divergence, nearest
from dashboard.statistics.head_label import head_label
from dashboard.topic import Topic
from dashboard.ui.charts import chart
from dashboard.ui.controls import choice, explained, head_choices, info, statistic_info
from dashboard.ui.page import Page
from dashboard.ui.progress import unmade_of
from dashboard.ui.tables import file_href, file_links
from dashboard.ui.text import unit_title
from dashboard.web.cache import cached
from dashboard.web.context import Context
from store import STATISTICS, Corpus
from store.kernels.labels import clustered_order
from store.repository.errors import NotIngested
from store.schema.model import head_name, varying_statistics

NO_LABELS = "No head passes a threshold, so all are unlabelled. Colour by layer or by a statistic."
_SCALING = (
    "Metric multidimensional scaling of the mean Jensen-Shannon divergence, seed {seed}; stress {stress:.3f} (0 is "
    "faithful, above 0.2 is poor); equal axis scales. After Figure 6 of Clark et al. 2019. "
)
_ORDER = "Heads in the order of average linkage with optimal leaf ordering, so that similar ones stand together."


def layout(context: Context) -> Page:
    """The page for a context; where there is no map, how to get one."""
    corpus = context.corpus
    title = f"Map of all {corpus.layers * corpus.heads} heads"
    if corpus.layers * corpus.heads < 2:
        return _without(title, ["The model has one head, and a map needs two. Ingest a model with more heads."])
    try:
        mean_divergence(corpus)
    except NotIngested as error:
        return _without(title, unmade_of(context, error))
    how_to_read = "Each dot is a head; nearby heads attend alike; the axes have no meaning."
    return Page(
        above=[
            html.H1(title),
            html.P([how_to_read, _scaling_info(context)], className="how-to-read"),
            html.Div([_colour_choice(context), *head_choices(context)], className="controls"),
            html.Div(
                [
                    html.Div(_map(context)),
                    html.Div(_selected_head(context), className="selected-head"),
                    html.Div([html.H2(["Divergence between heads", divergence_info(corpus)]), *_matrix(context)]),
                ],
                className="split",
            ),
        ]
    )


def _without(title: str, message: list[object]) -> Page:
    return Page(above=[html.H1(title), dmc.Alert(message, color="blue", variant="light")])


def _scaling_info(context: Context) -> html.Button:
    attributes = context.corpus.divergence.attrs
    scaling = _SCALING.format(seed=attributes["seed"], stress=float(attributes["stress"]))
    return info("the map of heads", scaling + divergence_sample(context.corpus))


def _colour_choice(context: Context) -> object:
    paint = context.state.paint
    ways = {"layer": "layer", "label": "label"} | {name: STATISTICS[name].title for name in varying_statistics("all")}
    control = choice("paint", "Colour", ways, paint, 230)
    return explained(control, statistic_info(paint)) if paint in STATISTICS else control


def _map(context: Context) -> list[object]:
    corpus, state = context.corpus, context.state
    labelled = state.paint != "label" or (corpus.head_labels.values != "").any()
    return [
        *([] if labelled else [html.P(NO_LABELS, className="caption")]),
        *chart(
            _coloured(context),
            name="head-map",
            caption="Click a dot to select its head. ",
            label=f"Map of {corpus.layers} by {corpus.heads} heads, coloured by {state.paint}",
            of=divergence_sample(corpus),
            data=file_href(context, "map.csv"),
            height=560,
            opens=True,
            turns=True,
        ),
    ]


def _coloured(context: Context) -> go.Figure:
    """The map in the colours of the link."""
    corpus, state = context.corpus, context.state
    points, chosen = corpus.divergence["place"].values, (state.layer, state.head)
    labels = corpus.head_labels.values
    if state.paint == "label":
        texts = [[str(label) or "unlabelled" for label in row] for row in labels]
        return by_label(points, labels, texts, chosen)
    if state.paint == "layer":
        texts = [[f"layer {layer}, {label or 'unlabelled'}" for label in row] for layer, row in enumerate(labels)]
        return by_layer(points, texts, chosen)
    unit = STATISTICS[state.paint].unit
    values = values_of(corpus.head_statistic, state.paint, "all")
    return by_number(points, values, hover_texts(values, unit, None), unit_title(unit), chosen)


def _matrix(context: Context) -> list[object]:
    corpus = context.corpus
    order = _clustered(corpus)
    heads = corpus.layers * corpus.heads
    matrix = mean_divergence(corpus).reshape(heads, heads)[np.ix_(order, order)]
    names = [head_name(*divmod(head, corpus.heads)) for head in order]
    chosen = head_name(context.state.layer, context.state.head)
    about = f"{_ORDER} Lines frame the selected head."
    return [
        *chart(
            divergence_matrix(matrix, names, chosen),
            name="matrix",
            caption=[
                "Click a cell to select the head of its row.",
                info("the matrix", about),
                " ",
            ],
            label=f"Divergence of every two of {heads} heads; lines frame {chosen}",
            of=divergence_sample(corpus),
            height=620,
            opens=True,
            turns=True,
        ),
        file_links(context, "All divergences", "divergence"),
    ]


@cached
def _clustered(corpus: Corpus) -> list[int]:
    """Heads, numbered through all layers, in an order that puts similar ones together."""
    return [int(head) for head in clustered_order(mean_divergence(corpus))]


def _selected_head(context: Context) -> list[object]:
    """What stands beside the map. A row of the list selects a head, too."""
    name = head_name(context.state.layer, context.state.head)
    return [
        html.H2(name),
        html.P(head_label(context)),
        html.Ul(
            [html.Li(dcc.Link(text, href=href)) for text, href in _links_of_head(context).items()],
            className="links-of-head",
        ),
        *nearest(context),
    ]


def _links_of_head(context: Context) -> dict[str, str]:
    state = context.state
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
    layout=layout,
    routes=(register,),
)

"""Page Head map: heads near each other where they attend alike (Clark et al. 2019, Figure 6), divergences, the nearest heads of one."""

from dataclasses import dataclass

import dash_mantine_components as dmc
import numpy as np
import plotly.graph_objects as go
from dash import dcc, html
from flask import Flask, Response
from numpy.typing import NDArray

from dashboard.head_map.clusters import ABOUT, HeadCluster, head_clusters
from dashboard.head_map.figures import by_label, by_layer, by_number, by_role, divergence_matrix, with_clusters
from dashboard.roles.shares import RoleShares, described, known_shares
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
    chart,
)
from dashboard.ui.controls import choice, explained, head_choices, info, statistic_info
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.glossary import defined
from dashboard.ui.markup import Page, Unmade, file_href, file_links
from dashboard.ui.text import unit_title
from dashboard.web.context import Context
from dashboard.web.http import BASE, corpus_of, data_link
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.kernels.heads import clustered_order
from store.repository.errors import NotIngested
from store.schema.model import head_name, varying_statistics

NO_LABELS = "No head passes a threshold, so all are unlabelled. Colour by layer or by a statistic."
_SCALING = defined(
    "divergence",
    "Metric multidimensional scaling of it, seed {seed}; stress {stress:.3f} (0 is faithful, above 0.2 is poor); equal axis scales. "
    "After Figure 6 of Clark et al. 2019. ",
)
_ORDER = "Similar heads are placed side by side (hierarchical clustering: average linkage, optimal leaf ordering)."


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    tables = {"divergence": _divergence_table, "map": _map_table}

    @server.get(f"{BASE}/<any({', '.join(tables)}):what>.{FORM}")
    def file_of_heads(snapshot: str, model: str, what: str, form: str) -> Response:
        return file(iter([tables[what](corpus_of(served_store, snapshot, model))]), what, form)


def _divergence_table(corpus: Corpus) -> Table:
    """A row for every two heads with their mean Jensen-Shannon divergence, in nats per token."""
    count = corpus.layers * corpus.heads
    heads = head_columns(corpus.layers, corpus.heads)
    first, second = np.triu_indices(count, 1)
    return {
        **{name: column[first] for name, column in heads.items()},
        **{f"other_{name}": column[second] for name, column in heads.items()},
        "divergence": mean_divergence(corpus).reshape(count, count)[first, second],
    }


def _map_table(corpus: Corpus) -> Table:
    """A row for every head: its place on the map, its label and its roles."""
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
        Divergence of every two heads: (layer, head, layer, head) in nats.
    places, labels, numbers
        The place of every head on the map: (layer, head, axis), its label, and the statistic that colours it: (layer, head);
        None where no statistic does.
    shares
        Roles of every head; None for a store without roles.
    clusters
        Dots that lie together, with what sets them apart.
    order
        Heads, numbered through all layers, in an order that puts similar heads together.
    scaling, sample, about
        Texts: how the map was made, over which sentences divergences are means, and what a divergence is.
    label
        Label of the selected head.
    files
        The beginning of the URLs of the corpus' files.
    """

    state: LinkState
    divergences: NDArray[np.float64]
    places: NDArray[np.float64]
    labels: NDArray[np.str_]
    shares: RoleShares | None
    numbers: NDArray[np.float64] | None
    clusters: list[HeadCluster]
    order: list[int]
    scaling: str
    sample: str
    about: str
    label: str
    nearest: Nearest | Unmade
    files: str

    @property
    def paint(self) -> str:
        """Colouring of the map: as in the link, but by layer where the link has roles and the store has none."""
        return "layer" if self.state.paint == "role" and self.shares is None else self.state.paint


@dataclass(frozen=True)
class NoMap:
    """A model without a map: how many heads it has, and how to get a map; None for a single head, which has no map."""

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
        clusters=head_clusters(corpus),
        order=_clustered(corpus),
        scaling=_SCALING.format(seed=attributes["seed"], stress=float(attributes["stress"])) + sample,
        sample=sample,
        about=about_divergence(corpus),
        label=label_of(corpus, state.layer, state.head),
        nearest=read_nearest(corpus, state.layer, state.head, context.ingest),
        files=data_link(corpus),
    )


def draw(shown: HeadMap | NoMap) -> Page:
    """The page; without a map, how to get one."""
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
                    _colour_choice(shown.paint, roles=shown.shares is not None),
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
    return f"Map of all {heads} heads" if heads > 1 else "Map of the head"


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
    paint, (layers, heads) = shown.paint, shown.labels.shape
    labelled = paint != "label" or (shown.labels != "").any()
    return [
        *([] if labelled else [html.P(NO_LABELS, className="caption")]),
        *chart(
            _figure(shown),
            name="head-map",
            caption=[
                "Outlined groups are named by what their heads attend to. Click a dot to select its head.",
                info("the outlined groups", ABOUT),
                " ",
            ],
            label=f"Map of {layers} by {heads} heads, coloured by {paint}",
            of=shown.sample,
            data=file_href(shown.files, "map.csv"),
            height=560,
            opens=True,
            turns=True,
        ),
    ]


def _figure(shown: HeadMap) -> go.Figure:
    """The map in the colours of the link, with its clusters."""
    return with_clusters(_coloured(shown), shown.places, shown.clusters, (shown.state.layer, shown.state.head))


def _coloured(shown: HeadMap) -> go.Figure:
    paint, chosen, labels = shown.paint, (shown.state.layer, shown.state.head), shown.labels
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
    """Heads, numbered through all layers, in an order that puts similar heads together."""
    return [int(head) for head in clustered_order(mean_divergence(corpus))]


def _selected_head(shown: HeadMap) -> list[object]:
    """The selected head, beside the map. A row of its list selects a head, too."""
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

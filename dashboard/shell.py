"""What surrounds every page: header, navigation, notices."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.address import Address
from dashboard.compare import choices as comparison
from dashboard.features import shown as features
from dashboard.model_names import model_names
from dashboard.panels import tab_of
from dashboard.pictures.point_panels import PointPanels
from dashboard.place import MAX_QUERY, Place
from dashboard.problems import sentence_for
from dashboard.sentence import search as finder
from dashboard.sentence.views import SentenceViews
from dashboard.theme import MANTINE
from store import Snapshot

TITLES = {
    "heads": "Heads",
    "head": "Head",
    "statistics": "Statistics",
    "map": "Head map",
    "features": "Features",
    "sentence": "Sentence",
    "compare": "Compare",
    "about": "About this store",
}
#: Pages whose controls stand at more than the link says.
CHOICES = {"features": features.choices, "compare": comparison.choices, "sentence": finder.choices}
#: How often an open tab asks whether something newer has been published.
POLL_MILLISECONDS = 5_000


def layout() -> dmc.MantineProvider:
    """The empty shell; the page and the header's contents follow the address."""
    return dmc.MantineProvider(
        [
            dcc.Location(id="location", refresh="callback-nav"),
            dcc.Interval(id="poll", interval=POLL_MILLISECONDS),
            dcc.Store(id="shown"),
            dcc.Store(id="saved"),
            html.A("Skip to the page", href="#page", className="skip"),
            dmc.AppShell(
                [
                    dmc.AppShellHeader(_header()),
                    dmc.AppShellNavbar(html.Nav(id="navigation", **{"aria-label": "Pages"}), p="xs"),
                    dmc.AppShellMain([html.Div(id="newer", role="status"), html.Div(_parts(), id="page", tabIndex=-1)]),
                ],
                header={"height": 56},
                navbar={"width": 190, "breakpoint": "sm", "collapsed": {"mobile": False}},
                padding="md",
            ),
        ],
        theme=MANTINE,
        defaultColorScheme="auto",
    )


def _parts() -> list[object]:
    """Places for the parts of a page; the canvas stays when pages change, and with it what the browser holds of the points."""
    return [
        html.Div(id="above"),
        html.Div(
            [
                html.Div(
                    [
                        html.Div(id="no-picture"),
                        PointPanels(id="points"),
                        SentenceViews(id="sentence"),
                        html.Div(id="below"),
                    ],
                    className="picture",
                ),
                html.Div(id="beside", className="beside"),
                html.Div(id="after-picture"),
            ],
            className="middle",
        ),
    ]


def _header() -> html.Div:
    return html.Div(
        [
            dcc.Link("Headscape", href="/", className="brand"),
            html.Div(id="what-is-shown", className="what-is-shown"),
            dmc.Button("Copy link", id="copy-link", variant="default", size="xs"),
            dmc.ColorSchemeToggle(
                lightIcon=html.Span("☀", **{"aria-hidden": "true"}),
                darkIcon=html.Span("☾", **{"aria-hidden": "true"}),
                variant="default",
                size="md",
                **{"aria-label": "Switch between light and dark"},
            ),
        ],
        className="header",
    )


def navigation(place: Place) -> list[dmc.NavLink]:
    """Links to the pages, at the same model, head and snapshot."""
    return [
        dmc.NavLink(label=title, href=place.address.on(page).href, active=page == place.address.page, id=f"go-{page}")
        for page, title in TITLES.items()
    ]


def shown(place: Place, link: str | None) -> dict[str, object]:
    """What the page shows of a link, for the browser: a choice that says the same is no new link, a default is not in one."""
    address = place.address
    fields = address.fields | {"snapshot": place.snapshot.id, "model": place.corpus.name}
    if place.corpus.views:
        fields |= {"view": place.view, "tokens": min(address.tokens, place.corpus.n_tokens)}
        fields |= {"tab": tab_of(address)} if address.page == "head" else {}
    defaults = Address().fields | {"view": next(iter(place.corpus.views), None)}
    if address.page in CHOICES:
        chosen, standard = CHOICES[address.page](place)
        fields, defaults = fields | chosen, defaults | standard
    return fields | {"defaults": defaults, "link": (link or "")[:MAX_QUERY]}


def what_is_shown(place: Place) -> list[object]:
    """The header's line: model, corpus, snapshot and its date; a choice where there are several models."""
    return [
        _model_choice(place),
        html.Span(_snapshot_line(place.snapshot), className="snapshot", title=place.snapshot.id),
    ]


def _model_choice(place: Place) -> object:
    if len(place.snapshot.models) == 1:
        return html.Span(
            f"{place.corpus.attributes['model_id']} on {place.corpus.corpus_attributes['name']}", className="one-model"
        )
    return dmc.Select(
        id={"choose": "model", "by": "header"},
        data=[{"value": name, "label": label} for name, label in model_names(place.snapshot).items()],
        value=place.corpus.name,
        size="xs",
        w=300,
        allowDeselect=False,
        **{"aria-label": "Model and corpus"},
    )


def _snapshot_line(snapshot: Snapshot) -> str:
    return f"snapshot {snapshot.id[:8]}, {snapshot.published:%d %b %Y %H:%M} UTC"


def newer_notice(place: Address, newest: Snapshot) -> dmc.Alert:
    """Something newer has been published since this page was drawn."""
    return dmc.Alert(
        [
            "A newer state of the store was published ",
            f"{newest.published:%d %b %Y %H:%M} UTC. ",
            html.A("Show it", href=place.href),
        ],
        color="blue",
        variant="light",
        mb="sm",
    )


def problem(error: Exception) -> dmc.Alert:
    """Why a part of a page, or the page, is not there."""
    return dmc.Alert(sentence_for(error)[0], color="red", title="This cannot be shown", className="problem")


def notices(sentences: list[str]) -> list[dmc.Alert]:
    """What of the link could not be followed."""
    return [dmc.Alert(sentence, color="orange", variant="light", mb="sm") for sentence in sentences]

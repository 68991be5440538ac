"""The shell around every page: header, navigation, notices."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.component import PointPanels
from dashboard.compare import page as comparison
from dashboard.features import shown as features
from dashboard.points.head_page import tab_of
from dashboard.sentence import finder
from dashboard.sentence.picture import SentenceViews
from dashboard.ui.files import provenance_of
from dashboard.ui.markup import FOLLOWED
from dashboard.ui.text import model_names
from dashboard.ui.theme import MANTINE
from dashboard.web.view import MAX_QUERY, Place
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
#: Pages with controls whose values the link does not hold.
CHOICES = {"features": features.choices, "compare": comparison.choices, "sentence": finder.choices}
#: The width (Mantine's 62em) below which the navigation is a drawer.
NARROW = "md"
PAGES_LABEL: Any = {"aria-label": "Pages"}
#: Milliseconds between two checks of an open tab for newer data.
POLL_MILLISECONDS = 5_000


def layout() -> dmc.MantineProvider:
    """The empty shell. The browser fills in the page and the header, by the link."""
    return dmc.MantineProvider(
        [
            dcc.Location(id="location", refresh="callback-nav"),
            dcc.Interval(id="poll", interval=POLL_MILLISECONDS),
            *(dcc.Store(id=name) for name in ("shown", "saved", "noticed")),
            html.A("Skip to the page", href="#page", className="skip"),
            dmc.AppShell(
                [
                    dmc.AppShellHeader(_header()),
                    dmc.AppShellNavbar(html.Nav(id="navigation", **PAGES_LABEL), p="xs"),
                    dmc.AppShellMain(html.Div(_parts(), id="page", tabIndex=-1)),
                ],
                header={"height": 56},
                navbar={"width": 190, "breakpoint": NARROW, "collapsed": {"mobile": True}},
                padding="md",
            ),
            _drawer(),
            html.Div(id="newer", className="newer", role="status"),
        ],
        theme=MANTINE,
        defaultColorScheme="auto",
    )


def _drawer() -> dmc.Drawer:
    """The navigation of a narrow window, closed by Escape, its button, a click beside it and a click on a page."""
    return dmc.Drawer(
        html.Nav(id="drawer-navigation", **PAGES_LABEL),
        id="drawer",
        title="Pages",
        size=240,
        closeButtonProps={"aria-label": "Close the pages"},
    )


def _parts() -> list[object]:
    """Placeholders for the parts of a page. The canvas stays when pages change, and keeps the points it has loaded."""
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
            dmc.Burger(id="burger", opened=False, size="sm", hiddenFrom=NARROW, **{"aria-label": "Open the pages"}),
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


def navigation(place: Place) -> list[html.A]:
    """Links to the pages, with the same model, head and snapshot."""
    return [_page_link(place, page, title) for page, title in TITLES.items()]


def drawer(place: Place, newest: str) -> list[html.A]:
    """The navigation of a narrow window, with what does not fit into its header."""
    return [*navigation(place), *_open_newest(place, newest, "page-link")]


def _page_link(place: Place, page: str, title: str) -> html.A:
    current: Any = {"aria-current": "page"} if page == place.address.page else {}
    return html.A(title, href=place.address.on(page).href, className="page-link", **current, **{FOLLOWED: ""})


def shown(place: Place, link: str | None) -> dict[str, object]:
    """What the page shows, for the browser: the value of every field and the defaults that depend on the store.

    The browser makes no new link of a control that already has its value, and leaves defaults out of links.
    """
    address = place.address
    fields = address.fields | {"snapshot": place.snapshot.id, "model": place.corpus.name}
    if place.corpus.views:
        fields |= {"view": place.view, "tokens": min(address.tokens, place.corpus.n_tokens)}
        fields |= {"tab": tab_of(address)} if address.page == "head" else {}
    defaults: dict[str, object] = {"view": next(iter(place.corpus.views), None)}
    if address.page in CHOICES:
        chosen, standard = CHOICES[address.page](place)
        fields, defaults = fields | chosen, defaults | standard
    return fields | provenance_of(place) | {"defaults": defaults, "link": (link or "")[:MAX_QUERY]}


def what_is_shown(place: Place, newest: str) -> list[object]:
    """The line in the header: model, corpus, snapshot and its date; a menu where there are several models."""
    return [
        _model_choice(place),
        html.Span(_snapshot_line(place.snapshot), className="snapshot", title=place.snapshot.id),
        *_open_newest(place, newest, "newest"),
    ]


def _open_newest(place: Place, newest: str, kind: str) -> list[html.A]:
    """A link to the newest snapshot; none where the page shows it."""
    href = place.address.with_(snapshot=None).href
    return [] if place.snapshot.id == newest else [html.A("Open the newest", href=href, className=kind)]


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
    return f"snapshot {snapshot.id[:8]}, {snapshot.published:%d %b %Y, %H:%M} UTC"


def newer_notice(place: Place, newest: Snapshot) -> dmc.Alert:
    """New data is available: a link opens the page with the newest snapshot."""
    newer = f"{newest.published:%d %b %Y, %H:%M} UTC"
    pinned = place.address.snapshot is not None
    return dmc.Alert(
        [
            f"This link shows an older snapshot. New data is available ({newer}). "
            if pinned
            else f"New data is available ({newer}). ",
            html.A("Open the newest", href=place.address.with_(snapshot=None).href),
        ],
        color="blue",
        withCloseButton=True,
        closeButtonLabel="Close",
    )


def notices(place: Place, of_page: tuple[str, ...]) -> list[dmc.Alert]:
    """Notices on what of the link was changed."""
    expired = [_expired(place)] if place.expired else []
    return [_notice(notice) for notice in [*expired, *place.notices, *of_page]]


def _expired(place: Place) -> list[object]:
    """The snapshot of the link, or of the tab, was deleted."""
    sentence = "The snapshot of this page was deleted from the store; showing the newest. "
    return [sentence, html.A("Open the newest", href=place.address.with_(snapshot=None).href), "."]


def _notice(content: object) -> dmc.Alert:
    return dmc.Alert(content, color="orange", variant="light", mb="sm")

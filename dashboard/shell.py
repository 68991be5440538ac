"""The shell around every page: header, navigation, notices."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import dash_mantine_components as dmc
from dash import dcc, html
from flask import has_request_context, request

from dashboard.access.account import ACCOUNT
from dashboard.access.person import Person, current_person
from dashboard.access.sign_in import SIGN_OUT
from dashboard.canvas.spec import PointPanels
from dashboard.documentation import address, dialogs
from dashboard.points.shown import valid_fields
from dashboard.sentence.picture import SentenceViews
from dashboard.topic import Topic
from dashboard.ui.controls import OF_DATA, OPENS
from dashboard.ui.files import provenance_of
from dashboard.ui.glossary import symbols
from dashboard.ui.markup import FOLLOWED, Markup
from dashboard.ui.text import model_names, with_commands
from dashboard.ui.theme import MANTINE
from dashboard.web.context import MAX_QUERY, Context
from dashboard.web.paths import root
from dashboard.web.state import LinkState, encode_fields
from store import Corpus, Snapshot
from store.repository.history import SHORT_ID

#: The width (Mantine's 62em) below which the navigation is a drawer.
NARROW = "md"
PAGES_LABEL: Any = {"aria-label": "Pages"}
HELP: Any = {"aria-label": "Help", "aria-haspopup": "dialog", OPENS: "help"}
NOTES: Any = {"aria-haspopup": "dialog", "title": "Notes on this view, saved views"}
#: Milliseconds between two checks of an open tab for newer data.
POLL_MILLISECONDS = 5_000


def layout(topics: Iterable[Topic[Any]], *, signs_in: bool = False, named: bool = False) -> dmc.MantineProvider:
    """The empty shell. The browser fills in the page and the header, by the link.

    `named`: the header names the person of the request; `signs_in`: this person can sign out.
    """
    person = current_person() if named and has_request_context() else None
    return dmc.MantineProvider(
        [
            dcc.Location(id="location", refresh="callback-nav"),
            dcc.Interval(id="poll", interval=POLL_MILLISECONDS),
            *(dcc.Store(id=name) for name in ("shown", "noticed", "reloaded", "counted")),
            html.A("Skip to the page", href="#page", className="skip"),
            dmc.AppShell(
                [
                    dmc.AppShellHeader(_header(_account(person, signs_in, "account"))),
                    dmc.AppShellNavbar(html.Nav(id="navigation", **PAGES_LABEL), p="xs"),
                    dmc.AppShellMain(html.Div(_parts(), id="page", tabIndex=-1)),
                ],
                header={"height": 56},
                navbar={"width": 190, "breakpoint": NARROW, "collapsed": {"mobile": True}},
                padding="md",
                transitionDuration=0,  # a window that turns narrow has its layout at once
            ),
            _drawer(_account(person, signs_in, "account-in-drawer")),
            html.Div(id="newer", className="newer", role="status"),
            *dialogs(_opened_by(current_person(), topics)),
            Markup(tree=[symbols()]),
        ],
        theme=MANTINE,
        defaultColorScheme="auto",
    )


def _drawer(account: list[object]) -> dmc.Drawer:
    """The navigation of a narrow window, closed by Escape, its button, a click beside it and a click on a page."""
    return dmc.Drawer(
        [html.Nav(id="drawer-navigation", **PAGES_LABEL), *account],
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


def _account(person: Person | None, signs_in: bool, kind: str) -> list[object]:
    """Name and role of the signed-in person, and a button to sign out; nothing where nobody is signed in."""
    if person is None:
        return []
    shown = [html.Strong(person.name), f", {person.role}"]
    if not signs_in:
        return [html.Div(html.Span(shown, title=f"Signed in as {person.name}"), className=kind)]
    name = html.A(
        shown, href=f"{request.script_root}{ACCOUNT}", title=f"Signed in as {person.name}: tokens for scripts"
    )
    form = html.Form(
        html.Button("Sign out", type="submit", className="plain"),
        action=f"{request.script_root}{SIGN_OUT}",
        method="post",
    )
    return [html.Div([name, form], className=kind)]


def _header(account: list[object]) -> html.Div:
    return html.Div(
        [
            dmc.Burger(id="burger", opened=False, size="sm", hiddenFrom=NARROW, **{"aria-label": "Open the pages"}),
            dcc.Link(Markup(tree=[["bdi", {}, "Headscape"]]), href=f"{root()}/", className="brand"),
            html.Div(id="what-is-shown", className="what-is-shown"),
            html.Button("Notes", id="open-notes", type="button", className="plain", **NOTES),
            # Disabled until a page is shown: before, the snapshot is not known, and the link would follow the next ingest.
            dmc.Button("Copy link", id="copy-link", variant="default", size="xs", disabled=True),
            html.Button("?", id="open-help", type="button", className="plain", title="Help", **HELP),
            dmc.ColorSchemeToggle(
                lightIcon=html.Span("☀", **{"aria-hidden": "true"}),
                darkIcon=html.Span("☾", **{"aria-hidden": "true"}),
                variant="default",
                size="md",
                **{"aria-label": "Switch between light and dark"},
            ),
            *account,
        ],
        className="header",
    )


def navigation(snapshot: Snapshot, corpus: Corpus, state: LinkState, topics: Mapping[str, Topic[Any]]) -> list[html.A]:
    """Links to the pages, with the same model, head and snapshot, and to the page's documentation.

    The link to page Sentence is its bare link where no head was chosen.
    """
    pages = [
        _page_link(topic, topic.href(snapshot, corpus, state) if topic.href else state.on(topic.name).href, state.page)
        for topic in _opened_by(current_person(), topics.values())
    ]
    return [*pages, *_documentation_link(topics[state.page])]


def _opened_by(person: Person, topics: Iterable[Topic[Any]]) -> list[Topic[Any]]:
    """The pages that a person may open."""
    return [topic for topic in topics if person.writes or not topic.for_authors]


def drawer(navigation: list[html.A], snapshot: Snapshot, state: LinkState, newest: str) -> list[html.A]:
    """The navigation of a narrow window, with what does not fit into its header."""
    return [*navigation, *_open_newest(snapshot, state, newest, "page-link")]


def _page_link(topic: Topic[Any], href: str, shown_page: str) -> html.A:
    current: Any = {"aria-current": "page"} if topic.name == shown_page else {}
    letter: Any = {"data-letter": topic.letter, FOLLOWED: ""}
    return html.A(topic.title, href=href, className="page-link", **current, **letter)


def _documentation_link(topic: Topic[Any]) -> list[html.A]:
    """Link to the documentation of the page's numbers and controls; none where the documentation is not installed."""
    href = address(topic.docs)
    title = f"{topic.title}: what its numbers and controls mean"
    return (
        [html.A("Documentation", href=href, target="_blank", title=title, className="page-link docs")] if href else []
    )


def shown(
    context: Context, topic: Topic[Any], read: object, search: str, of_page: tuple[str, ...] = ()
) -> dict[str, object]:
    """The page's state for the browser: the value of every field and the defaults that depend on the store.

    `read` is the data that the page has read, `of_page` are the page's notices.
    The browser makes no new link of a control that already has its value, and leaves defaults out of links. It replaces
    a link with invalid values, `written`, by `link`.
    """
    state = context.state
    fields = state.fields | {"snapshot": context.snapshot.id, "model": context.corpus.name}
    if context.corpus.views:
        fields |= {"view": context.view, "tokens": min(state.tokens, context.corpus.n_tokens)}
    defaults: dict[str, object] = {"view": next(iter(context.corpus.views), None)}
    if topic.choices:
        chosen, standard = topic.choices(read)
        fields, defaults = fields | chosen, defaults | standard
    if context.completed:  # for a bare link, the link with the fields that its page chose
        link = f"?{urlsplit(state.href).query}"
    elif of_page:
        selected = topic.selection(read) if topic.selection else valid_fields(context.corpus, state)
        link = valid_search(state.with_(**selected), search)
    else:
        link = valid_search(state, search) if context.every_notice else search
    written = {} if link == search else {"written": search}
    link_parts = {"path": urlsplit(state.href).path, "link": link[:MAX_QUERY]}
    role = {"writes": current_person().writes}
    origin = provenance_of(context.snapshot, context.corpus, state)
    return fields | origin | {"defaults": defaults} | link_parts | written | role


def what_is_shown(snapshot: Snapshot, corpus: Corpus, state: LinkState, newest: str) -> list[object]:
    """The line in the header: model, corpus, snapshot and its date; a menu where there are several models."""
    return [
        _model_choice(snapshot, corpus),
        html.Span(_snapshot_line(snapshot), className="snapshot", title=snapshot.id),
        *_open_newest(snapshot, state, newest, "newest"),
    ]


def _open_newest(snapshot: Snapshot, state: LinkState, newest: str, kind: str) -> list[html.A]:
    """A link to the newest snapshot; none where the page shows the newest."""
    href = state.with_(snapshot=None).href
    return [] if snapshot.id == newest else [html.A("Open the newest", href=href, className=kind)]


def _model_choice(snapshot: Snapshot, corpus: Corpus) -> object:
    if len(snapshot.models) == 1:
        return html.Span(
            f"{corpus.title} on {corpus.corpus_attributes['name']}",
            className="one-model",
        )
    return dmc.Select(
        id={"choose": "model", "by": "header"},
        data=[{"value": name, "label": label} for name, label in model_names(snapshot).items()],
        value=corpus.name,
        size="xs",
        w=300,
        allowDeselect=False,
        **OF_DATA,
        **{"aria-label": "Model and corpus"},
    )


def _snapshot_line(snapshot: Snapshot) -> str:
    return f"snapshot {snapshot.id[:SHORT_ID]}, {snapshot.published:%d %b %Y, %H:%M} UTC"


def newer_notice(state: LinkState, newest: Snapshot) -> dmc.Alert:
    """Notice of new data, with a link that opens the page with the newest snapshot."""
    newer = f"{newest.published:%d %b %Y, %H:%M} UTC"
    pinned = state.snapshot is not None
    return dmc.Alert(
        [
            f"This link shows an older snapshot. New data is available ({newer}). "
            if pinned
            else f"New data is available ({newer}). ",
            html.A("Open the newest", href=state.with_(snapshot=None).href),
        ],
        color="blue",
        withCloseButton=True,
        closeButtonLabel="Close",
    )


def notices(sentences: Sequence[str]) -> list[dmc.Alert]:
    """One notice on changed fields of the link: a sentence, or a list of sentences."""
    if not sentences:
        return []
    several = html.Ul([html.Li(with_commands(sentence)) for sentence in sentences], className="notices")
    content = several if len(sentences) > 1 else with_commands(sentences[0])
    return [dmc.Alert(content, color="orange", variant="light", mb="sm")]


def valid_search(state: LinkState, search: str) -> str:
    """The query string of a link without invalid values, which notices name: its fields with the values of the state."""
    written = dict(parse_qsl(search.lstrip("?"))).keys()
    fields = {name: text for name, text in parse_qsl(urlsplit(state.href).query) if name in written}
    return f"?{encode_fields(fields)}" if fields else ""

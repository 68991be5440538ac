"""Notes as they are shown: as JSON for the lists of pages, their Markdown as components, and the panel of notes on a target.

No HTML of an author reaches a page, no picture is loaded, links are of the web: markdown-it-py reads the Markdown, and its
tokens become components of a few kinds, so nothing is escaped or sanitised here. A panel is closed until it is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

from dash import html
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from dashboard.access.person import Person
from dashboard.notes.note import FormerText, Note, SavedView, Thread
from dashboard.notes.search import Results
from dashboard.notes.target import Target, link_to
from dashboard.ui.markup import BrowserComponent, Tree, tree
from store import Snapshot

#: Text at a note whose target the snapshot on screen lacks.
MISSING = "This store no longer has it."
#: Deepest nesting of elements; a text with deeper nesting is shown as it was typed.
NESTING = 20
#: Most parts of a text that are drawn, and cells of its tables; a text with more is shown as it was typed.
MOST_TOKENS, MOST_CELLS = 6_000, 2_000
_READER = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"]).disable("image")
)
_ELEMENTS: Mapping[str, Callable[..., Any]] = {
    "paragraph": html.P,
    "strong": html.Strong,
    "em": html.Em,
    "s": html.S,
    "bullet_list": html.Ul,
    "ordered_list": html.Ol,
    "list_item": html.Li,
    "blockquote": html.Blockquote,
    "table": html.Table,
    "thead": html.Thead,
    "tbody": html.Tbody,
    "tr": html.Tr,
    "th": html.Th,
    "td": html.Td,
}
#: Schemes of links; a link without one leads to a page of this server.
SCHEMES = ("http", "https", "mailto")
EMPTY = "There is no note yet."


def thread_json(thread: Thread, person: Person) -> dict[str, Any]:
    """A note with its replies."""
    return note_json(thread.note, person) | {"replies": [note_json(reply, person) for reply in thread.replies]}


def note_json(note: Note, person: Person) -> dict[str, Any]:
    """A note or a reply; `mine`: this person may edit and delete it."""
    return {
        "id": note.id,
        "author": note.author,
        "imported_by": note.imported_by,
        "created": _moment(note.created),
        "edited": _moment(note.edited) if note.version > 1 else None,
        "deleted": note.deleted is not None,
        "version": note.version,
        "text": note.text,
        "tree": text_tree(note.text),
        "tags": list(note.tags),
        "reply": note.parent is not None,
        "mine": person.writes and note.author == person.name and note.deleted is None,
    }


def found_json(results: Results, snapshot: Snapshot, person: Person) -> dict[str, Any]:
    """A page of the notes that match a search, each with the title of its target and the link to it."""
    return {
        "notes": [_placed(note, snapshot, person) for note in results.notes],
        "total": results.total,
        "leaf": results.page,
        "leaves": results.pages,
        "writes": person.writes,
    }


def _placed(note: Note, snapshot: Snapshot, person: Person) -> dict[str, Any]:
    href = link_to(note.target, map(snapshot.corpus, snapshot.models))
    about = {"title": note.title, "model": note.origin.model_name, "href": href, "missing": None if href else MISSING}
    return note_json(note, person) | about


def view_json(view: SavedView, snapshot: Snapshot, person: Person) -> dict[str, Any]:
    """A saved view with the link that opens it in this snapshot."""
    return {
        "id": view.id,
        "name": view.name,
        "author": view.author,
        "created": _moment(view.created),
        "model": view.origin.model_name,
        "href": link_to(view, map(snapshot.corpus, snapshot.models)),
        "mine": person.writes and view.author == person.name,
    }


def former_json(former: FormerText) -> dict[str, Any]:
    """A text before an edit."""
    return {"time": _moment(former.edited), "tree": text_tree(former.text), "tags": list(former.tags)}


def text_tree(text: str) -> Tree:
    """A text in Markdown as elements: `[tag, properties, *children]`."""
    return tree(markdown(text))


def _moment(time: datetime) -> str:
    return time.isoformat(timespec="seconds")


def markdown(text: str) -> html.Div:
    """The components of a text in Markdown."""
    counted = {"cells": 0}
    tokens = _READER.parse(text, counted)
    inner = [token.children or [] for token in tokens]
    is_deep = max(map(_depth, [tokens, *inner])) > NESTING
    is_large = counted["cells"] > MOST_CELLS or sum(map(len, [tokens, *inner])) > MOST_TOKENS
    shown = html.Pre(text) if is_deep or is_large else _children(SyntaxTreeNode(tokens))
    return html.Div(shown, className="markdown")


def _depth(tokens: Sequence[Token]) -> int:
    return max(accumulate((token.nesting for token in tokens), initial=0))


def is_safe(href: str) -> bool:
    """Whether a link of a note leads to the web, to a letter, or to a page of this server."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    if parts.scheme:
        return parts.scheme in SCHEMES
    return href.startswith("/") and not href.startswith("//")  # markdown-it has escaped backslashes


def _bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table, while all tables of the text have few cells: every row, however short, gets as many cells as the header."""
    is_table = table(state, start, end, True)
    if silent or not is_table:
        return is_table
    stop = next((line for line in range(start, end) if state.isEmpty(line)), end)
    columns = state.src.count("|", state.bMarks[start], state.eMarks[start]) + 1
    state.env["cells"] += columns * (stop - start)
    return state.env["cells"] <= MOST_CELLS and table(state, start, end, False)


_READER.block.ruler.at("table", _bounded_table, {"alt": ["paragraph", "reference"]})
_READER.validateLink = is_safe  # type: ignore[method-assign,assignment]


def _children(node: SyntaxTreeNode) -> list[Any]:
    return [component for child in node.children for component in _components(child)]


def _components(node: SyntaxTreeNode) -> Sequence[Any]:
    """A node as components; the items of a tight list have no paragraphs."""
    if node.type in ("inline", "root") or (node.type == "paragraph" and node.hidden):
        return _children(node)
    if node.type in _ELEMENTS:
        return [_ELEMENTS[node.type](_children(node))]
    return [_leaf(node)]


def _leaf(node: SyntaxTreeNode) -> Any:
    if node.type == "link":
        return _link(str(node.attrs["href"]), _children(node))
    if node.type == "heading":  # below the headings of the page
        return html.P(html.Strong(_children(node)))
    if node.type in ("fence", "code_block"):
        return html.Pre(html.Code(node.content))
    if node.type == "code_inline":
        return html.Code(node.content)
    if node.type == "hr":
        return html.Hr()
    return {"softbreak": "\n", "hardbreak": html.Br()}.get(node.type, node.content)


def _link(href: str, children: list[Any]) -> html.A:
    if href.startswith("/"):
        return html.A(children, href=href)
    return html.A(children, href=href, target="_blank", rel="noopener noreferrer nofollow")


class NotePanel(BrowserComponent):
    """A list of notes and, for an author, the form that writes notes. Its JavaScript is in assets/notes/component.mjs.

    Parameters
    ----------
    id
        Dash id.
    about
        `target`: the key of the notes' target. Instead, `search`: the fields by which page Notes finds them. `title`:
        the line that opens the list; without it the list is open. `empty`: the text of an empty list. `parts`: several
        targets below one title, each with a title of its own.
    """

    properties = ("id", "about")


class SavedViews(BrowserComponent):
    """The saved views, the newest first. Its JavaScript is in assets/notes/component.mjs.

    Parameters
    ----------
    id
        Dash id.
    """

    properties = ("id",)


def noted_legend() -> html.Span:
    """Legend of the mark on a point with notes; visible where a point has the mark, in reserved room (assets/notes.css)."""
    return html.Span([html.Span(className="over noted"), "token with notes"], className="chip noted-legend")


def note_panel(place: str, target: Target, title: str | None = "Notes") -> NotePanel:
    """Notes on a target, open where they have no title; `place` tells the panels of a page apart."""
    return NotePanel(id=f"notes-{place}", about=_about(target, title))


def note_panels(place: str, targets: Mapping[str, Target], title: str) -> NotePanel:
    """Notes on several targets, by their titles, below one line that opens them."""
    parts = [_about(target, name) for name, target in targets.items()]
    return NotePanel(id=f"notes-{place}", about={"title": title, "parts": parts})


def _about(target: Target, title: str | None) -> dict[str, Any]:
    return {"target": target.key, "title": title, "empty": EMPTY}

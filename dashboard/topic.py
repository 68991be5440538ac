"""Declaration of a page, which its own folder makes: name, parts, routes. `dashboard/pages.py` lists every topic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dash import Dash
from flask import Flask

from dashboard.canvas.spec import Picture
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import Page
from dashboard.ui.work import Job, WorkKind
from dashboard.web.context import Context
from dashboard.web.paths import PageLinks
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, Snapshot

#: Values of a page's controls that its link does not hold, and the defaults that depend on the store.
Choices = tuple[dict[str, object], dict[str, object]]
#: Data of the views of a sentence at a link, and components in their place until the views are drawn.
Views = tuple[dict[str, Any] | None, list[object]]
#: Types of the data that a page reads, and of the components that it draws from them.
T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Drawing(Generic[T, D]):
    """Two steps: `read` takes values from the corpus and the server, `draw` makes components from these values alone."""

    read: Callable[[Context], T]
    draw: Callable[[T], D]

    def __call__(self, context: Context) -> D:
        """Components that are drawn for a link."""
        return self.draw(self.read(context))


def read_then_draw(read: Callable[[Context], T], draw: Callable[[T], D]) -> Drawing[T, D]:
    """The layout of a page, or the content of a part, that is read first and then drawn from these values."""
    return Drawing(read, draw)


@dataclass(frozen=True, kw_only=True)
class Topic(Generic[T]):
    """A page, declared once.

    Attributes
    ----------
    name
        The page in links: `/statistics`.
    title
        The page in the navigation.
    letter
        The key that opens the page after `g`.
    docs
        File of its documentation in `docs/`, with a heading where only a section is about it: `statistics.md`, `links.md#sentence`.
    layout
        The texts and charts of the page. Its data are read once, also for `choices`, `selection` and the picture.
    links
        What is particular to its links.
    open
        The state that a bare link opens, where the page chooses what the link leaves open; None where the page chooses nothing.
    href
        The navigation's link to the page, where it is not the same state on this page.
    choices
        Values and defaults of its controls that the link does not hold.
    selection
        The fields of its link that select points, without invalid values; None where the points are queries and keys.
    picture
        Picture on the canvas; None where no picture has been computed.
    after_picture
        Components below the picture, filled once the picture is painted.
    sentence
        Data of the views of a sentence.
    deferred
        Parts that may take long and are filled after the page.
    jobs
        Work that a reader starts or waits for with its progress.
    routes, callbacks
        Functions that add its routes of data to the server, and its callbacks to the application.
    changes
        Whether the page depends on more than its link, so that readers do not share it.
    for_authors
        Whether only authors may open the page.
    """

    name: str
    title: str
    letter: str
    docs: str
    layout: Drawing[T, Page]
    links: PageLinks = field(default_factory=PageLinks)
    open: Callable[[Snapshot, Corpus, LinkState], LinkState | None] | None = None
    href: Callable[[Snapshot, Corpus, LinkState], str] | None = None
    choices: Callable[[T], Choices] | None = None
    selection: Callable[[T], dict[str, object]] | None = None
    picture: Callable[[T], Picture | None] | None = None
    after_picture: Callable[[T], list[object]] | None = None
    sentence: Callable[[Context], Views] | None = None
    deferred: tuple[DeferredPart, ...] = ()
    jobs: Mapping[WorkKind, Callable[[Context, Job], list[object]]] = field(default_factory=dict)
    routes: tuple[Callable[[Flask, ServedStore], None], ...] = ()
    callbacks: tuple[Callable[[Dash], None], ...] = ()
    changes: bool = False
    for_authors: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError where a text is empty: it would be missing on every page."""
        for part in ("name", "title", "letter", "docs"):
            if not getattr(self, part):
                raise ValueError(
                    f"Topic {self.name or self.title!r} has no {part}. Declare it where the topic is made."
                )


def topics_by_name(*topics: Topic[Any]) -> dict[str, Topic[Any]]:
    """The topics in their order. ValueError where two have the same name, title, letter or deferred part."""
    parts = [part.name for topic in topics for part in topic.deferred]
    names = {part: [getattr(topic, part) for topic in topics] for part in ("name", "title", "letter")}
    for part, values in (names | {"deferred part": parts}).items():
        if twice := sorted({value for value in values if values.count(value) > 1}):
            raise ValueError(f"Two topics have the {part} {twice[0]!r}. Give one of them another.")
    return {topic.name: topic for topic in topics}

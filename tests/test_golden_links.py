"""Links are public: a link from before a release shows the same after it."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore

#: Triples: a link, the state that it showed on the tiny store (written as a link), and its number of notices. They are of commit
#: 7a23341; the last ten of every page are from before a page declared itself by a `Topic`.
LINKS = json.loads(Path(__file__).with_name("golden_links.json").read_text("utf-8"))
#: New paths of pages, by their former path.
MOVED = {"/about": "/store"}
#: Fields that stand before the layer in a link.
BEFORE_LAYER = ("model=", "snapshot=", "since=")


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


def test_links_of_before_show_the_same_state(served_store: ServedStore) -> None:
    shown = []
    for link, _, _ in LINKS:
        path, _, query = link.partition("?")
        view = resolve(served_store, path, query)
        shown.append([link, view.state.href, len(view.notices)])
    assert shown == [[link, moved(href), notices] for link, href, notices in LINKS]


def moved(href: str) -> str:
    """The link as it is written now: with the new path, and on pages Sentence and Compare with its layer."""
    path, _, query = href.partition("?")
    fields = query.split("&") if query else []
    if path in ("/sentence", "/compare") and not any(field.startswith("layer=") for field in fields):
        fields.insert(sum(field.startswith(BEFORE_LAYER) for field in fields), "layer=0")
    return MOVED.get(path, path) + ("?" if fields else "") + "&".join(fields)


def test_every_page_has_links_of_before() -> None:
    opened = {urlsplit(link).path.strip("/") for link, _, _ in LINKS}
    assert TOPICS.keys() - opened == set()

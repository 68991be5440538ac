"""Links are public: those that readers had before a release show the same after it."""

import json
from pathlib import Path

import pytest

from dashboard.web.context import resolve
from dashboard.web.library import Library

#: A link, the state that it showed on the tiny store at 7a23341, written as a link, and how many notices that took.
LINKS = json.loads(Path(__file__).with_name("golden_links.json").read_text("utf-8"))
#: Pages that have another path since.
MOVED = {"/about": "/store"}


@pytest.fixture(scope="module")
def library(tiny_store: str) -> Library:
    return Library(tiny_store)


def test_links_of_before_show_the_same_state(library: Library) -> None:
    shown = []
    for link, _, _ in LINKS:
        path, _, query = link.partition("?")
        view = resolve(library, path, query)
        shown.append([link, view.state.href, len(view.notices)])
    assert shown == [[link, moved(href), notices] for link, href, notices in LINKS]


def moved(href: str) -> str:
    """The same link under the path that its page has now."""
    path, mark, query = href.partition("?")
    return MOVED.get(path, path) + mark + query

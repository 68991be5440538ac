"""Captions of pages of numbers: one plain line each, with the rest behind an (i)."""

import re
from typing import Any

import pytest

from dashboard.pages import TOPICS
from dashboard.statistics.parts import PartCounts, part_of
from dashboard.statistics.shown import part_numbers
from dashboard.ui.work import Job
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from tests.components import components, deferred_content

#: Characters of a line of captions at 1440 pixels.
LINE = 140
#: A hyphen in place of a minus.
HYPHENATED = re.compile(r"(?<![\w/-])-\d|\b[A-Z] - [A-Z]\b|query - key|key - query")


QUERIES = {
    "overview": "",
    "statistics": "",
    "statistics of a part": "?where=kind:word&values=rest",
    "map": "?paint=label",
    "relations": "",
    "relations of a pattern": "?relation=ADJ -> NOUN&examples=chosen",
    "store": "",
}


def content(served_store: ServedStore, page: str, query: str) -> list[Any]:
    """Every component and every text of a page with its deferred parts."""
    context = resolve(served_store, page, query)
    part = part_of(context.corpus, context.state.where)
    part_numbers(served_store.service(PartCounts), context.corpus, context.state, part, Job())
    parts = TOPICS[page].layout(context)
    every = [parts.above, parts.beside, parts.below]
    return [*components([*every, *deferred_content(context, every)])]


def captions(served_store: ServedStore, page: str, query: str) -> list[str]:
    """The texts of all captions of a page."""
    return [text(node) for node in content(served_store, page, query) if is_caption(node)]


def is_caption(node: Any) -> bool:
    return bool({"caption", "how-to-read"} & set(str(getattr(node, "className", "") or "").split()))


def text(node: Any) -> str:
    """The visible text of a component, without the letter of an (i) and the keyboard's buttons of a chart's legend."""
    written = (str(each) for each in components(node) if isinstance(each, str | int))
    return "".join(each for each in written if each != "i" and not each.startswith("Only ")).strip()


@pytest.mark.parametrize("name", QUERIES)
def test_every_caption_is_one_line(bank_store: str, name: str) -> None:
    assert long_captions(bank_store, name.split(" of ")[0], QUERIES[name]) == []


@pytest.mark.parametrize("query", ["", "?pictures=point", "?ranked=statistic&source=cls"])
def test_every_caption_of_page_compare_is_one_line(three_models: str, query: str) -> None:
    assert long_captions(three_models, "compare", query) == []


@pytest.mark.parametrize("store", ["chains_store", "gap_store"])
def test_every_caption_of_coreference_is_one_line(request: pytest.FixtureRequest, store: str) -> None:
    assert long_captions(request.getfixturevalue(store), "relations", "") == []


@pytest.mark.parametrize("name", QUERIES)
def test_no_number_of_a_page_has_a_hyphen_for_a_minus(bank_store: str, name: str) -> None:
    assert hyphenated(content(ServedStore(bank_store), name.split(" of ")[0], QUERIES[name])) == []


@pytest.mark.parametrize("query", ["", "?pictures=point", "?ranked=statistic&source=cls"])
def test_no_number_of_page_compare_has_a_hyphen_for_a_minus(three_models: str, query: str) -> None:
    assert hyphenated(content(ServedStore(three_models), "compare", query)) == []


def hyphenated(nodes: list[Any]) -> list[str]:
    """The texts in which a hyphen stands before a digit, or between two models or tokens of a difference."""
    return [node for node in nodes if isinstance(node, str) and HYPHENATED.search(node)]


def long_captions(store: str, page: str, query: str) -> list[str]:
    found = captions(ServedStore(store), page, query)
    assert found
    return [caption for caption in found if len(caption) > LINE]

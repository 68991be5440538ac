"""Page Statistics of a part minus all other tokens: its numbers, names, intervals and file, and the link that compares labels."""

import re
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from dashboard.statistics.parts import PartCounts, part_of
from dashboard.statistics.shown import part_numbers
from dashboard.ui.markup import Page
from dashboard.ui.text import signed
from dashboard.ui.work import Job
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.client import content, csv_rows
from tests.counts import counted
from tests.test_statistics_parts import cells, children, page_of, parts, place_of, text


@pytest.fixture
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


def contrast_page(served_store: ServedStore, where: str) -> Page:
    """The page of a part minus all others, once it is counted."""
    query = f"where={where}&statistic=to_self&values=rest"
    context = place_of(served_store, "statistics", query)
    part = part_of(context.corpus, context.state.where)
    part_numbers(served_store.service(PartCounts), context.corpus, context.state, part, Job())
    return page_of(served_store, query)


def test_a_part_minus_all_others_is_the_difference_of_two_counts(
    served_store: ServedStore, tiny_corpus: Corpus
) -> None:
    page = contrast_page(served_store, "kind:word")
    part = part_of(tiny_corpus, "kind:word")
    own, others = (
        counted(tiny_corpus, each).means.sel(statistic="to_self", source="all").values
        for each in (part, replace(part, rows=~part.rows))
    )
    assert cells(page) == [signed(100 * float(number), 1) for number in (own - others).ravel()]


def test_the_largest_differences_from_all_others_have_intervals(served_store: ServedStore) -> None:
    page = contrast_page(served_store, "kind:word")
    line = next(part for part in parts(page) if "Largest differences, points: " in children(part))
    assert len(re.findall(r"[+−]\d+\.\d \([+−]?\d+\.\d to [+−]?\d+\.\d\)", str(line))) == 3


@pytest.mark.parametrize(
    ("where", "title"),
    [
        ("label:positive", "Attention to itself, positive minus negative"),
        ("kind:word", "Attention to itself, word minus all others"),
        ("kind:word;label:positive", "Attention to itself, filtered tokens minus all others"),
    ],
)
def test_a_title_names_what_is_compared(served_store: ServedStore, where: str, title: str) -> None:
    assert title in text(contrast_page(served_store, where))


def test_one_link_compares_the_labels(served_store: ServedStore) -> None:
    link = next(
        part for part in parts(page_of(served_store)) if getattr(part, "children", None) == "positive minus negative"
    )
    assert link.href == "/statistics?where=label:positive&values=rest"


def test_the_file_of_a_part_minus_all_others_has_the_ends_of_the_intervals(
    served_store: ServedStore, client: FlaskClient
) -> None:
    page = contrast_page(served_store, "label:positive")
    link = next(part.href for part in parts(page) if "/heat-map.csv" in str(getattr(part, "href", "")))
    rows = csv_rows(content(client, link))
    assert [signed(100 * float(row["difference"]), 1) for row in rows] == cells(page)
    assert all(
        float(row["difference_low"]) <= float(row["difference"]) <= float(row["difference_high"]) for row in rows
    )

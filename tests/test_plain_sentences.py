"""Titles, links and notices in plain English, on the pages and panels that have them."""

import re

import pytest

from dashboard.pages import TOPICS
from dashboard.statistics.sections import importance, read_importance
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import open_corpus
from tests.test_shown_importance import IMPORTANCE


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("head", "query / key norm"),
        ("head", "Equal axis scales."),
        ("head", " across sentences (−1 would be perfect), recall@3 0."),
        ("heads", " across sentences (−1 would be perfect), recall@3 0."),
        ("sentence?show=neuron", "the pair's score"),
        ("store", "# delete snapshots replaced more than 7 days ago"),
        ("head?tab=point&token=5", "clear"),
        ("features?point=embedding&ftoken=3", "clear"),
        ("map", "Divergence between heads"),
        ("statistics?named=seven", "No heads match. Clear the name or the label."),
    ],
)
def test_a_page_names_things_in_plain_words(served_store: ServedStore, link: str, words: str) -> None:
    page, _, search = link.partition("?")
    context = resolve(served_store, page, search)
    assert words in str([TOPICS[page].layout(context), context.notices])


def test_page_store_writes_its_times_for_a_reader(served_store: ServedStore) -> None:
    context = resolve(served_store, "store", "")
    published = context.snapshot.published
    written = str(TOPICS["store"].layout(context))
    assert f"{published.day} {published:%b %Y, %H:%M} UTC" in written
    assert re.findall(r"\d{4}-\d\d-\d\dT\d\d:\d\d", written) == []


def test_head_importance_is_called_so(tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    corpus.importance = IMPORTANCE
    title, *_ = importance(read_importance(corpus, None))
    assert title.children[0] == "Head importance"


def test_positions_that_a_sentence_cannot_have_are_out_of_range(served_store: ServedStore) -> None:
    (notice,) = resolve(served_store, "sentence", "?queries=2.9999").notices
    assert notice.startswith("queries=2.9999: ignored numbers out of range (0-")

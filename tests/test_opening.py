"""Page Sentence opens on one informative head; older links show the same as before."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from dash import html

from dashboard.pages import TabLink, opened, page_content
from dashboard.relations.data import BestHead
from dashboard.sentence.heads import (
    FEWEST_TOKENS,
    MOST_TOKENS,
    Opening,
    about_head,
    opening_by,
    opening_of,
    sentence_href,
)
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from store.kernels.relations import halves

Go = Callable[[str, str], Context]


@pytest.fixture(scope="module")
def served_store(bank_store: str) -> ServedStore:
    return ServedStore(bank_store)


@pytest.fixture
def go(served_store: ServedStore) -> Go:
    """A function that gives the context of a page and a query string."""
    return lambda page, query: resolve(served_store, f"/{page}", query)


@pytest.fixture
def fresh(bank_store: str) -> Corpus:
    """A corpus of which nothing is cached."""
    return open_corpus(bank_store)


def clearest(layer: int, head: int) -> BestHead:
    return BestHead("det", "forward", layer, head, 0.8, (0.7, 0.9), 1, 0.5, 0.1, 200)


def test_the_page_opens_on_the_head_of_the_clearest_relation(fresh: Corpus) -> None:
    shown = opening_by(fresh, clearest(1, 0))
    assert (shown.layer, shown.head, shown.relation) == (1, 0, clearest(1, 0))


def test_its_sentence_is_readable_and_of_those_that_chose_no_head(fresh: Corpus) -> None:
    sentence = opening_by(fresh, clearest(0, 1)).sentence
    assert FEWEST_TOKENS <= fresh.sentences.row_size.values[sentence] <= MOST_TOKENS
    assert halves(fresh.n_sentences)[sentence]


def test_without_a_relation_it_opens_on_the_clearest_head_on_a_neighbour(
    fresh: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = fresh.head_labels.copy(data=np.array([["[SEP]", "next"], ["next", "broad"]], "U11"))
    monkeypatch.setitem(fresh.__dict__, "head_labels", labels)
    to_next = fresh.head_statistic.sel(source="all", statistic="to_next").values
    shown = opening_by(fresh, None)
    assert (shown.layer, shown.head) == max([(0, 1), (1, 0)], key=lambda head: to_next[head])
    assert shown.behaviour.startswith("attends to the next token most clearly")


def test_without_a_telling_head_it_opens_on_the_one_that_attends_least_to_sinks(
    fresh: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = fresh.head_labels.copy(data=np.full(fresh.head_labels.shape, "broad", "U11"))
    monkeypatch.setitem(fresh.__dict__, "head_labels", labels)
    shares = fresh.head_statistic.sel(source="all", statistic="to_sink").values
    shown = opening_by(fresh, None)
    assert shares[shown.layer, shown.head] == shares.min()


def test_a_bare_link_shows_that_head_alone(go: Go) -> None:
    context = opened(go("sentence", ""))
    wanted = opening_of(context.corpus)
    state = context.state
    assert (state.layer, state.head, state.heads) == (wanted.layer, wanted.head, str(wanted.head))
    assert state.sentence == wanted.sentence


@pytest.mark.parametrize("query", ["?layer=0", "?sentence=3", "?text=a+film", "?show=matrix", "?sort=entropy"])
def test_a_link_that_names_anything_shows_what_it_says(go: Go, query: str) -> None:
    context = go("sentence", query)
    assert opened(context) is context
    assert (context.state.layer, context.state.heads) == (0, None)


def test_the_browser_completes_a_bare_link(served_store: ServedStore) -> None:
    link = {"pathname": "/sentence", "search": "", "snapshot": ""}
    shown = page_content(served_store, TabLink(**link))["shown"]
    wanted = opening_of(served_store.snapshot().corpus())
    fields = {name: value for name, (value,) in parse_qs(shown["link"].lstrip("?")).items()}
    assert (fields["layer"], fields["heads"]) == (str(wanted.layer), str(wanted.head))
    assert (shown["path"], shown["written"]) == ("/sentence", "")


def href_of(context: Context) -> str:
    return sentence_href(context.snapshot, context.corpus, context.state)


@pytest.mark.parametrize(
    ("page", "query", "href"),
    [
        ("statistics", "", "/sentence"),
        ("head", "?layer=1&head=1", "/sentence?layer=1&head=1&heads=1"),
        ("head", "?layer=0&head=0", "/sentence?layer=0&heads=0"),
        ("head", "?layer=1&head=1&heads=0", "/sentence?layer=1&head=1&heads=1"),
        ("head", "?layer=1&head=1&heads=0.1", "/sentence?layer=1&head=1&heads=0.1"),
        ("map", "?sentence=3", "/sentence?layer=0&sentence=3"),
        ("sentence", "?show=matrix", "/sentence?layer=0&show=matrix"),
    ],
)
def test_other_pages_lead_to_the_head_that_was_chosen(go: Go, page: str, query: str, href: str) -> None:
    assert href_of(go(page, query)) == href


def test_a_page_whose_link_names_other_things_keeps_them(go: Go) -> None:
    context = go("statistics", "?sort=entropy")
    fields = parse_qs(urlsplit(href_of(context)).query)
    assert fields["sort"] == ["entropy"]
    assert fields["heads"] == [str(opening_of(context.corpus).head)]


def test_the_line_on_the_head_is_empty_for_other_heads(go: Go) -> None:
    def line_on(query: str) -> html.P:
        (line,) = about_head(go("sentence", query).state, lambda: Opening(1, 0, behaviour="does something"))
        return line

    assert "Opened on" in str(line_on("?layer=1&heads=0"))
    for query in ("?layer=1&heads=1", "?layer=1"):
        line = line_on(query)
        assert (line.className, getattr(line, "children", None)) == ("about-head", None)

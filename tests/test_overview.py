"""Page Overview: each sentence follows from the store, and each link leads to its evidence."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

from dashboard.overview.evidence import (
    FEWEST_TOKENS,
    MOST_TOKENS,
    KindExample,
    Shares,
    examples_of,
    exceptions,
    heads_on_sinks,
    layer_shares,
    mean_shares,
    read_attention,
    where_attention_goes,
)
from dashboard.overview.page import draw, read
from dashboard.relations.data import BestHead, clearest_relations
from dashboard.statistics.heads import HeadKind, kinds_of
from dashboard.ui.markup import Page
from dashboard.ui.small_pictures import attention_lines
from dashboard.ui.theme import LABEL_COLOURS
from dashboard.web.assets import DASHBOARD
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, open_corpus
from store.kernels.heads import LABELS


@pytest.fixture(scope="module")
def corpus(bank_store: str) -> Corpus:
    return open_corpus(bank_store)


def layout(store: str) -> Page:
    return draw(read(resolve(ServedStore(store), "/", "")))


def links(node: Any) -> Iterator[str]:
    """Every link of a page."""
    if href := getattr(node, "href", None):
        yield href
    children = getattr(node, "children", node)
    for child in children if isinstance(children, list | tuple) else [children]:
        if hasattr(child, "children"):
            yield from links(child)


def texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    children = getattr(node, "children", node)
    for child in children if isinstance(children, list | tuple) else [children]:
        if child is not node and child is not None:
            yield from texts(child)


def test_every_labelled_head_is_in_one_kind(corpus: Corpus) -> None:
    heads = [head for kind in kinds_of(corpus) for head in kind.heads]
    assert sorted(heads) == [tuple(head) for head in np.argwhere(corpus.head_labels.values != "").tolist()]


def test_labels_that_no_head_has_are_named(bank_store: str, corpus: Corpus) -> None:
    words = " ".join(text for part in layout(bank_store).above for text in texts(part))
    absent = [label for label in LABELS if label not in corpus.head_labels.values]
    assert f"No head passes the threshold of {', '.join(absent)}." in words


def test_the_clearest_head_of_a_kind_has_its_largest_value(corpus: Corpus) -> None:
    for kind in kinds_of(corpus):
        means = corpus.head_statistic.sel(source="all", statistic=kind.statistic).values
        assert means[kind.heads[0]] == max(means[head] for head in kind.heads)


def test_sentences_of_an_example_are_the_nearest_to_the_mean_and_the_lowest(corpus: Corpus) -> None:
    sizes = corpus.sentences.row_size.values
    readable = np.flatnonzero((sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS))
    for example in examples_of(corpus):
        largest = np.log(sizes) if example.kind.label == "broad" else np.ones(len(sizes))
        statistic = corpus.token_statistic.sel(statistic=example.kind.statistic)[example.head]
        means = np.array([float(statistic[corpus.sentence_rows(int(one))].mean()) / largest[one] for one in readable])
        assert means[list(readable).index(example.unusual)] == pytest.approx(means.min(), abs=1e-3)
        nearest = np.abs(means - example.kind.values[0]).min()
        assert abs(example.value - example.kind.values[0]) == pytest.approx(nearest, abs=1e-3)


def test_a_link_from_a_number_of_heads_opens_these_heads_whatever_page_heads_showed_before(bank_store: str) -> None:
    shown = read(resolve(ServedStore(bank_store), "overview", "tagged=previous&does=next&arranged=to_next&above=50"))
    page = draw(replace(shown, kinds=[HeadKind("self", ((0, 0), (0, 1)), (0.9, 0.8))]))
    opened = [urlsplit(href).query for part in page.above for href in links(part) if urlsplit(href).path == "/heads"]
    assert opened == ["arranged=to_self&tagged=self", "arranged=to_sink&above=50", ""]


def test_heads_on_sinks_give_them_more_than_half_of_their_attention(corpus: Corpus) -> None:
    shares = corpus.head_statistic.sel(source="all", statistic="to_sink").values.ravel().tolist()
    assert heads_on_sinks(corpus) == sum(share > 0.5 for share in shares)


def test_shares_of_a_layer_are_those_of_its_patterns_and_sum_to_one(corpus: Corpus) -> None:
    to_cls = np.mean(
        [corpus.pattern(sentence).values[:, :, :, 0].mean(axis=-1) for sentence in range(corpus.n_sentences)], axis=0
    )
    for layer, shares in enumerate(layer_shares(corpus)):
        assert shares.weight["[CLS]"] == pytest.approx(to_cls[layer].mean(), abs=2e-3)
        assert sum(shares.weight.values()) == pytest.approx(1)
        assert sum(shares.norm.values()) == pytest.approx(1)
    assert mean_shares(corpus).weight["[CLS]"] == pytest.approx(to_cls.mean(), abs=2e-3)


def test_what_one_token_gets_and_what_all_others_get_sum_to_100_per_cent(bank_store: str) -> None:
    context = resolve(ServedStore(bank_store), "/", "")
    mean = Shares(
        {"[CLS]": 0.39, "[SEP]": 0.05, "full stops and commas": 0.02, "other tokens": 0.54},
        {"[CLS]": 0.09, "[SEP]": 0.06, "full stops and commas": 0.05, "other tokens": 0.8},
    )
    finding = where_attention_goes(replace(read_attention(context.corpus, context.state), mean=mean))[1]
    words = "".join(texts(finding))
    assert "[CLS] gets 39% of all attention, but only 9% of what arrives; the rest gets 61% and 91%." in words


def test_shares_of_attention_say_what_they_are_means_over(corpus: Corpus) -> None:
    """Shares by role on the same page are means over words, where a long sentence counts more."""
    finding = where_attention_goes(read_attention(corpus, LinkState()))[1]
    assert "%. Means over all tokens of a sentence, then over sentences." in "".join(texts(finding))


@pytest.mark.parametrize(("lowest", "is_exception"), [(0.5, True), (0.94051, False), (0.95, False)])
def test_a_sentence_is_an_exception_where_its_written_mean_is_below_that_of_all(
    lowest: float, is_exception: bool
) -> None:
    example = KindExample(HeadKind("broad", ((0, 0),), (0.9409,)), 0, 1, 0.94, lowest)
    assert example.is_exception is is_exception


def test_sentences_that_are_no_exceptions_are_not_listed(corpus: Corpus) -> None:
    usual = KindExample(HeadKind("broad", ((0, 0),), (0.9409,)), 0, 1, 0.94, 0.94091)
    unusual = replace(usual, kind=HeadKind("self", ((0, 1),), (0.6,)), lowest=0.2)
    (listed,) = exceptions(corpus, LinkState(), [usual, unusual])
    assert len(list(links(listed))) == 1
    assert "L0 H1: attention to itself is 20.0% instead of 60.0%" in "".join(texts(listed))


def relation(name: str, accuracy: float, offset: float, pairs: int = 500, random: float = 0.1) -> BestHead:
    return BestHead(name, "forward", 0, 0, accuracy, (0, 1), 1, offset, random, pairs)


def test_relations_are_listed_by_what_the_head_finds_beyond_offset_and_random_weights() -> None:
    rows = [relation("a", 0.9, 0.75), relation("b", 0.7, 0.2), relation("c", 0.7, 0.1, random=0.6)]
    assert [row.relation for row in clearest_relations(rows)] == ["b", "a", "c"]


@pytest.mark.parametrize(
    "left_out", [relation("all", 0.9, 0.1), relation("few", 0.9, 0.1, pairs=9), relation("worse", 0.3, 0.4)]
)
def test_relations_that_no_head_clearly_follows_are_left_out(left_out: BestHead) -> None:
    assert clearest_relations([left_out]) == []


def with_relation(store: str, row: BestHead) -> Page:
    """Page Overview of a store in which a head follows this relation alone."""
    return draw(replace(read(resolve(ServedStore(store), "/", "")), relations=[row]))


def test_a_relation_is_named_in_words_beside_its_label(bank_store: str) -> None:
    page = with_relation(bank_store, relation("dobj", 0.7, 0.2))
    words = "".join(text for part in page.above for text in texts(part))
    assert "dobj (direct object)" in words


def test_a_relation_has_its_interval_and_its_number_of_pairs(bank_store: str) -> None:
    row = replace(relation("dobj", 0.7, 0.2, pairs=1234), interval=(0.65, 0.74))
    words = list(texts(with_relation(bank_store, row).above))
    assert words[words.index("70%") :][:5] == ["70%", "65 to 74%", "20%", "10%", "1,234"]


def test_labels_have_the_colours_that_charts_give_them() -> None:
    sheet = (DASHBOARD / "assets" / "overview.css").read_text("utf-8")
    assert [colour.lower() for colour in LABEL_COLOURS] == re.findall(r"label-\d { --label: (#\w+); }", sheet)
    assert len(LABEL_COLOURS) == len(LABELS)


def test_a_line_joins_each_query_to_each_key_it_attends_to() -> None:
    svg = unquote(attention_lines(np.array([[1.0, 0.0], [0.25, 0.75]])))
    assert svg.count("<line") == 3
    assert 'y1="30" x2="44" y2="10" stroke-opacity="0.25"' in svg


def test_every_link_of_the_page_leads_to_a_page_as_it_is_written(bank_store: str) -> None:
    served_store = ServedStore(bank_store)
    page = draw(read(resolve(served_store, "/", "")))
    followed = [href for part in page.above for href in links(part)]
    assert len(followed) > 10
    for href in followed:
        path, _, query = href.partition("#")[0].partition("?")  # a browser does not send the fragment
        assert resolve(served_store, path, query).notices == ()


def test_without_annotated_words_the_page_says_how_to_get_relations(tiny_store: str) -> None:
    words = "".join(text for part in layout(tiny_store).above for text in texts(part))
    assert "Run headscape ingest" in words.partition("Grammar that heads follow")[2]


def test_without_labelled_heads_the_page_says_so(bank_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context = resolve(ServedStore(bank_store), "/", "")
    none = context.corpus.head_labels.copy(data=np.full(context.corpus.head_labels.shape, "", "U11"))
    monkeypatch.setitem(context.corpus.__dict__, "head_labels", none)
    words = " ".join(text for part in draw(read(context)).above for text in texts(part))
    assert f"0 of {none.size} heads have one clear behaviour" in words
    assert "What single heads do" not in words

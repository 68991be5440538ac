"""The cards of Overview are of the roles that tests find in heads."""

from dataclasses import replace

import numpy as np
import pytest

from dashboard.overview.page import draw, read
from dashboard.overview.role_cards import (
    FEWEST_TOKENS,
    MOST_TOKENS,
    SHOWN,
    SINK,
    SOUGHT,
    RoleHead,
    draw_cards,
    example_of,
    heads_of_cards,
    role_heads,
    sink_head,
)
from dashboard.roles.evidence import RoleKeys
from dashboard.roles.shares import RoleShares, shares_of
from dashboard.ui.markup import Markup
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from store.kernels.rules import RULES
from tests.components import components


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


def made(corpus: Corpus, biases: dict[tuple[str, int, int], float]) -> RoleShares:
    """Role shares in which tests find these roles, by biases of (role, layer, head)."""
    shares = shares_of(corpus)
    bias = np.zeros(shares.bias.shape)
    for (role, layer, head), value in biases.items():
        bias[shares.tested.index(role), layer, head] = value
    return replace(shares, bias=bias, found=bias > 0)


def test_each_role_has_its_clearest_head(corpus: Corpus) -> None:
    shares = made(corpus, {("next", 0, 0): 3, ("next", 1, 0): 5, ("self", 0, 1): 4})
    assert role_heads(shares) == [RoleHead("next", 1, 0, 5), RoleHead("self", 0, 1, 4)]


def test_a_head_stands_for_its_clearest_role_alone(corpus: Corpus) -> None:
    shares = made(corpus, {("next", 0, 0): 6, ("self", 0, 0): 5, ("self", 1, 1): 3})
    assert role_heads(shares) == [RoleHead("next", 0, 0, 6), RoleHead("self", 1, 1, 3)]


def test_there_are_no_more_cards_than_fit(corpus: Corpus) -> None:
    assert len(role_heads(made(corpus, {(role, 0, 0): 3 for role in shares_of(corpus).tested}))) <= SHOWN


def test_the_named_pair_is_the_strongest_of_the_role_in_its_sentence(corpus: Corpus) -> None:
    example = example_of(corpus, RoleHead("next", 1, 0, 3.0))
    assert example is not None
    pattern = corpus.weights(example.sentence, layer=1, head=0)
    targets = RoleKeys.of(RULES["next"], corpus.rule_text.sentence(example.sentence)).targets
    assert targets[example.query, example.key] > 0
    assert pattern[example.query, example.key] == pattern[targets > 0].max()


def test_the_example_is_the_short_sentence_in_which_most_attention_goes_where_the_role_says(corpus: Corpus) -> None:
    example = example_of(corpus, RoleHead("next", 1, 0, 3.0))
    assert example is not None
    sizes = corpus.sentences.row_size.values
    short = np.flatnonzero((sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS))[:SOUGHT].tolist()
    following = {
        sentence: np.mean(np.diagonal(corpus.weights(sentence, layer=1, head=0), 1)[1:-1]) for sentence in short
    }
    assert following[example.sentence] == pytest.approx(max(following.values()), abs=1e-6)


def test_the_card_of_a_sink_is_of_a_head_without_another_card(corpus: Corpus) -> None:
    shares, sink = shares_of(corpus), list(map(str, corpus.roles.role.values)).index(SINK)
    share = np.zeros_like(shares.share)
    share[sink, 0, 0], share[sink, 1, 1] = 0.9, 0.6
    given = replace(shares, share=share)
    measured = float(corpus.head_statistic.sel(statistic="to_cls", source="all", layer=1, head=1))
    assert sink_head(corpus, given, [RoleHead("next", 0, 0, 3)]) == [RoleHead(SINK, 1, 1, 0, measured)]
    assert sink_head(corpus, given, [RoleHead("next", 0, 0, 3), RoleHead("self", 1, 1, 3)]) == []


def test_a_card_opens_the_tab_role_of_its_head(roles_store: str) -> None:
    context = resolve(ServedStore(roles_store), "/", "")
    cards = draw_cards(context.corpus, context.state, {RoleHead("next", 1, 0, 3.0): Markup(tree=[])})
    assert "/head?layer=1&head=0&tab=role" in {getattr(each, "href", "") for each in components(cards)}


def test_the_share_on_the_card_of_a_sink_says_that_it_is_a_mean_over_sentences(roles_store: str) -> None:
    """The tab that the card opens has the mean over words, where a long sentence counts more."""
    context = resolve(ServedStore(roles_store), "/", "")
    cards = draw_cards(context.corpus, context.state, {RoleHead(SINK, 1, 0, 0, 0.79): Markup(tree=[])})
    assert "79% of its attention goes there, mean over sentences." in str(cards)


def test_a_store_without_roles_has_cards_of_labels(bank_store: str) -> None:
    context = resolve(ServedStore(bank_store), "/", "")
    assert heads_of_cards(context.corpus) == []
    assert "What single heads do" in (page := str(draw(read(context))))
    assert "coloured" not in page


def test_a_link_from_a_number_of_heads_with_a_role_has_no_other_filter(roles_store: str, corpus: Corpus) -> None:
    shown = read(resolve(ServedStore(roles_store), "overview", "tagged=previous&does=self&arranged=to_next&above=50"))
    page = draw(replace(shown, roles=made(corpus, {("next", 1, 0): 5})))
    opened = [
        getattr(each, "href", None) for each in components(page.above) if getattr(each, "children", "") == "1 head"
    ]
    assert "/heads?does=next" in opened


def test_cards_are_the_first_part_of_the_page(roles_store: str) -> None:
    titles = [
        str(each.children[0] if isinstance(each.children, list) else each.children)
        for each in components(draw(read(resolve(ServedStore(roles_store), "/", ""))).above)
        if getattr(each, "_type", "") == "H2"
    ]
    assert titles[:3] == ["What single heads do", "What every head does", "Where attention goes, and what arrives"]


def test_the_page_says_which_lines_of_the_cards_are_coloured(roles_store: str) -> None:
    page = str(draw(replace(read(resolve(ServedStore(roles_store), "/", "")), by_role=True)).above)
    assert (
        "Lines run from each token to those that it attends to. Lines of the role are coloured, others grey; "
        "the named pair's line is black or white." in page
    )

"""The cards of Overview are of the roles that tests find in heads."""

from dataclasses import replace

import numpy as np
import pytest

from dashboard.overview.page import draw, read
from dashboard.overview.role_cards import SHOWN, RoleHead, example_of, heads_of_cards, role_heads
from dashboard.roles.evidence import RoleKeys
from dashboard.roles.shares import RoleShares, shares_of
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from store.kernels.rules import RULES
from tests.components import components


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


def made(corpus: Corpus, biases: dict[tuple[str, int, int], float]) -> RoleShares:
    """Roles that are found with these biases: (role, layer, head)."""
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


def test_a_store_without_roles_has_cards_of_labels(bank_store: str) -> None:
    context = resolve(ServedStore(bank_store), "/", "")
    assert heads_of_cards(context.corpus) == []
    assert "A head for each role" not in str(draw(read(context)))


def test_the_section_is_named_after_what_its_cards_are_of(roles_store: str) -> None:
    page = read(resolve(ServedStore(roles_store), "/", ""))
    titles = {
        by_role: [
            each.children
            for each in components(draw(replace(page, by_role=by_role, cards=page.exceptions)).above)
            if getattr(each, "children", None) in ("A head for each role", "The clearest head of each kind")
        ]
        for by_role in (True, False)
    }
    assert titles == {True: ["A head for each role"], False: ["The clearest head of each kind"]}

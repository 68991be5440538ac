"""Heads of page Sentence have the colours of their roles."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard.app import create_app
from dashboard.roles.shares import (
    KINDS,
    NO_ROLE,
    RoleShares,
    kind_number,
    role_cells,
    role_titles,
    shares_of,
    summary,
)
from dashboard.sentence.controls import main_controls, more_groups
from dashboard.sentence.heads import ranking_panel
from dashboard.sentence.picture import read_shown, sentence_picture
from dashboard.ui.theme import KIND_COLOURS, head_colours
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import open_corpus
from store.kernels.rules import RULES
from tests.client import above
from tests.components import components

#: The head to which the tests give a role, and a role of grammar.
HEAD, ROLE = (1, 0), next(name for name, rule in RULES.items() if rule.kind == "grammar")


@pytest.fixture(scope="module")
def shares(roles_store: str) -> RoleShares:
    """Role shares in which one head of four has a role."""
    shares = shares_of(open_corpus(roles_store))
    found = np.zeros(shares.found.shape, bool)
    found[(shares.tested.index(ROLE), *HEAD)] = True
    return replace(shares, found=found, bias=np.full(shares.bias.shape, 3.0))


def drawn(store: str, shares: RoleShares | None, query: str) -> dict[str, Any]:
    context = resolve(ServedStore(store), "sentence", f"?sentence=1&{query}")
    return sentence_picture(replace(read_shown(context), shares=shares))


def test_a_head_has_the_colour_of_the_kind_of_its_clearest_role(roles_store: str, shares: RoleShares) -> None:
    picture = drawn(roles_store, shares, "layer=1")
    assert picture["colours"]["light"][0] == KIND_COLOURS[list(KINDS).index("grammar")]


def test_the_legend_names_each_kind_and_heads_without_a_role(roles_store: str, shares: RoleShares) -> None:
    kinds = drawn(roles_store, shares, "layer=1")["roles"]["kinds"]
    assert [kind["name"] for kind in kinds] == [NO_ROLE, KINDS["grammar"]]


def test_heads_without_a_role_have_the_colour_that_the_legend_says(roles_store: str, shares: RoleShares) -> None:
    picture = drawn(roles_store, shares, "layer=0")
    assert set(picture["colours"]["light"]) == {picture["roles"]["kinds"][0]["colour"]}


def test_the_legend_is_the_same_in_every_layer(roles_store: str, shares: RoleShares) -> None:
    one, other = (drawn(roles_store, shares, f"layer={layer}")["roles"]["kinds"] for layer in (0, 1))
    assert one == other


def test_every_head_of_the_layer_says_what_it_does(roles_store: str, shares: RoleShares) -> None:
    does = drawn(roles_store, shares, "layer=1")["roles"]["does"]
    assert does == {1: [summary(shares, 1, head) for head in range(2)]}


def test_the_thumbnails_of_all_layers_say_what_their_heads_do(roles_store: str, shares: RoleShares) -> None:
    assert list(drawn(roles_store, shares, "show=model")["roles"]["does"]) == [0, 1]


def test_by_head_each_has_its_own_colour_and_says_what_it_does(roles_store: str, shares: RoleShares) -> None:
    picture = drawn(roles_store, shares, "layer=1&headcolour=head")
    assert picture["colours"] == head_colours(2)
    assert picture["roles"]["kinds"] == []
    assert picture["roles"]["does"][1]


@pytest.mark.parametrize("query", ["layer=1&rollout=1", "show=matrix", "show=neuron"])
def test_where_no_heads_stand_side_by_side_nothing_is_coloured_by_role(
    roles_store: str, shares: RoleShares, query: str
) -> None:
    assert drawn(roles_store, shares, query)["roles"] is None


def test_a_store_without_roles_shows_what_it_showed(roles_store: str) -> None:
    picture = drawn(roles_store, None, "layer=1")
    assert (picture["roles"], picture["colours"]) == (None, head_colours(2))


@pytest.mark.parametrize(("query", "offered"), [("", True), ("show=model", False), ("rollout=1", False)])
def test_the_colour_can_be_chosen_where_heads_have_lines(
    roles_store: str, shares: RoleShares, query: str, offered: bool
) -> None:
    state = resolve(ServedStore(roles_store), "sentence", f"?sentence=1&{query}").state
    assert ("headcolour" in str(more_groups(state, shares, []))) == offered
    assert "headcolour" not in str(more_groups(state, None, []))


@pytest.mark.parametrize(("query", "named"), [("layer=1", True), ("layer=0", False), ("layer=1&mean=layers", False)])
def test_a_head_is_offered_with_its_clearest_role(
    roles_store: str, shares: RoleShares, query: str, named: bool
) -> None:
    state = resolve(ServedStore(roles_store), "sentence", f"?show=matrix&{query}").state
    assert (f"0: {RULES[ROLE].title}" in str(main_controls(state, 2, 2, shares))) == named


def test_heads_ranked_by_a_pair_have_their_roles(roles_store: str, shares: RoleShares) -> None:
    context = resolve(ServedStore(roles_store), "sentence", "?sentence=1&layer=1&queries=1&toward=2")
    panel = ranking_panel(replace(read_shown(context), shares=shares))
    cells = [each for each in components(panel) if getattr(each, "title", None) == summary(shares, *HEAD)]
    assert RULES[ROLE].title in str(cells)


def test_a_cell_of_a_role_has_its_kind_and_what_the_head_does(shares: RoleShares) -> None:
    (with_role,), (without,) = role_cells(shares, *HEAD), role_cells(shares, 0, 1)
    assert f"kind-{kind_number(RULES[ROLE].kind)}" in str(with_role)
    assert (with_role.title, without.title) == (summary(shares, *HEAD), summary(shares, 0, 1))
    assert getattr(without, "children", None) is None
    assert role_cells(None, *HEAD) == role_titles(None) == []


@pytest.mark.parametrize("query", ["?relation=all", "?hoffset=%2B1"])
def test_heads_on_page_relations_have_their_roles(query: str, roles_store: str) -> None:
    page = above(create_app(ServedStore(roles_store)).server.test_client(), "/relations", query)
    known = shares_of(open_corpus(roles_store))
    assert page.count("'clearest role']") == (3 if "hoffset" in query else 2)
    assert all(summary(known, layer, head) in page for layer, head in np.ndindex(*known.clearest.shape))

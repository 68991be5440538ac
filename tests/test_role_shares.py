"""Roles of all heads on the pages: shares by kind, roles that tests find, and the heads that a role chooses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dash import html

from dashboard.app import create_app
from dashboard.overview.role_cards import role_heads
from dashboard.pages import TOPICS
from dashboard.points.arrangement import arrangement
from dashboard.roles.shares import KINDS, TAGS, RoleShares, described, read_shares, role_grid, shares_of, what_heads_do
from dashboard.ui.markup import Unmade
from dashboard.ui.theme import KIND_COLOURS, KIND_LINES, PALETTE
from dashboard.web.assets import ASSETS
from dashboard.web.context import resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, open_corpus
from store.kernels.rules import RULES
from tests.browser import Visit
from tests.colour_vision import VISION, contrast, least_difference
from tests.components import components

#: Shares of two heads: one attends to the next token, in the other no role is found.
SHARES = RoleShares(
    kinds=np.array(["sinks", "position", "grammar", "unexplained"]),
    share=np.array([[[0.1, 0.5]], [[0.8, 0.1]], [[0.0, 0.1]], [[0.1, 0.3]]]),
    wording=np.array([["next token 80%, [CLS] 10%", "[CLS] 50%, next token 10%"]]),
    between_words=0.7,
    even=0.5,
    judged=12,
    tested=("next", "verb_of_object"),
    bias=np.array([[[20.0, 2.5]], [[30.0, 1.0]]]),
    found=np.array([[[True, False]], [[False, False]]]),
)


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


def text_of(part: object) -> str:
    return "".join(str(each) for each in components(part) if isinstance(each, str))


def test_shares_of_the_kinds_of_a_head_sum_to_one(corpus: Corpus) -> None:
    np.testing.assert_allclose(shares_of(corpus).of_kinds.sum(axis=0), 1, atol=1e-6)


def test_the_share_of_a_kind_is_the_sum_of_its_roles() -> None:
    assert SHARES.of_kinds[list(KINDS).index("position"), 0].tolist() == [0.8, 0.1]


def test_the_clearest_role_is_the_found_one_with_the_largest_bias_and_none_where_none_is_found() -> None:
    assert [SHARES.clearest_title(0, head) for head in (0, 1)] == ["next token", ""]


def test_every_role_has_a_tag_of_its_own_that_fits_the_corner_of_a_panel() -> None:
    tags = [TAGS.get(role, rule.title) for role, rule in RULES.items()]
    assert len(set(tags)) == len(tags)
    assert max(map(len, tags)) <= len("dependents")


def test_the_tag_of_a_head_is_that_of_its_clearest_role() -> None:
    assert [SHARES.clearest_tag(0, head) for head in (0, 1)] == ["next", ""]


def test_a_role_that_no_test_knows_has_no_heads() -> None:
    assert SHARES.heads_of("cls") == []


def test_a_head_is_described_by_its_shares_by_what_is_not_explained_and_by_its_clearest_role() -> None:
    assert described(SHARES, 0, 0) == (
        "L0 H0: next token 80%, [CLS] 10%; 10% not explained; next token 20 times an average word"
    )


def test_a_head_without_a_role_is_described_by_its_shares() -> None:
    assert described(SHARES, 0, 1) == "L0 H1: [CLS] 50%, next token 10%; 30% not explained"


def test_every_cell_of_the_grid_has_a_bar_of_the_whole_width_and_says_what_its_head_does() -> None:
    cells = [
        each for each in components(role_grid(LinkState(), SHARES)) if getattr(each, "className", "") == "kind-bar"
    ]
    widths = [sum(float(part.style["width"].rstrip("%")) for part in bar.children) for bar in cells]
    np.testing.assert_allclose(widths, [100, 100])


def test_overview_says_how_much_is_explained_and_how_many_heads_have_a_role() -> None:
    text = text_of(what_heads_do(LinkState(), SHARES))
    assert "Rules explain 80% of the attention of words and marks, 20% is not explained" in text
    assert "Means over the words and marks of 12 sentences." in text
    assert "explain 70%, where even attention would explain 50%" in text
    assert "1 of 2 heads have a role that a test finds" in text


def test_overview_of_a_store_without_roles_says_how_to_get_them(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "overview", "")
    assert isinstance(read_shares(context.corpus, None), Unmade)
    assert "Rules and roles of heads: not computed." in text_of(TOPICS["overview"].layout(context).above)


def test_shares_that_are_no_numbers_are_not_known() -> None:
    assert not replace(SHARES, share=np.full_like(SHARES.share, np.nan)).are_known


def test_page_heads_shows_the_heads_in_which_a_test_finds_the_role(corpus: Corpus) -> None:
    shares = shares_of(corpus)
    for role in shares.tested:
        shown = [divmod(head, corpus.heads) for head in arrangement(corpus, LinkState(does=role)).heads]
        assert shown == sorted(shares.heads_of(role)), role


def test_page_heads_of_a_store_without_roles_shows_no_head_of_a_role(tiny_corpus: Corpus) -> None:
    assert arrangement(tiny_corpus, LinkState(does="next")).heads == ()


def test_each_row_of_the_table_of_heads_has_a_cell_for_the_role(roles_store: str) -> None:
    page = TOPICS["statistics"].layout(resolve(ServedStore(roles_store), "statistics", ""))
    [table] = (each for each in components(page.above) if getattr(each, "className", "") == "rows heads stacked cards")
    rows = [each for each in components(table) if isinstance(each, html.Tr)]
    assert len(rows) > 2
    assert len({len(row.children) for row in rows}) == 1


def test_the_map_is_coloured_by_roles_where_the_store_has_them(roles_store: str) -> None:
    context = resolve(ServedStore(roles_store), "map", "?paint=role")
    assert "clearest role" in str(TOPICS["map"].layout(context).above)


def test_the_map_of_a_store_without_roles_offers_no_colours_by_role(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "map", "?paint=role")
    assert "clearest role" not in str(TOPICS["map"].layout(context).above)


def test_the_file_of_all_heads_says_what_each_does(roles_store: str, corpus: Corpus) -> None:
    client = create_app(ServedStore(roles_store)).server.test_client()
    answer = client.get(f"{data_link(corpus)}/statistics.csv?source=all").get_data(as_text=True)
    assert str(shares_of(corpus).wording[0, 0]) in answer


def test_colours_of_the_kinds_are_those_of_the_style_sheet() -> None:
    sheet = (Path(ASSETS) / "overview.css").read_text("utf-8")
    assert len(KIND_COLOURS) == len(KINDS)
    for number, colour in enumerate(KIND_COLOURS[:-1]):
        assert f".kind-{number} {{ --kind: {colour.lower()}; }}" in sheet


def test_lines_of_the_kinds_are_seen_on_their_ground_and_told_apart_as_well_as_fills() -> None:
    sheet = (Path(ASSETS) / "overview.css").read_text("utf-8")
    for number, colour in enumerate(KIND_COLOURS[:-1]):
        darker = KIND_LINES["light"].get(colour)
        assert (f".kind-{number} {{ --kind-line: {(darker or '').lower()}; }}" in sheet) == bool(darker)
    for scheme, lines in KIND_LINES.items():
        drawn = [lines.get(colour, colour) for colour in KIND_COLOURS[:-1]]
        assert min(contrast(colour, PALETTE[scheme]["background"]) for colour in drawn) > (
            3 if scheme == "light" else 2.9
        )
        for vision in VISION:
            assert least_difference(drawn, vision) > 4.7


def test_overview_names_the_head_of_the_card(corpus: Corpus) -> None:
    """The clearest head is one in which no other role is clearer, if any."""
    bias, found = np.array([[[20.0, 2.5]], [[30.0, 1.0]]]), np.array([[[True, True]], [[True, False]]])
    shares = replace(SHARES, bias=bias, found=found)
    assert shares.clearest_head("next") == (0, 1)
    assert shares.clearest_head("verb_of_object") == (0, 0)
    listed = text_of(what_heads_do(LinkState(page="overview"), shares)[5])
    assert "Next token: 2 heads; clearest: L0 H1, 2 times" in listed
    own = shares_of(corpus)
    heads = {card.role: (card.layer, card.head) for card in role_heads(own)}
    assert heads == {role: own.clearest_head(role) for role in heads}


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_every_rule_is_a_sentence_of_a_known_kind(rule: Any) -> None:
    assert rule.kind in KINDS
    assert rule.sentence.endswith(".")


def test_an_entry_of_the_legend_of_kinds_shows_its_kind_alone_and_then_all_again(
    visit: Visit, roles_server: str
) -> None:
    page = visit(roles_server)
    chip = page.get_by_role("button", name=KINDS["position"], exact=True)
    chip.click()
    bars = page.locator(".role-grid .kind-bar span")
    clear = "(spans) => [...new Set(spans.filter((span) => getComputedStyle(span).opacity === '1').map((span) => span.className))]"
    assert bars.evaluate_all(clear) == [f"kind-{list(KINDS).index('position')}"]
    chip.press("Enter")
    assert len(bars.evaluate_all(clear)) > 1

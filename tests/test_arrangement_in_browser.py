"""Page Heads in a browser: labels on panels, sorting, and heads that are left out."""

import numpy as np
import pytest
from playwright.sync_api import Page, Request, expect

from store import Corpus
from store.schema.model import head_name
from tests.browser import Open, Visit, choose_by_enter, drawn, expect_title, followed, picture, seen


@pytest.fixture
def ranked(tiny_corpus: Corpus) -> list[str]:
    """Names of the heads by entropy, descending."""
    values = tiny_corpus.head_statistic.sel(source="all", statistic="entropy").values
    return [head_name(*np.unravel_index(head, values.shape)) for head in np.argsort(-values, axis=None)]


def test_sorted_panels_are_repainted_with_names_and_values_keys_and_clicks_go_by_their_order_and_a_head_leads_back(
    visit: Visit, tiny_server: str, ranked: list[str]
) -> None:
    page = drawn(visit(f"{tiny_server}/heads"))
    is_repainted(page)
    says_names_and_values(page, ranked)
    goes_by_the_shown_order(page, ranked)


def is_repainted(page: Page) -> None:
    """The panels are painted again in the order by entropy, and no points are fetched again."""
    before, fetched = picture(page), []

    def note(request: Request) -> None:
        if "/points/" in request.url:
            fetched.append(request.url)

    page.on("request", note)
    choose_by_enter(page, "Order", "attention entropy")
    seen(page, lambda shown: shown.shape != before.shape or bool((shown != before).any()))
    page.remove_listener("request", note)
    assert fetched == []


def says_names_and_values(page: Page, ranked: list[str]) -> None:
    shown = sorted(page.locator(".panel-names > div").all(), key=placed)
    assert [title.locator("span").text_content() for title in shown] == ranked
    assert all(float(title.locator("b").text_content() or "") > 0 for title in shown)


def placed(title: object) -> tuple[float, float]:
    """Sort key of a panel title: from top to bottom, within a row from left to right."""
    box = title.bounding_box()  # type: ignore[attr-defined]
    return box["y"], box["x"]


def goes_by_the_shown_order(page: Page, ranked: list[str]) -> None:
    """Keys and clicks follow the shown order; a click opens a head, and Backspace leads back."""
    page.locator(".frame").focus()
    said = page.locator(".points .announcement[aria-live]")
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text(ranked[0])
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text(ranked[1])
    title = page.locator(".panel-names > div", has_text=ranked[-1]).bounding_box()
    assert title is not None
    page.mouse.click(title["x"] + 20, title["y"] + title["height"] + 20)
    expect_title(page, f"Queries and keys of {ranked[-1]}")
    drawn(page).locator(".frame").press("Backspace")
    expect(page.locator(".panel-names b").first).not_to_be_empty()


@pytest.mark.slow
def test_a_minimum_leaves_heads_out_says_how_many_are_shown_and_all_can_be_shown_again(
    visit: Visit, tiny_server: str, tiny_corpus: Corpus
) -> None:
    values = np.sort(tiny_corpus.head_statistic.sel(source="all", statistic="entropy").values, axis=None)
    page = drawn(visit(f"{tiny_server}/heads?arranged=entropy"))
    box = page.get_by_role("textbox", name="Minimum, nats")
    with followed(page):
        box.fill(f"{values[1:3].mean():.3f}")
        box.press("Enter")
    expect(page.get_by_text("2 of 4 heads")).to_be_visible()
    expect(page.locator(".panel-names > div:visible")).to_have_count(2)
    with followed(page):
        box.fill("999")
        box.press("Enter")
    page.get_by_role("link", name="Show all heads").click()
    drawn(page)
    expect(page.get_by_text("4 of 4 heads")).to_be_visible()


@pytest.mark.slow
def test_a_label_stands_in_the_corner_of_its_panel(open_page: Open, bank_server: str) -> None:
    page = drawn(open_page(f"{bank_server}/heads"))
    tags = page.locator(".panel-tags span:visible")
    assert tags.count() == page.evaluate(
        "[...document.querySelectorAll('.panel-tags span')].filter(t => t.textContent).length"
    )

"""The (i) behind which every statistic and every normalisation is explained."""

import pytest
from dash import html
from playwright.sync_api import expect

from dashboard.pages import TOPICS
from dashboard.ui.controls import normalization_info, statistic_info
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import STATISTICS
from store.schema.model import RATIOS
from store.schema.pictures import NORMALIZATIONS
from tests.browser import Open
from tests.statistics_page import statistics_page


def text_behind(button: html.Button) -> str:
    return str(getattr(button, "data-info"))


@pytest.mark.parametrize("name", [*STATISTICS, *RATIOS])
def test_a_statistic_is_explained_with_its_formula_and_its_paper(name: str) -> None:
    known = STATISTICS.get(name) or RATIOS[name]
    assert text_behind(statistic_info(name)) == f"{known.meaning} {known.formula} ({known.paper})."
    assert known.meaning.endswith(".")


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_a_normalisation_is_explained(name: str) -> None:
    assert text_behind(normalization_info(name)) == f"{name}: {NORMALIZATIONS[name]}."


@pytest.mark.parametrize("link", ["statistics?statistic=distance", "map?paint=distance", "head?tab=statistics"])
def test_a_page_explains_the_statistics_on_it(tiny_store: str, link: str) -> None:
    page, _, search = link.partition("?")
    context = resolve(ServedStore(tiny_store), page, search)
    assert STATISTICS["distance"].meaning in str(TOPICS[page].layout(context))


def test_the_text_opens_by_hover_click_and_keyboard_and_closes_on_escape(open_page: Open, tiny_server: str) -> None:
    page = statistics_page(open_page, tiny_server)
    button, text = page.get_by_role("button", name="About attention to [SEP]").first, page.get_by_role("tooltip")
    button.hover()
    expect(text).to_contain_text("Share of a query's attention weight on [SEP].")
    page.keyboard.press("Escape")
    expect(text).to_be_hidden()
    button.focus()
    expect(text).to_be_visible()
    expect(button).to_have_attribute("aria-describedby", "info")
    page.keyboard.press("Escape")
    expect(text).to_be_hidden()
    button.click()
    expect(text).to_be_visible()
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1440, "height": 400})
    page.evaluate("scrollTo(0, 0)")
    below = page.get_by_role("button", name="About the curves by layer")
    expect(below).not_to_be_in_viewport()
    below.focus()  # focus scrolls to it
    expect(below).to_be_in_viewport()
    page.wait_for_timeout(300)
    expect(text).to_contain_text("Each dot is a head")

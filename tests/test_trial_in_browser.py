"""A reader tries UMAP on page Features: the picture changes, and another trial is cancelled."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.web.served_store import ServedStore
from tests.browser import DRAWN, SECONDS, Open, changed, choose, drawn, listening, picture, seen
from tests.trials import FakeFit, with_fake_fit


@pytest.fixture
def fit(tiny_store: str) -> Iterator[tuple[FakeFit, ServedStore]]:
    served_store = ServedStore(tiny_store)
    fake = with_fake_fit(served_store)
    yield fake, served_store
    fake.go_on.set()


@pytest.fixture
def page(fit: tuple[FakeFit, ServedStore], open_page: Open) -> Iterator[Page]:
    """Page Features, with its section of the trial."""
    with listening(create_app(fit[1]).server) as address:
        page = drawn(open_page(f"{address}/features?trial=60&fit=joint&neighbors=7"))
        yield page
        page.goto("about:blank")


def run(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()


def test_a_trial_is_drawn_and_another_one_is_cancelled(page: Page, fit: tuple[FakeFit, ServedStore]) -> None:
    fake, before = fit[0], picture(page)
    run(page)
    expect(page.get_by_text("A trial, not in the store.")).to_be_visible()
    expect(page.locator(DRAWN)).to_be_visible()
    seen(page, lambda shown: changed(before, shown) > 0.005)
    assert "fview=trial" in page.url
    fake.go_on.clear()
    choose(page, "Neighbours", "30")
    run(page)
    expect(page.locator(".job")).to_contain_text("Fitting UMAP: 50%")
    fake.ended.clear()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_have_text("The trial was cancelled.")
    assert fake.ended.wait(SECONDS)
    run(page)
    expect(page.locator(".job")).to_contain_text("Fitting UMAP: 50%")
    fake.ended.clear()
    choose(page, "Metric", "cosine")
    assert fake.ended.wait(SECONDS)
    assert [request.trial.neighbors for request in fake.requests] == [7, 30, 30]

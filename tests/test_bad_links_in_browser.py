"""Links that a stranger made up: a page with notices, and in a browser a picture and nothing on the console."""

import re
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.web.served_store import ServedStore
from tests.browser import Open, drawn, followed, until
from tests.client import above

SCRIPT = quote("<script>document.title = 'taken'</script>")
#: Query strings, each with the page's words on it.
BAD = {
    f"q={SCRIPT}": "No token matches",
    f"colour={SCRIPT}": "Ignored an invalid parameter: colour=<script>",
    f"view={SCRIPT}": "Unknown view: ",
    f"model={SCRIPT}&snapshot={SCRIPT}": "Unknown model: ",
    f"where={SCRIPT}:1..2;position:a..b;kind:nothing;;:": "Ignored a filter: token type has no “nothing”.",
    "where=position:nan..inf": "Ignored a filter: “nan..inf” is no range of position.",
    "lasso=1,2,3": "Ignored the lasso: this store has no such picture.",
    f"lasso={SCRIPT},0,0,0,0,1,1,2,2,3,3": "Ignored the lasso: this store has no such picture.",
    "lasso=pca-exact-2d,99,0,0,0,1,1,500,2,3,500": "Ignored the lasso: this store has no such picture.",
    "marks=1-2-3&token=3": "Ignored an invalid parameter: marks=1-2-3",
    "marks=9999-9999&token=3&lines=all&top=999&least=7": "least=7 is not a number from 0 to 1",
    "at=NaN,1e9,-1": "Ignored an invalid parameter: at=NaN",
    "token=99999999&role=value&tab=nothing&within=any": "token=99999999 is out of range",
    f"layer=-1&head=1e9&tokens=0&labels=2&size={SCRIPT}": "layer=-1 is out of range",
}
#: Unusual query strings that are right.
ODD = (
    f"q={quote('дом ☃ 𓀀 ‮')}",
    "q=" + "a" * 7_000,
    "where=" + "position:1..2;" * 400,
    "at=0.5,0.5,99999,720,-720&view=pca-exact-3d",
    "at=1.1.1,..,--1",
    "where=label:%25%25|%7C;role:",
    "&&&===?#",
)
FIELDS = ("q", "colour", "view", "model", "snapshot", "where", "lasso", "marks", "at", "token", "tab")


@pytest.fixture(scope="module")
def space_client(space_store: str) -> FlaskClient:
    return create_app(ServedStore(space_store)).server.test_client()


@pytest.mark.parametrize(("query", "answer"), BAD.items())
def test_the_page_names_invalid_parameters_of_a_link(space_client: FlaskClient, query: str, answer: str) -> None:
    assert answer in above(space_client, "/head", f"?{query}")


@pytest.mark.parametrize("path", ["/heads", "/head"])
@pytest.mark.parametrize("query", ODD)
def test_an_odd_link_shows_its_page(space_client: FlaskClient, path: str, query: str) -> None:
    assert "Queries and keys of" in above(space_client, path, f"?{query}")


def follow(page: Page, query: str) -> None:
    """Go to another link of the page that is open."""
    with page.expect_response("**/data/page"):
        page.evaluate(
            "(link) => (history.pushState({}, '', link), dispatchEvent(new PopStateEvent('popstate')))", query
        )


def test_a_notice_is_shown_once_and_an_odd_link_shows_a_picture_and_is_no_program(
    open_page: Open, space_server: str
) -> None:
    page = drawn(open_page(f"{space_server}/head?layer=0&head=1&least=02&tokens=many"))
    notice_is_shown_once(page)
    for query in (ODD[0], ODD[3], ODD[4], "&".join(f"{field}={SCRIPT}" for field in FIELDS)):
        follow(page, f"?{query}")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Queries and keys of")
        expect(drawn(page).locator(".points .problem")).to_be_empty()
    expect(page.get_by_role("main")).to_contain_text("Ignored a filter: there is no column “<script>")
    assert re.fullmatch(r"Queries and keys of [\w ]+ · Headscape", page.title())


def notice_is_shown_once(page: Page) -> None:
    notice = page.get_by_role("main").get_by_text("least=02 is not a number")
    expect(notice).to_be_visible()
    until(page, "location.search === '?layer=0&head=1'")
    with followed(page):
        page.get_by_role("link", name="Sentence", exact=True).first.click()
    expect(notice).not_to_be_visible()
    with followed(page):
        page.go_back()
    drawn(page)
    expect(notice).not_to_be_visible()

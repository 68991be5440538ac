"""The page of a link is requested at once, and once: the server makes it while the scripts that show it still load."""

from playwright.sync_api import expect

from tests.browser import Open, until
from tests.standing import SETTLED


def test_a_page_is_asked_for_once_and_before_dash_asks_for_its_layout(open_page: Open, tiny_server: str) -> None:
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(tiny_server)))
    page.goto(f"{tiny_server}/statistics")
    until(page, SETTLED)
    assert asked.count("/data/page") == 1
    assert asked.index("/data/page") < asked.index("/_dash-layout")


def test_a_page_that_a_proxy_answered_for_is_asked_for_anew(open_failing: Open, tiny_server: str) -> None:
    page = open_failing("about:blank")
    lost = {"status": 502, "content_type": "text/html", "body": "<h1>Bad gateway</h1>"}
    page.route("**/data/page", lambda route: route.fulfill(**lost), times=1)
    page.goto(f"{tiny_server}/statistics")
    expect(page.locator("#above h1")).to_be_visible()
    expect(page.locator("#above .problem")).to_have_count(0)

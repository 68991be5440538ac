"""From one head to the next: title, numbers and picture change together, the rest stays, and only the last one counts."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import Open, drawn, expect_title, followed, until

#: Remembers every pair of a title's head and a picture's head that could be seen.
WATCH = """() => {
  window.pairs = [];
  const look = () => {
    const [, layer, head] = document.querySelector("h1").textContent.match(/L(\\d+) H(\\d+)$/);
    const place = document.querySelector(".frame").dataset.drawn.match(/(\\d+)\\/(\\d+)\\.bin/);
    if (place) window.pairs.push([`${layer}/${head}`, `${place[1]}/${place[2]}`].join(" "));
    requestAnimationFrame(look);
  };
  look();
}"""


@pytest.fixture
def head(open_page: Open, tiny_server: str) -> Page:
    return drawn(open_page(f"{tiny_server}/head?layer=0&head=0"))


def has_picture_of(page: Page, place: str) -> None:
    until(page, f"document.querySelector('.frame').dataset.drawn.includes('/{place}.bin')")


def test_the_controls_of_a_head_are_those_of_the_next(head: Page) -> None:
    shown = "#above input, #above h1, #beside table, #beside td"
    count = head.evaluate(
        "(shown) => document.querySelectorAll(shown).forEach((one) => (one.dataset.before = ''))", shown
    )
    count = head.locator("[data-before]").count()
    head.locator(".frame").press("ArrowRight")
    expect_title(head, "Queries and keys of L0 H1")
    has_picture_of(head, "0/1")
    assert count > 30
    assert head.locator("[data-before]").count() == count
    expect(head.get_by_role("textbox", name="Head", exact=True)).to_have_value("1")
    expect(head.get_by_label("Attention received by position in L0 H1")).to_be_attached()


def test_title_and_picture_name_the_same_head_in_every_frame_but_a_few_and_two_keys_at_once_are_two_steps(
    head: Page,
) -> None:
    head.evaluate(WATCH)
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        with followed(head):
            head.locator(".frame").press(key)
    has_picture_of(head, "0/0")
    unlike = [pair for pair in head.evaluate("window.pairs") if len(set(pair.split())) > 1]
    assert len(unlike) <= 8  # of hundreds: the frames between the two, at each of four steps
    press = """for (const key of ["ArrowRight", "ArrowDown"])
      document.querySelector(".frame").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));"""
    head.evaluate(press)
    expect_title(head, "Queries and keys of L1 H1")
    has_picture_of(head, "1/1")


def test_of_heads_that_follow_each_other_quickly_only_the_last_is_waited_for(head: Page) -> None:
    requests: list[Route] = []
    failed: list[str] = []
    head.on("requestfailed", lambda request: failed.append(request.url))
    head.route("**/data/page", lambda route: requests.append(route))
    head.locator(".frame").press("ArrowRight")
    head.wait_for_timeout(200)
    head.locator(".frame").press("ArrowDown")
    until(head, "location.search.includes('layer=1')")
    head.wait_for_timeout(200)
    first, last = requests
    last.continue_()
    expect_title(head, "Queries and keys of L1 H1")
    has_picture_of(head, "1/1")
    assert first.request.url in failed

"""Steps from head to head: title, numbers and picture change together, the rest stays, and only the last step counts."""

from playwright.sync_api import Page, Route, expect

from tests.browser import Open, drawn, expect_title, followed, until

#: Notes every pair of the title's head and the picture's head that was visible together.
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


def has_picture_of(page: Page, place: str) -> None:
    until(page, f"document.querySelector('.frame').dataset.drawn.includes('/{place}.bin')")


def test_title_controls_and_picture_are_of_the_same_head_and_only_the_last_of_two_quick_steps_is_waited_for(
    open_page: Open, tiny_server: str
) -> None:
    head = drawn(open_page(f"{tiny_server}/head?layer=0&head=0"))
    keeps_its_controls(head)
    steps_with_its_picture(head)
    waits_for_the_last(head)


def keeps_its_controls(head: Page) -> None:
    """A step from L0 H0 to L0 H1 keeps controls and tables, and fills them with the values of the next head."""
    shown = "#above input, #above h1, #beside table, #beside td"
    head.evaluate("(shown) => document.querySelectorAll(shown).forEach((one) => (one.dataset.before = ''))", shown)
    count = head.locator("[data-before]").count()
    head.locator(".frame").press("ArrowRight")
    expect_title(head, "Queries and keys of L0 H1")
    has_picture_of(head, "0/1")
    assert count > 30
    assert head.locator("[data-before]").count() == count
    expect(head.get_by_role("textbox", name="Head", exact=True)).to_have_value("1")
    expect(head.get_by_label("Attention received by position in L0 H1")).to_be_attached()


def steps_with_its_picture(head: Page) -> None:
    """Steps round all heads: title and picture name the same head in nearly every frame. Two keys at once are two steps, to L1 H0."""
    head.evaluate(WATCH)
    for key in ("ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight"):
        with followed(head):
            head.locator(".frame").press(key)
    has_picture_of(head, "0/1")
    unlike = [pair for pair in head.evaluate("window.pairs") if len(set(pair.split())) > 1]
    assert len(unlike) <= 8  # of hundreds: the frames between the two, at each of four steps
    press = """for (const key of ["ArrowLeft", "ArrowDown"])
      document.querySelector(".frame").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));"""
    head.evaluate(press)
    expect_title(head, "Queries and keys of L1 H0")
    has_picture_of(head, "1/0")


def waits_for_the_last(head: Page) -> None:
    """Two steps to L0 H1: the request of the head between is given up."""
    requests: list[Route] = []
    failed: list[str] = []
    head.on("requestfailed", lambda request: failed.append(request.url))
    head.route("**/data/page", lambda route: requests.append(route))
    head.locator(".frame").press("ArrowRight")
    head.wait_for_timeout(200)
    head.locator(".frame").press("ArrowUp")
    until(head, "!location.search.includes('layer=1')")
    head.wait_for_timeout(200)
    first, last = requests
    last.continue_()
    expect_title(head, "Queries and keys of L0 H1")
    has_picture_of(head, "0/1")
    assert first.request.url in failed

"""The tabs beside the picture of a head: their width by the reader, hidden tabs, and the picture on the whole screen."""

from playwright.sync_api import Page, expect

from tests.browser import Open, drawn, until

WIDTH = "document.querySelector('#beside').getBoundingClientRect().width"
PICTURE = "document.querySelector('.frame').getBoundingClientRect().width"


def test_the_tabs_are_as_wide_as_their_reader_makes_them_or_hidden_and_the_picture_fills_the_screen(
    open_page: Open, tiny_server: str
) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=0"))
    fills_the_screen(page)
    border_is_moved(page)
    tabs_are_hidden(page)


def fills_the_screen(page: Page) -> None:
    before = page.evaluate(PICTURE)
    full = page.get_by_role("button", name="Full screen")
    page.bring_to_front()  # Chromium with windows grants the screen to no page behind another
    full.click()
    until(page, f"{PICTURE} > {before + 200}")
    expect(full).to_have_attribute("aria-pressed", "true")
    full.click()
    until(page, f"{PICTURE} === {before}")


def border_is_moved(page: Page) -> None:
    """The border moves by keys and by dragging."""
    border = page.get_by_role("separator", name="Border of the tabs")
    width, picture = page.evaluate(WIDTH), page.evaluate(PICTURE)
    border.press("ArrowLeft")
    until(page, f"{WIDTH} === {width + 24}")
    until(page, f"{PICTURE} === {picture - 24}")
    expect(border).to_have_attribute("aria-valuenow", str(round(width + 24)))
    box = border.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 6, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] - 94, box["y"] + 200, steps=3)
    page.mouse.up()
    until(page, f"{WIDTH} === {width + 124}")
    border.press("Home")
    until(page, f"{WIDTH} === 280")


def tabs_are_hidden(page: Page) -> None:
    """The tabs are hidden until they are shown again, as wide as before; in a narrow window they are below the picture."""
    turn, tab = page.get_by_role("button", name="Show or hide the tabs"), page.get_by_role("tab", name="Statistics")
    turn.click()
    expect(tab).to_be_hidden()
    page.reload()
    drawn(page)
    expect(tab).to_be_hidden()
    turn.press("Enter")
    expect(tab).to_be_visible()
    until(page, f"{WIDTH} === 280")
    page.set_viewport_size({"width": 360, "height": 900})
    expect(page.get_by_role("separator")).to_be_hidden()
    until(page, "document.documentElement.scrollWidth <= 360")

"""Ctrl+Z goes back a step of the link, with Shift forward, on the same page; a sentence names the undone step."""

import re

from playwright.sync_api import Page, expect

from tests.browser import Open, Visit, canvas_place, choose, drawn


def said(page: Page, sentence: str) -> None:
    expect(page.locator("#undone")).to_have_text(sentence)


def lasso(page: Page) -> None:
    """Draw a box around the middle of the picture."""
    page.get_by_role("button", name="Box", exact=True).click()
    page.mouse.move(*canvas_place(page, 0.2, 0.2))
    page.mouse.down()
    page.mouse.move(*canvas_place(page, 0.8, 0.8), steps=6)
    page.mouse.up()
    expect(page).to_have_url(re.compile("lasso="))


def test_a_lasso_and_a_colour_are_undone_and_done_again(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=0"))
    opened = page.url
    page.keyboard.press("Control+z")
    said(page, "There is nothing to undo on this page.")
    expect(page).to_have_url(opened)
    lasso(page)
    choose(page, "Colour", "token type")
    expect(page).to_have_url(re.compile("colour=kind"))
    page.keyboard.press("Control+z")
    said(page, "Undone: Colour.")
    expect(page).not_to_have_url(re.compile("colour="))
    expect(page.get_by_role("textbox", name="Colour")).to_have_value("query or key")
    page.keyboard.press("Control+z")
    said(page, "Undone: the lasso.")
    expect(page).to_have_url(opened)
    expect(page.locator(".count")).not_to_contain_text("drawn queries and keys")
    page.keyboard.press("Control+Shift+Z")
    said(page, "Done again: the lasso.")
    expect(page).to_have_url(re.compile("lasso="))


def test_in_a_text_box_its_own_undo_holds(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/heads"))
    choose(page, "Colour", "token type")
    expect(page).to_have_url(re.compile("colour=kind"))
    box = page.get_by_placeholder("movie, then Enter")
    box.press_sequentially("film")
    page.keyboard.press("Control+z")
    expect(page).to_have_url(re.compile("colour=kind"))
    expect(page.locator("#undone")).to_be_empty()

"""A reader who uses a page by the mouse or by the keyboard alone, with counts of clicks and keys."""

import math
import re
from collections.abc import Callable
from typing import Protocol

from playwright.sync_api import Locator, Page, expect

from tests.browser import DRAWN, canvas_place

Condition = Callable[[], bool]
#: Presses of a key after which a reader gives up.
PATIENCE = 200


#: How far below the window an element ends, in heights of the window.
BELOW = "(element) => element.getBoundingClientRect().bottom / innerHeight - 1"
#: Milliseconds after which a key has scrolled the page.
SCROLLED = 250


class Reader(Protocol):
    """A reader who does the steps of a task on one page, and counts them.

    Attributes
    ----------
    presses
        Number of clicks, or of keys.
    typed
        Number of typed texts.
    screens
        Heights of the window that the wheel scrolled; keys that scroll are among `presses`.
    """

    page: Page
    presses: int
    typed: int
    screens: int

    def open(self, title: str) -> None:
        """Go to a page by its title."""

    def follow(self, target: Locator) -> None:
        """Use a link or a button."""

    def choose(self, control: str, option: str) -> None:
        """Choose an option of a control."""

    def write(self, box: str, text: str) -> None:
        """Type a text into a box, and Enter."""

    def replace(self, box: str, text: str) -> None:
        """Type a text in place of what is in a box, and Enter."""

    def switch(self, name: str) -> None:
        """Turn a switch on, or off."""

    def pick(self, group: Locator, option: str) -> None:
        """Pick one of some options that stand beside each other."""

    def select(self, group: Locator, item: Locator) -> None:
        """Select one of a group that the arrow keys walk through."""

    def mark(self, key: Locator) -> None:
        """Mark the pair of the selected query and a key."""

    def click_point(self) -> None:
        """Select a point of the picture."""

    def see(self, target: Locator) -> None:
        """Scroll down to something."""

    def copy_link(self) -> None:
        """Copy the link of what is on screen."""


class Mouse:
    """A reader who clicks, and uses the keyboard to type alone."""

    def __init__(self, page: Page) -> None:
        self.page, self.presses, self.typed, self.screens = page, 0, 0, 0

    def open(self, title: str) -> None:
        self.follow(self.page.locator("#navigation").get_by_role("link", name=title, exact=True))

    def follow(self, target: Locator) -> None:
        target.click()
        self.presses += 1

    def choose(self, control: str, option: str) -> None:
        self.follow(self.page.get_by_role("textbox", name=control, exact=True))
        self.follow(self.page.get_by_role("option", name=option, exact=True))

    def write(self, box: str, text: str) -> None:
        self.follow(self.page.get_by_role("textbox", name=box, exact=True))
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")
        self.typed += 1

    def replace(self, box: str, text: str) -> None:
        self.page.get_by_role("textbox", name=box, exact=True).dblclick()
        self.presses += 2
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")
        self.typed += 1

    def switch(self, name: str) -> None:
        self.follow(self.page.locator("label").filter(has_text=name).first)

    def pick(self, group: Locator, option: str) -> None:
        self.follow(group.get_by_text(option, exact=True))

    def select(self, group: Locator, item: Locator) -> None:
        expect(group).to_be_visible()
        self.follow(item)

    def mark(self, key: Locator) -> None:
        key.click(modifiers=["Shift"])
        self.presses += 1

    def click_point(self) -> None:
        expect(self.page.locator(DRAWN)).to_be_visible()
        self.page.mouse.click(*canvas_place(self.page, 0.5, 0.5))
        self.presses += 1

    def see(self, target: Locator) -> None:
        expect(target).to_be_visible()
        self.screens += math.ceil(max(0.0, float(target.evaluate(BELOW))))
        target.scroll_into_view_if_needed()

    def copy_link(self) -> None:
        self.follow(self.page.get_by_role("button", name="Copy link"))


class Keyboard:
    """A reader who presses keys: shortcuts of pages and of the search, Tab past the navigation to a target, Enter."""

    def __init__(self, page: Page) -> None:
        self.page, self.presses, self.typed, self.screens = page, 0, 0, 0

    def open(self, title: str) -> None:
        link = self.page.locator("#navigation").get_by_role("link", name=title, exact=True)
        self._press("g")
        self._press(link.get_attribute("data-letter") or "")
        expect(link).to_have_attribute("aria-current", "page")

    def follow(self, target: Locator) -> None:
        self._reach(target)
        self._press("Enter")

    def choose(self, control: str, option: str) -> None:
        box = self.page.get_by_role("textbox", name=control, exact=True)
        self._reach(box)
        self._press("ArrowDown")
        expect(self.page.get_by_role("option").first).to_be_visible()
        marked = self.page.locator('[role="option"][data-combobox-selected]')
        wanted = re.compile(f"^{re.escape(option)}$")
        self._until(lambda: marked.filter(has_text=wanted).count() > 0, "ArrowDown")
        self._press("Enter")

    def write(self, box: str, text: str) -> None:
        self._press("/")
        self._reach(self.page.get_by_role("textbox", name=box, exact=True))
        self.page.keyboard.type(text)
        self._press("Enter")
        self.typed += 1

    def replace(self, box: str, text: str) -> None:
        self._reach(self.page.get_by_role("textbox", name=box, exact=True))
        self.page.keyboard.type(text)
        self._press("Enter")
        self.typed += 1

    def switch(self, name: str) -> None:
        self._reach(self.page.get_by_role("switch", name=name, exact=True))
        self._press("Space")

    def pick(self, group: Locator, option: str) -> None:
        chosen = self.page.locator("input[type=radio]:focus + label")
        self._walk_into(group)
        self._until(lambda: chosen.inner_text() == option, "ArrowRight")

    def select(self, group: Locator, item: Locator) -> None:
        expect(group).to_be_visible()
        self._walk_into(group)
        key = "ArrowRight" if group.get_attribute("role") == "tablist" else "ArrowDown"
        self._until(lambda: _is_focused(item), key)
        self._press("Enter")

    def mark(self, key: Locator) -> None:
        if not self.page.locator(".tokens.key :focus").count():
            self._press("ArrowRight")
        self._until(lambda: _is_focused(key), "ArrowDown")
        self._press("m")

    def click_point(self) -> None:
        self._reach(self.page.locator(DRAWN))
        self._press("p")
        self._press("Enter")

    def see(self, target: Locator) -> None:
        expect(target).to_be_visible()
        self._until(lambda: float(target.evaluate(BELOW)) <= 0, "PageDown", SCROLLED)

    def copy_link(self) -> None:
        self._press("c")

    def _reach(self, target: Locator) -> None:
        """Walk to a target, past the navigation where the walk begins at the top of the page."""
        expect(target).to_be_visible()
        if self.page.evaluate("document.activeElement === document.body"):
            self._press("Tab")
        if self.page.evaluate("document.activeElement.matches('.skip')"):
            self._press("Enter")
        self._until(lambda: _is_focused(target), "Tab")

    def _walk_into(self, group: Locator) -> None:
        self._until(lambda: bool(group.evaluate("(group) => group.contains(document.activeElement)")), "Tab")

    def _until(self, condition: Condition, key: str, pause: int = 0) -> None:
        for _ in range(PATIENCE):
            if condition():
                return
            self._press(key)
            self.page.wait_for_timeout(pause)
        raise AssertionError(f"Not reached within {PATIENCE} presses of {key}")

    def _press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.presses += 1


def _is_focused(target: Locator) -> bool:
    return bool(target.evaluate("(element) => element === document.activeElement"))

"""A reader who uses a page by the mouse or by the keyboard alone, and how often each click and key was pressed."""

import re
from collections.abc import Callable
from typing import Protocol

from playwright.sync_api import Locator, Page, expect

Condition = Callable[[], bool]
#: Presses of a key after which a reader gives up.
PATIENCE = 200


class Reader(Protocol):
    """Does what a task asks on one page; `presses` counts clicks or keys, `typed` texts that were typed."""

    page: Page
    presses: int
    typed: int

    def open(self, title: str) -> None:
        """Go to a page by its title."""

    def follow(self, target: Locator) -> None:
        """Use a link or a button."""

    def choose(self, control: str, option: str) -> None:
        """Choose an option of a control."""

    def write(self, box: str, text: str) -> None:
        """Type a text into a box, and Enter."""

    def select(self, group: Locator, item: Locator) -> None:
        """Select one of a group that the arrow keys walk through."""

    def copy_link(self) -> None:
        """Copy the link of what is on screen."""


class Mouse:
    """Clicks; typing takes a keyboard, too."""

    def __init__(self, page: Page) -> None:
        self.page, self.presses, self.typed = page, 0, 0

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

    def select(self, group: Locator, item: Locator) -> None:
        expect(group).to_be_visible()
        self.follow(item)

    def copy_link(self) -> None:
        self.follow(self.page.get_by_role("button", name="Copy link"))


class Keyboard:
    """Presses keys: the shortcuts of pages and of the search, Tab past the navigation to a target, Enter."""

    def __init__(self, page: Page) -> None:
        self.page, self.presses, self.typed = page, 0, 0

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

    def select(self, group: Locator, item: Locator) -> None:
        expect(group).to_be_visible()
        self._until(lambda: bool(group.evaluate("(group) => group.contains(document.activeElement)")), "Tab")
        self._until(lambda: _is_focused(item), "ArrowDown")
        self._press("Enter")

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

    def _until(self, condition: Condition, key: str) -> None:
        for _ in range(PATIENCE):
            if condition():
                return
            self._press(key)
        raise AssertionError(f"Not reached within {PATIENCE} presses of {key}")

    def _press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.presses += 1


def _is_focused(target: Locator) -> bool:
    return bool(target.evaluate("(element) => element === document.activeElement"))

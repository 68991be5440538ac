"""A page that the browser translates has the same texts as the untranslated page, after every choice."""

import pytest
from playwright.sync_api import Page

from tests.browser import Open, choose, drawn, turned_to, until

#: Imitates translators of browsers: an element with the translation replaces each text, unless it must not be translated.
#: Here a translation equals its text, so that a text that is left behind is seen.
TRANSLATE = """() => {
  const kept = "script, style, textarea, [translate=no]";
  function translate(text) {
    const around = text.parentElement;
    if (!around || !text.data.trim() || around.closest(kept) || around.closest("font")) return;
    const [outer, inner] = [0, 0].map(() => document.createElement("font"));
    inner.textContent = text.data;
    outer.append(inner);
    text.replaceWith(outer);
  }
  function translateAll(node) {
    const [walker, texts] = [document.createTreeWalker(node, NodeFilter.SHOW_TEXT), []];
    while (walker.nextNode()) texts.push(walker.currentNode);
    texts.forEach(translate);
  }
  translateAll(document.body);
  const watched = { childList: true, subtree: true, characterData: true };
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === "characterData") translate(target);
      for (const node of addedNodes) node.nodeType === Node.TEXT_NODE ? translate(node) : translateAll(node);
    }
  }).observe(document.body, watched);
}"""
TEXTS = """() => [...document.querySelectorAll("header, #navigation, #page")].flatMap((part) => part.innerText.split("\\n"))
  .map((line) => line.replace(/\\s+/g, " ").trim()).filter((line) => line && !line.startsWith("Ready: ")).sort()"""
#: Elements that a translator must not touch.
DATA = "td.number, .sentence-text, .tokens .token, .panel-names span, bdi, mark"
SETTLED = "!document.querySelector('#page[aria-busy], #page [aria-busy=true], #page .waiting')"
#: Links in order: each changes texts of the link before, within its elements and beside them.
LINKS = (
    "/head?layer=1&head=0&token=5&role=key",
    "/heads?arranged=to_sep&q=a&where=position:1..9&colour=label",
    "/statistics?statistic=to_sep",
    "/relations?relation=nsubj&layer=1&head=1",
    "/sentence?sentence=2&queries=1&show=matrix",
    "/",
)


def settled(page: Page) -> Page:
    until(page, SETTLED)
    return page


def assert_same_texts(plain: Page, translated: Page) -> None:
    """Assert that both pages have the same texts, once both have drawn all."""
    for _ in range(40):
        if settled(translated).evaluate(TEXTS) == settled(plain).evaluate(TEXTS):
            break
        plain.wait_for_timeout(250)
    assert translated.evaluate(TEXTS) == plain.evaluate(TEXTS), plain.url


@pytest.mark.slow
def test_a_translated_page_shows_what_its_link_says(open_page: Open, bank_server: str) -> None:
    plain, translated = (drawn(open_page(f"{bank_server}/head?layer=0&head=0")) for _ in range(2))
    translated.evaluate(TRANSLATE)
    for page in (plain, translated):
        choose(page, "Head", "1")
    assert_same_texts(plain, translated)
    for link in LINKS:
        for page in (plain, translated):
            turned_to(page, f"{bank_server}{link}")
        assert_same_texts(plain, translated)
        assert translated.locator(DATA).locator("font").count() == 0, link

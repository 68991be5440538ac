"""Sentences are found, and reached from every page, in a browser."""

import re
from urllib.parse import parse_qs

import numpy as np
import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Locator, Page, expect

from dashboard.sentence.finder import sentence_means
from store import Corpus
from tests.browser import RENDERED, Visit, choose, closed
from tests.client import shown as contents
from tests.sentence_page import has_lines, link_fields, open_controls, sentence_page, shown

SORT = "Ranked by (L0 H0)"


@pytest.fixture
def page(visit: Visit, tiny_server: str) -> Page:
    return sentence_page(visit, tiny_server, sentence=0)


def found_sentences(page: Page) -> Locator:
    """The rows of the matching sentences."""
    return page.get_by_role("region", name="Matching sentences").locator("tbody tr")


def sentences_with(corpus: Corpus, word: str) -> list[int]:
    return [number for number, text in enumerate(corpus.sentences.text.values) if word in str(text).lower()]


def test_a_found_a_random_the_next_and_the_one_before_are_a_click_away_and_words_label_and_length_find_sentences(
    page: Page, tiny_corpus: Corpus
) -> None:
    leads_to_sentences(page, tiny_corpus)
    finds_sentences(page, tiny_corpus)


def finds_sentences(page: Page, tiny_corpus: Corpus) -> None:
    """Sentences are found by words, label and length; the page says where there are none. Numbers: `test_finder.py`."""
    words = page.get_by_role("textbox", name="Words")
    words.fill("film")
    page.keyboard.press("Enter")
    expected = sentences_with(tiny_corpus, "film")
    expect(page.get_by_text(f"{len(expected)} of {tiny_corpus.n_sentences} sentences match")).to_be_visible()
    assert [int(line.split("\t")[0]) for line in found_sentences(page).all_inner_texts()] == expected
    words.fill("xylophone")
    page.keyboard.press("Enter")
    expect(page.get_by_text("None of 40 sentences has the word “xylophone”.")).to_be_visible()
    page.get_by_role("link", name="Clear the filters").click()
    expect(words).to_have_value("")
    expect(found_sentences(page)).to_have_count(20)
    choose(page, "Label", "negative")
    negative = np.array([tiny_corpus.label_name(at) == "negative" for at in range(tiny_corpus.n_sentences)])
    expect(page.get_by_text(f"{negative.sum()} of {tiny_corpus.n_sentences} sentences match")).to_be_visible()
    page.get_by_role("textbox", name="min tokens").fill("10")
    expect(page).to_have_url(re.compile(r"fewest=10(&|$)"))
    count = int((negative & (tiny_corpus.sentences.row_size.values >= 10)).sum())
    expect(page.get_by_text(f"{count} of {tiny_corpus.n_sentences} sentences match")).to_be_visible()


def test_the_sentences_in_which_a_head_does_most_or_least_of_something_come_first(
    page: Page, tiny_corpus: Corpus
) -> None:
    order = page.get_by_role("textbox", name="Order", exact=True)
    expect(order).to_be_disabled()  # sentences in corpus order have no smallest value
    choose(page, SORT, "attention to [SEP]")
    expect(page).to_have_url(re.compile(r"by=to_sep(&|$)"))
    means = sentence_means(tiny_corpus, "to_sep", 0, 0)
    expect(found_sentences(page).first).to_contain_text(f"{100 * means.max():.1f}%")
    assert found_sentences(page).first.inner_text().split("\t")[0] == str(np.argmax(means))
    text = found_sentences(page).first.locator(".text").bounding_box()
    assert text is not None
    assert text["width"] >= 170
    closed(page)
    choose(page, "Order", "smallest first")
    expect(page).to_have_url(re.compile(r"first=smallest(&|$)"))
    expect(found_sentences(page).first).to_contain_text(f"{100 * means.min():.1f}%")
    assert found_sentences(page).first.inner_text().split("\t")[0] == str(np.argmin(means))


def test_the_table_of_found_sentences_fits_its_box_and_its_text_takes_the_rest(visit: Visit, tiny_server: str) -> None:
    page = sentence_page(visit, tiny_server, by="to_sep")
    box, row = page.get_by_role("region", name="Matching sentences"), found_sentences(page).first
    try:
        for width in (360, 1000, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            expect(row).to_be_visible()
            page.evaluate(RENDERED)
            assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0, width
            widths = row.locator("td").evaluate_all("cells => cells.map((cell) => cell.getBoundingClientRect().width)")
            assert width != 1000 or widths[-1] >= 0.75 * sum(widths)
    finally:
        page.set_viewport_size({"width": 1440, "height": 900})


def test_a_window_that_turns_narrow_has_its_layout_at_once(page: Page) -> None:
    durations = page.get_by_role("main").evaluate("(main) => getComputedStyle(main).transitionDuration.split(', ')")
    assert set(durations) == {"0s"}


def test_the_controls_of_a_typed_pair_show_their_whole_choice(visit: Visit, tiny_server: str) -> None:
    pair = {"text": "The film was good.", "second": "We loved it.", "pair": "ab", "by": "confidence"}
    page = sentence_page(visit, tiny_server, **pair)
    open_controls(page)
    controls = ("View", "Weight", SORT, "Order")
    boxes = [page.get_by_role("textbox", name=control, exact=True) for control in controls]
    hidden = [box.evaluate("box => box.scrollWidth - box.clientWidth") for box in boxes]
    assert dict(zip(controls, hidden, strict=True)) == dict.fromkeys(controls, 0)


def leads_to_sentences(page: Page, tiny_corpus: Corpus) -> None:
    """Links lead to a found sentence, to the next, to the previous and to a random sentence."""
    title, count = page.get_by_role("heading", level=1), tiny_corpus.n_sentences
    found_sentences(page).nth(2).get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"sentence=2(&|$)"))
    has_lines(shown(page), tiny_corpus.pattern(2, layer=0).values)
    page.get_by_title("next sentence").click()
    expect(title).to_contain_text(f"Sentence 3 of {count}")
    page.get_by_title("previous sentence").click()
    expect(title).to_contain_text(f"Sentence 2 of {count}")
    page.get_by_title("a random sentence").click()
    expect(title).not_to_contain_text(f"Sentence 2 of {count}")
    assert int(link_fields(page).get("sentence", 0)) in range(count)


@pytest.mark.parametrize(
    ("place", "path", "search", "expected"),
    [
        ("beside", "/head", "?layer=1&head=1&token=30&tab=point", {"sentence", "queries"}),
        ("beside", "/head", "?layer=1&head=1&tab=pairs", {"layer", "queries", "toward"}),
        ("beside", "/head", "?layer=1&head=1&tab=statistics", {"by"}),
        ("below", "/heads", "?q=film", {"sentence"}),
    ],
    ids=["a point", "a pair", "a statistic", "a search"],
)
def test_what_leads_to_its_sentences(
    client: FlaskClient, tiny_corpus: Corpus, place: str, path: str, search: str, expected: set[str]
) -> None:
    links = [parse_qs(query) for query in re.findall(r"/sentence\?([^'\"]*)", contents(client, place, path, search))]
    links = [link for link in links if expected <= link.keys()]
    assert links
    if "token=30" in search:
        token = tiny_corpus.tokens.isel(token=int(tiny_corpus.rows[30]))
        own = {"sentence": [str(int(token.sentence_index))], "queries": [str(int(token.position))]}
        assert any(own.items() <= link.items() for link in links)
    if "statistics" in search:
        assert ["to_sep"] in [link["by"] for link in links]

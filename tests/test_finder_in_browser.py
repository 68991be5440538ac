"""Sentences are found, and reached from every page, in a browser."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from dashboard.sentence.finder import sentence_means
from store import Corpus
from tests.browser import Open, Visit, choose, choose_by_enter, closed, drawn
from tests.sentence_page import has_lines, link_fields, sentence_page, shown

SORT = "Ranked by (L0 H0)"


@pytest.fixture
def page(visit: Visit, tiny_server: str) -> Page:
    return sentence_page(visit, tiny_server, sentence=0)


def found_sentences(page: Page) -> Locator:
    """The rows of the matching sentences."""
    return page.get_by_role("region", name="Matching sentences").locator("tbody tr")


def sentences_with(corpus: Corpus, word: str) -> list[int]:
    return [number for number, text in enumerate(corpus.sentences.text.values) if word in str(text).lower()]


def test_words_find_the_sentences_that_have_them(page: Page, tiny_corpus: Corpus) -> None:
    page.get_by_role("textbox", name="Words").fill("film")
    page.keyboard.press("Enter")
    expected = sentences_with(tiny_corpus, "film")
    expect(page.get_by_text(f"{len(expected)} of {tiny_corpus.n_sentences} sentences match")).to_be_visible()
    assert [int(line.split("\t")[0]) for line in found_sentences(page).all_inner_texts()] == expected


def test_a_label_leaves_its_sentences(page: Page, tiny_corpus: Corpus) -> None:
    choose(page, "Label", "negative")
    count = [tiny_corpus.label_name(number) for number in range(tiny_corpus.n_sentences)].count("negative")
    expect(page.get_by_text(f"{count} of {tiny_corpus.n_sentences} sentences match")).to_be_visible()


def test_a_length_leaves_sentences_of_it(page: Page, tiny_corpus: Corpus) -> None:
    page.get_by_role("textbox", name="min tokens").fill("10")
    expect(page).to_have_url(re.compile(r"fewest=10(&|$)"))
    count = int((tiny_corpus.sentences.row_size.values >= 10).sum())
    expect(page.get_by_text(f"{count} of {tiny_corpus.n_sentences} sentences match")).to_be_visible()


def test_the_sentences_in_which_a_head_does_most_of_something_come_first(page: Page, tiny_corpus: Corpus) -> None:
    choose(page, SORT, "attention to [SEP]")
    expect(page).to_have_url(re.compile(r"by=to_sep(&|$)"))
    means = sentence_means(tiny_corpus, "to_sep", 0, 0)
    first = int(np.argmax(means))
    expect(found_sentences(page).first).to_contain_text(f"{100 * means[first]:.1f}%")
    assert found_sentences(page).first.inner_text().split("\t")[0] == str(first)


def test_the_sentences_in_which_a_head_does_least_of_something_can_come_first(page: Page, tiny_corpus: Corpus) -> None:
    choose(page, SORT, "attention to [SEP]")
    choose(page, "Order", "smallest first")
    expect(page).to_have_url(re.compile(r"first=smallest(&|$)"))
    means = sentence_means(tiny_corpus, "to_sep", 0, 0)
    first = int(np.argmin(means))
    expect(found_sentences(page).first).to_contain_text(f"{100 * means[first]:.1f}%")
    assert found_sentences(page).first.inner_text().split("\t")[0] == str(first)


def test_sentences_in_corpus_order_have_no_smallest_value(page: Page) -> None:
    expect(page.get_by_role("textbox", name="Order", exact=True)).to_be_disabled()


def test_the_list_of_what_sentences_are_sorted_by_closes_after_a_choice(page: Page) -> None:
    choose(page, SORT, "attention to [SEP]")
    closed(page)
    choose_by_enter(page, SORT, "attention to [CLS]")
    closed(page)


def test_the_text_of_found_sentences_stays_wide_beside_a_sort(page: Page) -> None:
    choose(page, SORT, "attention to [SEP]")
    text = found_sentences(page).first.locator(".text").bounding_box()
    assert text is not None
    assert text["width"] >= 170


@pytest.mark.parametrize("by", ["to_sep", pytest.param("distance", marks=pytest.mark.slow)])
def test_the_table_of_found_sentences_fits_its_box_and_its_text_takes_the_rest(
    page: Page, visit: Visit, tiny_server: str, by: str
) -> None:
    sentence_page(visit, tiny_server, by=by)
    box, row = page.get_by_role("region", name="Matching sentences"), found_sentences(page).first
    try:
        for width in (360, 1000, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            expect(row).to_be_visible()
            assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0, width
            widths = row.locator("td").evaluate_all("cells => cells.map((cell) => cell.getBoundingClientRect().width)")
            assert width != 1000 or widths[-1] >= 0.75 * sum(widths)
    finally:
        page.set_viewport_size({"width": 1440, "height": 900})


def test_the_controls_of_a_typed_pair_show_their_whole_choice(visit: Visit, tiny_server: str) -> None:
    pair = {"text": "The film was good.", "second": "We loved it.", "pair": "ab", "by": "confidence"}
    page = sentence_page(visit, tiny_server, **pair)
    controls = ("View", "Attention", "Weight", SORT, "Order")
    boxes = [page.get_by_role("textbox", name=control, exact=True) for control in controls]
    hidden = [box.evaluate("box => box.scrollWidth - box.clientWidth") for box in boxes]
    assert dict(zip(controls, hidden, strict=True)) == dict.fromkeys(controls, 0)


def test_a_found_sentence_opens(page: Page, tiny_corpus: Corpus) -> None:
    found_sentences(page).nth(2).get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"sentence=2(&|$)"))
    has_lines(shown(page), tiny_corpus.pattern(2, layer=0).values)


def test_nothing_found_says_so_and_can_be_cleared(page: Page) -> None:
    page.get_by_role("textbox", name="Words").fill("xylophone")
    page.keyboard.press("Enter")
    expect(page.get_by_text("None of 40 sentences has the word “xylophone”.")).to_be_visible()
    page.get_by_role("link", name="Clear the filters").click()
    expect(page.get_by_role("textbox", name="Words")).to_have_value("")
    expect(found_sentences(page)).to_have_count(20)


def test_a_random_sentence_is_one_of_the_corpus(page: Page, tiny_corpus: Corpus) -> None:
    for _ in range(3):
        page.get_by_title("a random sentence").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"of {tiny_corpus.n_sentences}")
        assert int(link_fields(page).get("sentence", 0)) in range(tiny_corpus.n_sentences)


def test_the_next_and_the_one_before_are_a_click_away(page: Page, tiny_corpus: Corpus) -> None:
    page.get_by_title("next sentence").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Sentence 1 of {tiny_corpus.n_sentences}")
    page.get_by_title("previous sentence").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Sentence 0 of {tiny_corpus.n_sentences}")


def test_a_point_leads_to_its_sentence(open_page: Open, tiny_server: str, tiny_corpus: Corpus) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=1&token=30&tab=point"))
    place = tiny_corpus.tokens.isel(token=int(tiny_corpus.rows[30]))
    sentence, position = int(place.sentence_index), int(place.position)
    page.locator("#beside").locator(f'a[href*="/sentence?"][href*="sentence={sentence}"]').first.click()
    shown(page)
    assert (link_fields(page)["sentence"], link_fields(page)["queries"]) == (str(sentence), str(position))


def test_a_pair_leads_to_its_sentence(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=1&tab=pairs"))
    page.locator('#beside a[href*="/sentence?"]').first.click()
    shown(page)
    assert {"layer", "queries", "toward"} <= set(link_fields(page))


def test_a_statistic_leads_to_the_sentences_with_most_of_it(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=1&tab=statistics"))
    page.get_by_role("link", name="attention to [SEP]", exact=True).click()
    expect(shown(page).get_by_role("heading", level=1)).to_contain_text("Sentence ")
    assert link_fields(page)["by"] == "to_sep"
    expect(found_sentences(page).first).to_contain_text("%")


def test_a_search_leads_to_its_sentences(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/?q=film"))
    page.locator('#below a[href*="/sentence"]').first.click()
    shown(page)

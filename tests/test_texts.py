"""Words that puzzled new readers, and that no page may have again (tests/texts.py prints every text)."""

import re

import pytest

from dashboard.web.served_store import ServedStore
from tests.texts import changed, pages, sentences_before, texts_of_scripts

#: Puzzling texts, each with the text that pages have now.
GONE = {
    "passes the threshold": "no head attends mainly to",
    "is perfect": "would be perfect",
    "of the papers": "in Clark et al.",
    "by what it has most of": "named after what sets them apart",
    "differ most in": "the statistic in which heads differ most",
    "maximum weight": "largest weight",
    r"uniform: 1\)": "times its even share",
    "left out as it has none": "is not counted",
    "makes? most links": "finds the most links",
    "Governors found": "parsing from attention alone",
    "or a pattern": "or your own pattern",
    "feature points?\\b": "place in the model",
    "for itself": "by itself",
    "each panel fits": "per panel",
    "for its lines alone": "to see only its lines",
    "renormalise": "rescale",
    "the head of its row": "that row's head",
    "a token pair": "these two words",
    "the longest together": "most total time",
    "told to come back": "turned away",
    "readers in queues": "requests waiting",
    "what a note is about": "a note's subject",
    r"(?<!called )\blogits?\b": "score",
    r"\d \d{1,3} %": "a number with its sign, 80%",
    r"(?<![\w.\[-])-\d+\.\d": "a minus, −0.77",
}


@pytest.fixture(scope="module")
def texts(roles_store: str) -> list[str]:
    return [text for _, texts in [*pages(ServedStore(roles_store)), *texts_of_scripts()] for text in texts]


@pytest.mark.parametrize("gone", GONE)
def test_no_page_says_again_what_a_reader_had_to_guess(gone: str, texts: list[str]) -> None:
    assert [text for text in texts if re.search(gone, text)] == []


def test_the_list_of_changes_has_what_each_sentence_was() -> None:
    before = sentences_before(
        [
            "/heads",
            "",
            "The lines show what attends.",
            "Gone is this sentence here.",
            "/map?paint=label",
            "One of the map is here.",
        ]
    )
    assert before == {
        "/heads": ["The lines show what attends.", "Gone is this sentence here."],
        "/map": ["One of the map is here."],
    }
    now = ["The lines show what attends where.", "An entirely other text stands first."]
    assert list(changed(before["/heads"], now)) == [
        ("The lines show what attends.", "The lines show what attends where."),
        ("", "An entirely other text stands first."),
    ]

"""The glossary: every term in two lines, with a drawing where it has one."""

from types import SimpleNamespace
from typing import Any

import pytest

from dashboard.ui.glossary import TERMS, term, terms_of
from dashboard.ui.term_drawings import DRAWINGS, HEIGHT, WIDTH, symbols

#: Characters of two lines of a popover.
TWO_LINES = 105


@pytest.mark.parametrize("name", TERMS)
def test_a_term_is_explained_in_two_lines(name: str) -> None:
    assert TERMS[name].meaning.endswith(".")
    assert len(TERMS[name].meaning) <= TWO_LINES


def test_a_term_in_a_text_has_its_explanation_and_its_drawing() -> None:
    button: Any = term("query", "queries").to_plotly_json()["props"]
    assert button["children"] == "queries"
    assert (button["data-info"], button["data-drawing"]) == (TERMS["query"].meaning, "query")


def test_every_drawing_is_of_a_term_and_once_in_the_page() -> None:
    assert DRAWINGS.keys() <= TERMS.keys()
    assert [symbol[1]["id"] for symbol in symbols()[2:]] == [f"drawing-{name}" for name in DRAWINGS]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_stays_within_its_box(name: str) -> None:
    for tag, given, *_ in DRAWINGS[name]:
        if tag == "rect":
            assert 0 <= given["x"] <= WIDTH - given["width"]
            assert 0 <= given["y"] <= HEIGHT - given["height"]


@pytest.mark.parametrize(("special", "title"), [(True, "[CLS], [SEP]"), (False, "first token")])
def test_a_tokenizer_that_puts_nothing_before_a_text_has_a_first_token(special: bool, title: str) -> None:
    corpus: Any = SimpleNamespace(sentence_pieces=lambda _: [SimpleNamespace(special=special)])
    assert terms_of(corpus)["special"].title == title

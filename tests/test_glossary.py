"""The glossary: every term in two lines, with a drawing where it has one."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dashboard.ui.glossary import DRAWINGS, HEIGHT, TERMS, WIDTH, defined, symbols, term, terms_of

ROOT = Path(__file__).parents[1]
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


def test_a_text_behind_an_i_begins_with_the_term_and_its_formula() -> None:
    known = TERMS["divergence"]
    assert defined("divergence", "More.") == f"Divergence: {known.meaning} {known.formula} More."


#: Words that occur only in the definition of a term: in another file they define the term a second time.
OF_DEFINITIONS = (
    "Jensen-Shannon divergence of",
    "Venna and Kaski",
    "q·k/√d",
    "softmax of its",
    "hands over",
    "by GlobEnc through the layers",
)


def test_no_page_defines_a_term_of_the_glossary_again() -> None:
    files = [path for path in (ROOT / "dashboard").rglob("*.py") if path.name != "glossary.py"]
    again = [
        f"{path.relative_to(ROOT)} says {words!r}"
        for path in files
        for text in texts_in(path)
        for words in OF_DEFINITIONS
        if words in text
    ]
    assert again == []


def texts_in(path: Path) -> list[str]:
    """The strings of a module without its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    every = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in every if isinstance(node.value, str)]


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

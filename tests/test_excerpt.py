"""A part of a sentence around its marked wordpieces."""

from typing import Any

from dash import html

from dashboard.points.similar import excerpt
from store.text import Piece

TEXTS = ["[CLS]", "he", "was", "caution", "ed", "to", "stay", ".", "[SEP]"]
PIECES = [Piece(text, text, text == "ed", text[0] == "[") for text in TEXTS]


def texts(parts: list[Any]) -> str:
    """The excerpt with its marks in brackets."""
    return "".join(f"<{part.className} {part.children}>" if isinstance(part, html.Mark) else part for part in parts)


def test_a_short_sentence_is_shown_whole_without_its_special_tokens() -> None:
    assert texts(excerpt(PIECES, {2: "query", 5: "key"}, around=9)) == "he <query was> cautioned <key to> stay ."


def test_what_is_left_out_leaves_dots() -> None:
    assert texts(excerpt(PIECES, {3: "key"}, around=1)) == "… was <key caution>ed …"


def test_a_special_token_is_shown_where_it_is_marked() -> None:
    assert texts(excerpt(PIECES, {0: "key"}, around=1)) == "<key [CLS]> he …"


def test_a_marked_part_of_a_word_stands_without_a_space() -> None:
    assert texts(excerpt(PIECES, {4: "query"}, around=1)) == "… caution<query ed> to …"


def test_no_word_is_cut() -> None:
    assert texts(excerpt(PIECES, {5: "key"}, around=1)) == "… cautioned <key to> stay …"
    assert texts(excerpt(PIECES, {2: "query"}, around=1)) == "he <query was> cautioned …"

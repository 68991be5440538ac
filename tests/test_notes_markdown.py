"""Markdown of notes: pages show the forms that authors use, and nothing hostile reaches a page."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from dash import html
from dash.development.base_component import Component
from hypothesis import given
from hypothesis import strategies as st
from plotly.utils import PlotlyJSONEncoder

from dashboard.notes.listing import NESTING, markdown
from dashboard.notes.note import MOST_TEXT

ALLOWED = {
    "A",
    "Blockquote",
    "Br",
    "Code",
    "Div",
    "Em",
    "Hr",
    "Li",
    "Ol",
    "P",
    "Pre",
    "S",
    "Strong",
    "Table",
    "Tbody",
    "Td",
    "Th",
    "Thead",
    "Tr",
    "Ul",
}
HOSTILE = [
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "*",
    "_",
    "`",
    "~",
    "|",
    "-",
    "\n",
    "> ",
    "- ",
    "# ",
    "![",
    "](",
    "&#",
    "javascript:",
    "<script>",
    "a",
]


def components(part: Any) -> Iterator[Component]:
    if isinstance(part, Component):
        yield part
        yield from components(getattr(part, "children", None))
    for each in part if isinstance(part, list) else []:
        yield from components(each)


def links(text: str) -> list[str]:
    return [part.href for part in components(markdown(text)) if isinstance(part, html.A)]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("**a** *b* ~~c~~ `d`", ["Div", "P", "Strong", "Em", "S", "Code"]),
        ("- a\n- b\n\n1. c", ["Div", "Ul", "Li", "Li", "Ol", "Li"]),
        ("> a\n\n```py\nb\n```\n\n---", ["Div", "Blockquote", "P", "Pre", "Code", "Hr"]),
        ("| a |\n|---|\n| b |", ["Div", "Table", "Thead", "Tr", "Th", "Tbody", "Tr", "Td"]),
        ("# a\n\nb  \nc", ["Div", "P", "Strong", "P", "Br"]),
    ],
)
def test_markdown_is_shown(text: str, kinds: list[str]) -> None:
    assert [type(part).__name__ for part in components(markdown(text))] == kinds


def test_links_lead_to_the_web_and_to_pages() -> None:
    text = "[a](https://example.org) [b](/head?layer=3) [c](mailto:ann@example.org) <https://example.org/d>"
    assert links(text) == ["https://example.org", "/head?layer=3", "mailto:ann@example.org", "https://example.org/d"]


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "java&#10;script:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "data:image/png;base64,AAAA",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.org",
        "\\\\evil.org",
        "evil.org",
        "blob:x",
    ],
)
def test_no_other_link_is_made(link: str) -> None:
    assert links(f"[x]({link}) [y](<{link}>) <{link}> ![z]({link})\n\n[w]\n\n[w]: {link}") == []


def test_a_backslash_makes_no_link_to_another_server() -> None:
    assert links("[x](/\\evil.org)") == ["/%5Cevil.org"]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<a href='javascript:x'>a</a>",
        "<!-- a -->",
        "![x](https://example.org/x.png)",
    ],
)
def test_html_and_pictures_are_text(text: str) -> None:
    shown = [part for part in components(markdown(text)) if type(part).__name__ not in ("Div", "P", "A")]
    assert shown == []


@pytest.mark.parametrize(
    "text",
    [
        "`" * MOST_TEXT,
        "> " * (MOST_TEXT // 2),
        "- " * (MOST_TEXT // 2),
        "*" * 4_000 + "a" + "*" * 4_000,
        "[" * MOST_TEXT,
        "*a " * 3_000,
    ],
)
def test_what_is_nested_deeply_is_shown_flat(text: str) -> None:
    assert depth(markdown(text)) <= 3 * NESTING


@pytest.mark.parametrize(
    "text",
    [
        "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "|\n" * 4_500,
        ("|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "|\n" * 10 + "\n") * 18,
        "- a\n" * 2_500,
    ],
    ids=["table", "tables", "list"],
)
def test_what_has_very_many_parts_is_shown_as_it_was_typed(text: str) -> None:
    typed = text[:MOST_TEXT]
    (shown,) = [part for part in components(markdown(typed)) if not isinstance(part, html.Div)]
    assert (type(shown), shown.children) == (html.Pre, typed)


def test_a_table_that_fills_a_note_is_drawn() -> None:
    rows = ["| 0.1234 | 0.5678 | 0.9012 | 0.3456 | 0.7890 |"] * (MOST_TEXT // 48 - 1)
    shown = components(markdown("\n".join(["|a|b|c|d|e|", "|-|-|-|-|-|", *rows])))
    assert sum(isinstance(part, html.Td) for part in shown) == 5 * len(rows)


def depth(part: Any) -> int:
    if isinstance(part, list):
        return max(map(depth, part), default=0)
    return 1 + depth(getattr(part, "children", None)) if isinstance(part, Component) else 0


@given(st.lists(st.sampled_from(HOSTILE), max_size=60).map("".join) | st.text(max_size=200))
def test_any_text_becomes_few_kinds_of_components(text: str) -> None:
    shown = markdown(text)
    assert {type(part).__name__ for part in components(shown)} <= ALLOWED
    assert all(href.startswith(("http:", "https:", "mailto:", "/")) for href in links(text))
    assert json.dumps(shown, cls=PlotlyJSONEncoder)

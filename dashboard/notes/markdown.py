"""The Markdown of a note as components: no HTML of its author reaches a page, no picture is loaded, links are of the web.

markdown-it-py reads it. Its tokens become components of a few kinds, so nothing is escaped or sanitised here.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

from dash import html
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

#: How deep elements may lie in each other; a text that nests them deeper is shown as it was typed.
NESTING = 20
_READER = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"]).disable("image")
)
_ELEMENTS: Mapping[str, Callable[..., Any]] = {
    "paragraph": html.P,
    "strong": html.Strong,
    "em": html.Em,
    "s": html.S,
    "bullet_list": html.Ul,
    "ordered_list": html.Ol,
    "list_item": html.Li,
    "blockquote": html.Blockquote,
    "table": html.Table,
    "thead": html.Thead,
    "tbody": html.Tbody,
    "tr": html.Tr,
    "th": html.Th,
    "td": html.Td,
}
#: Schemes of links; a link without one leads to a page of this server.
SCHEMES = ("http", "https", "mailto")


def markdown(text: str) -> html.Div:
    """The components of a text in Markdown."""
    tokens = _READER.parse(text)
    nested = max((_depth(token.children or []) for token in tokens), default=0)
    is_deep = max(nested, _depth(tokens)) > NESTING
    return html.Div(html.Pre(text) if is_deep else _children(SyntaxTreeNode(tokens)), className="markdown")


def _depth(tokens: Sequence[Token]) -> int:
    return max(accumulate((token.nesting for token in tokens), initial=0))


def is_safe(href: str) -> bool:
    """Whether a link of a note leads to the web, to a letter, or to a page of this server."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    if parts.scheme:
        return parts.scheme in SCHEMES
    return href.startswith("/") and not href.startswith("//")  # markdown-it has escaped backslashes


_READER.validateLink = is_safe  # type: ignore[method-assign,assignment]


def _children(node: SyntaxTreeNode) -> list[Any]:
    return [component for child in node.children for component in _components(child)]


def _components(node: SyntaxTreeNode) -> Sequence[Any]:
    """A node as components: those of a tight list have no paragraphs."""
    if node.type in ("inline", "root") or (node.type == "paragraph" and node.hidden):
        return _children(node)
    if node.type in _ELEMENTS:
        return [_ELEMENTS[node.type](_children(node))]
    return [_leaf(node)]


def _leaf(node: SyntaxTreeNode) -> Any:
    if node.type == "link":
        return _link(str(node.attrs["href"]), _children(node))
    if node.type == "heading":  # below the headings of the page
        return html.P(html.Strong(_children(node)))
    if node.type in ("fence", "code_block"):
        return html.Pre(html.Code(node.content))
    if node.type == "code_inline":
        return html.Code(node.content)
    if node.type == "hr":
        return html.Hr()
    return {"softbreak": "\n", "hardbreak": html.Br()}.get(node.type, node.content)


def _link(href: str, children: list[Any]) -> html.A:
    if href.startswith("/"):
        return html.A(children, href=href)
    return html.A(children, href=href, target="_blank", rel="noopener noreferrer nofollow")

"""Components of pages as HTML for a file, with links between the pages that are published, and the addresses of these pages.

Parts that need a server are left out: controls, charts and files to be saved. A link to a page that is not published
becomes its text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from posixpath import relpath
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dash import dcc
from dash.development.base_component import Component
from markupsafe import Markup, escape

from dashboard.ui.markup import FOLLOWED, FURTHER, HTML, flat, properties_of
from dashboard.web.special_names import in_names_of
from store import Corpus
from store.phrases import whole_number
from store.schema.model import head_name

#: Turns an address of the dashboard into one on a published page; None where it is not published.
Address = Callable[[str], str | None]
#: An element: its tag, its properties, its content.
Element = list[Any]
_WITHOUT_END = frozenset({"img", "br", "hr", "input"})
#: Attributes that are spelled otherwise in HTML.
_SPELLED = {"className": "class", "htmlFor": "for", "tabIndex": "tabindex", "colSpan": "colspan", "rowSpan": "rowspan"}
#: Classes of buttons that explain the words beside them (assets/web/popover.mjs); any other button asks the server.
_EXPLAIN = frozenset({"info", "term"})
#: Properties of styles in pixels where they are a number.
_PIXELS = frozenset({"width", "height", "minHeight", "maxHeight"})
_IN_STYLE = re.compile(r'url\("(/[^"]+)"\)')
_CAPITAL = re.compile(r"(?=[A-Z])")
#: Attributes that an element loses when it is no link any more.
_OF_LINK = frozenset({"href", "title", "aria-label", FOLLOWED})
#: A field of an address of data that is left out of the file's name: it is the same in all addresses of a file.
_ALIKE = "tokens"


def html_of(corpus: Corpus, content: Any, address: Address) -> Markup:
    """Components, one or a list, as HTML, with special tokens named as the tokenizer of the corpus does."""
    tree = [_element(node) for node in flat(content) if _is_kept(node)]
    return Markup("").join(_written(node, address) for node in in_names_of(corpus, tree))


def _is_kept(node: Any) -> bool:
    """Whether a file can show a node: a text, HTML or a link, but no line that offers a file, and nothing that a callback fills."""
    if not isinstance(node, Component):
        return True
    if getattr(node, "className", None) == FURTHER:
        return False
    is_html = node._namespace == HTML or isinstance(node, dcc.Link)
    if node._type == "P":
        return is_html and not any(_is_file(child) for child in flat(getattr(node, "children", None)))
    return is_html and not _is_file(node)


def _is_file(node: Any) -> bool:
    return isinstance(node, Component) and hasattr(node, "download")


def _element(node: Any) -> Any:
    if not isinstance(node, Component):
        return str(node)
    properties = properties_of(node)
    children = [child for child in flat(properties.pop("children", None)) if _is_kept(child)]
    tag = "a" if isinstance(node, dcc.Link) else node._type.lower()
    return [tag, properties, *map(_element, children)]


def _written(node: Any, address: Address) -> Markup:
    if isinstance(node, str):
        return escape(node)
    tag, properties, *children = _linked(node, address)
    attributes = Markup("").join(_attribute(name, value, address) for name, value in properties.items())
    start = Markup("<{}{}>").format(Markup(tag), attributes)
    if tag in _WITHOUT_END:
        return start
    inner = Markup("").join(_written(child, address) for child in children)
    return Markup("{}{}</{}>").format(start, inner, Markup(tag))


def _linked(node: Element, address: Address) -> Element:
    """The element, with its link to a published page; a link or a button without such a page becomes its text."""
    tag, properties, *children = node
    if tag == "button" and properties.get("className") not in _EXPLAIN:
        return ["span", _without(properties, {"type", "data-href"}), *children]
    if tag != "a":
        return node
    href = address(str(properties.get("href", "")))
    if href is not None:
        return ["a", {**properties, "href": href}, *children]
    named = {"role": "group", "aria-label": properties["aria-label"]} if "aria-label" in properties else {}
    return ["div" if named else "span", _without(properties, _OF_LINK) | named, *children]


def _without(properties: Mapping[str, Any], names: "frozenset[str] | set[str]") -> dict[str, Any]:
    of_button = "aria-pressed", "title", "data-kind"
    left_out = names | ({*of_button} if "type" in names else set())
    return {name: value for name, value in properties.items() if name not in left_out}


def _attribute(name: str, value: Any, address: Address) -> Markup:
    if value is None or value is False or (isinstance(value, dict) and name != "style"):
        return Markup("")
    written = _SPELLED.get(name, name)
    if name == "style":
        value = _style(value, address)
    return Markup(' {}="{}"').format(Markup(written), "" if value is True else value)


def _style(style: Mapping[str, Any], address: Address) -> str:
    """A style as a text; pictures in it are files of the site."""

    def filed(found: "re.Match[str]") -> str:
        return f'url("{address(found[1])}")'

    return ";".join(
        f"{_property(name)}:{_IN_STYLE.sub(filed, f'{value}px' if name in _PIXELS and isinstance(value, int | float) else str(value))}"
        for name, value in style.items()
    )


def _property(name: str) -> str:
    return name if name.startswith("--") else _CAPITAL.sub("-", name).lower()


def head_path(layer: int, head: int) -> str:
    """The page of a head, below the folder of its model."""
    return f"head/{head_name(layer, head).replace(' ', '')}.html"


def sentence_path(number: int) -> str:
    """The page of a sentence."""
    return f"sentence/{number}.html"


def data_path(address: str, base: str) -> str:
    """The file of an address of data that begins with `base`: its path with what its query chooses (assets/published/picture.mjs)."""
    parts = urlsplit(address)
    path = PurePosixPath("data", parts.path.removeprefix(base).lstrip("/"))
    chosen = [value for name, (value, *_) in sorted(parse_qs(parts.query).items()) if name != _ALIKE]
    return str(path.with_name("-".join([path.stem, *chosen]) + path.suffix))


def relative(path: str, of: str) -> str:
    """The link from one page of the site to a path of it."""
    file, _, section = path.partition("#")
    return relpath(file, str(PurePosixPath(of).parent)) + (f"#{section}" if section else "")


@dataclass(frozen=True)
class Places:
    """The published parts of a model: its pages, and the files of addresses of data that a page asked for.

    Attributes
    ----------
    folder
        Folder of the model within the site: empty, or the model's name and a slash.
    base
        Beginning of the addresses of the model's data.
    sentences
        Numbers of the sentences with a page.
    asked
        Addresses of data that pages show, by their path.
    """

    folder: str
    base: str
    corpus: Corpus
    sentences: frozenset[int]
    asked: dict[str, str] = field(default_factory=dict)

    def page(self, href: str) -> str | None:
        """The page of the site that a link of the dashboard leads to; None where it is not published."""
        parts = urlsplit(href)
        if parts.scheme in ("http", "https") or (parts.fragment and not parts.path):
            return href
        fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
        name = parts.path.strip("/")
        if name == "head":
            return self.folder + head_path(int(fields.get("layer", 0)), int(fields.get("head", 0)))
        if name == "sentence" and "text" not in fields:
            sentence = whole_number(fields.get("sentence", "0"))  # a link leaves out defaults
            if sentence in self.sentences:
                return self.folder + sentence_path(sentence)
        return self.folder + "map.html" if name == "map" and not fields.keys() - {"model", "layer", "head"} else None

    def from_page(self, path: str, href: str) -> str | None:
        """A link or an address of data as the page at a path writes it. ValueError where another address has the same file."""
        if href.startswith(self.base):
            file = self.folder + data_path(href, self.base)
            other = self.asked.setdefault(file, href)
            if other != href:
                raise ValueError(f"{file} would be the answer to {href} and to {other}.")
            return relative(file, path)
        page = self.page(href)
        return page if page is None or page.startswith(("http", "#")) else relative(page, path)

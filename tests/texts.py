"""Every text that the pages of a store show, to be read aloud: `python -m tests.texts STORE` prints them page by page.

`python -m tests.texts STORE FILE` prints the sentences that differ from an earlier output, each with its earlier form.
"""

import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dash.development.base_component import Component

from dashboard.pages import TOPICS
from dashboard.ui.markup import Page
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from tests.components import components, deferred_content

ASSETS = Path(__file__).parents[1] / "dashboard" / "assets"
#: Queries of each page that show its parts; a page that is not named has one link, without a query.
SEARCHES = {
    "heads": ("", "?q=film&where=position:1..9&labels=1"),
    "head": (
        "?layer=1&head=0",
        "?layer=1&head=0&tab=statistics",
        "?layer=1&head=0&tab=role",
        "?layer=1&head=0&tab=distance",
        "?layer=1&head=0&tab=point&token=5",
        "?layer=1&head=0&tab=notes",
    ),
    "statistics": ("", "?where=kind:word&values=rest", "?where=label:positive&values=difference"),
    "map": ("", "?paint=label"),
    "relations": ("", "?layer=1&head=0"),
    "features": ("", "?point=embedding&ftoken=3"),
    "sentence": (
        "?sentence=1",
        "?sentence=1&show=model",
        "?sentence=1&show=matrix",
        "?sentence=1&show=neuron&queries=1",
    ),
}
#: Properties of a component that a reader sees or hears.
_SHOWN = ("data-info", "title", "aria-label", "label", "placeholder", "description", "alt")
#: Fewest words of a sentence, and the likeness from which a sentence counts as changed, not new (`difflib`, 0 to 1).
WORDS, LIKE = 4, 0.5
#: Elements that do not end a line.
_INLINE = {"A", "B", "Em", "Span", "Strong", "Code", "Link", "Sub", "Sup", "Mark", "I", "Button", "Abbr", "Bdi"}


def texts_of(context: Context) -> list[str]:
    """The texts of a page and of its deferred parts, in their order on the page, each once."""
    page = TOPICS[context.state.page].layout(context)
    parts: list[object] = [*context.notices, *_parts(page)]
    lines = [line for part in [*parts, *deferred_content(context, parts)] for line in _lines(part)]
    return list(dict.fromkeys(line for line in map(str.strip, lines) if re.search(r"[A-Za-z]{2}", line)))


def _parts(page: Page) -> list[object]:
    return [*page.notices, *page.above, *page.beside, *page.below]


def _lines(part: object) -> Iterator[str]:
    """Lines of a component: one for each block of text, and one for each property that is text."""
    if isinstance(part, list | tuple):
        if all(map(_is_inline, part)):
            yield "".join(map(_joined, part))
            for each in part:
                yield from _properties(each)
        else:
            for each in part:
                yield from _lines(each)
    elif isinstance(part, Component):
        yield from _properties(part, deep=False)
        yield from _lines(getattr(part, "children", None))
    elif isinstance(part, str):
        yield part


def _is_inline(part: object) -> bool:
    if not isinstance(part, Component):
        return not isinstance(part, list | tuple)
    return type(part).__name__ in _INLINE and all(map(_is_inline, _children(part)))


def _children(part: Component) -> list[object]:
    children = getattr(part, "children", None)
    return list(children) if isinstance(children, list | tuple) else [children]


def _joined(part: object) -> str:
    if isinstance(part, Component):
        return "(i)" if getattr(part, "className", "") == "info" else "".join(map(_joined, _children(part)))
    return "" if part is None else str(part)


def _properties(part: object, *, deep: bool = True) -> Iterator[str]:
    for each in components(part) if deep else [part]:
        shown = each.to_plotly_json()["props"] if isinstance(each, Component) else {}
        yield from (f"    {name}: {shown[name]}" for name in _SHOWN if isinstance(shown.get(name), str))


def texts_of_scripts() -> Iterator[tuple[str, list[str]]]:
    """The sentences and labels that the browser's modules write, by module: quoted strings with a space."""
    for module in sorted(ASSETS.rglob("*.mjs")):
        code = re.sub(r"/\*.*?\*/|(?m:^\s*//.*$)", "", module.read_text("utf-8"), flags=re.DOTALL)
        quoted = re.findall(r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`", code)
        found = [one or other for one, other in quoted if re.search(r"[A-Za-z]{2,} [A-Za-z“]", one or other)]
        if found:
            yield str(module.relative_to(ASSETS)), list(dict.fromkeys(found))


def pages(served_store: ServedStore) -> Iterator[tuple[str, list[str]]]:
    """Every page by its link, with its texts that no earlier link has shown."""
    seen: set[str] = set()
    for name in TOPICS:
        for search in SEARCHES.get(name, ("",)):
            texts = texts_of(resolve(served_store, name, search))
            yield f"/{name}{search}", [text for text in texts if text not in seen]
            seen |= set(texts)


def sentences_before(lines: Iterable[str]) -> dict[str, list[str]]:
    """Sentences by page or module, from what this command has printed; the links of a page count as one page."""
    found: dict[str, list[str]] = {}
    own: list[str] = []
    for line in map(str.strip, lines):
        if title := re.fullmatch(r"(/\w+)(\?.*)?|(\w+/)+\w+\.mjs", line):
            own = found.setdefault(title[1] or line, [])
        elif len(line.split()) >= WORDS:
            own.append(line)
    return found


def changed(before: Sequence[str], now: Sequence[str]) -> Iterator[tuple[str, str]]:
    """New sentences, each after the likest removed sentence; empty where no removed sentence is like it."""
    gone = [text for text in before if text not in set(now)]
    for text in now:
        if text not in set(before):
            was = next(iter(difflib.get_close_matches(text, gone, 1, LIKE)), "")
            yield was, text


def print_changes(before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]]) -> None:
    """Print, for each page, how many sentences are as before, changed and new, then each change with its earlier form."""
    for title, texts in now.items():
        old = before.get(title, ())
        rows = list(changed(old, texts))
        count = sum(bool(was) for was, _ in rows)
        print(f"\n{title}: {len(texts)} sentences, {count} changed, {len(rows) - count} new, {len(old)} before")
        for was, text in rows:
            print(f"\n  was: {was}\n  now: {text}" if was else f"\n  new: {text}")


def printed(store: str) -> str:
    """Every text of the pages of a store and of the scripts, page by page."""
    found = [*pages(ServedStore(store)), *texts_of_scripts()]
    return "\n".join("\n".join(("", title, "", *texts)) for title, texts in found)


if __name__ == "__main__":
    store, *file = sys.argv[1:]
    every = printed(store)
    if file:
        known = Path(file[0]).read_text("utf-8").splitlines()
        print_changes(sentences_before(known), sentences_before(every.splitlines()))
    else:
        print(every)

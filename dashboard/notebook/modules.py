"""The JavaScript modules and style sheets of the dashboard as texts that a notebook keeps: one module, and one sheet.

No bundler: as in `bundle` of assets/sentence/picture.mjs each module becomes a function that returns its exports, so that
no names meet. Comments are left out, as every cell keeps its own copy.
"""

import re
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).parents[1] / "assets"
#: Module of every widget; then, for each kind of widget, the module that draws it and its style sheets.
WIDGET = "notebook/widget.mjs"
KINDS = {
    "sentence": ("notebook/sentence.mjs", ("style.css", "sentence.css", "notebook.css")),
    "points": ("notebook/points.mjs", ("style.css", "points.css", "window.css", "notebook.css")),
}
#: Forms of imports, exports and comments in the modules; `tests/test_assets.py` allows no others.
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/)\n", re.MULTILINE)
#: Replacements in a style sheet: styles for a page become styles for the root of a widget.
ROOTS = (
    (re.compile(r':root\[data-mantine-color-scheme="dark"\]'), ':host([data-mantine-color-scheme="dark"])'),
    (
        re.compile(r':root:not\(\[data-mantine-color-scheme="dark"\]\)'),
        ':host(:not([data-mantine-color-scheme="dark"]))',
    ),
    (re.compile(r":root\b"), ":host"),
)


@cache
def module(kind: str) -> str:
    """A kind of widget as one ES module, which anywidget imports."""
    shown = ASSETS / KINDS[kind][0]
    parts, names = _functions(shown, ASSETS / WIDGET)
    return "\n".join([*parts, f"export default {{ render: {names[ASSETS / WIDGET]}.widgetOf({names[shown]}.mount) }};"])


@cache
def script(entry: str) -> str:
    """A module and all that it imports as one script, which starts it in a page without a server of ours."""
    parts, names = _functions(ASSETS / entry)
    return "\n".join(['"use strict";', "(() => {", *parts, f"{names[ASSETS / entry]}.start();", "})();", ""])


def _functions(*entries: Path) -> tuple[list[str], dict[Path, str]]:
    """Modules and their imports as constants, each after the modules that it imports; and the names of the constants."""
    sources: dict[Path, str] = {}
    for entry in entries:
        _collected(entry, sources)
    names = {path: f"module{number}" for number, path in enumerate(sources)}
    return [f"const {names[path]} = {_as_function(path, text, names)};" for path, text in sources.items()], names


@cache
def style(kind: str) -> str:
    """The style sheets of a kind of widget, for its root."""
    text = "\n".join((ASSETS / sheet).read_text("utf-8") for sheet in KINDS[kind][1])
    for root, own in ROOTS:
        text = root.sub(own, text)
    return re.sub(r"/\*[\s\S]*?\*/\n?", "", text)


def _collected(path: Path, sources: dict[Path, str]) -> dict[Path, str]:
    """Text of each module by its file, each after the modules that it imports."""
    text = path.read_text("utf-8")
    for found in IMPORT.finditer(text):
        imported = (path.parent / found[2]).resolve()
        if imported not in sources:
            _collected(imported, sources)
    sources[path] = text
    return sources


def _as_function(path: Path, text: str, names: dict[Path, str]) -> str:
    exported = ", ".join(found[1] for found in EXPORT.finditer(text))
    body = COMMENT.sub("", EXPORT.sub("", IMPORT.sub(lambda found: _constants(path, found, names), text)))
    return f"(() => {{\n{body}return {{ {exported} }};\n}})()"


def _constants(path: Path, found: re.Match[str], names: dict[Path, str]) -> str:
    imported = (path.parent / found[2]).resolve()
    return f"const {{{found[1].replace(' as ', ': ')}}} = {names[imported]};"

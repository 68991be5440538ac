"""A tokenizer's names of the special tokens before and after a text, on every page, instead of BERT's [CLS] and [SEP].

Texts of the code say [CLS] and [SEP]; content for a browser says `<s>` and `</s>` where the shown model has these tokens. Where a
tokenizer adds no token before a text, as GPT-2's, [CLS] means the first token; where it adds none after a text, items on [SEP] alone
are left out. Values of controls, links and names of elements stay.
"""

import json
import re
from collections.abc import Hashable
from html import escape
from typing import Any

from plotly.io.json import to_json_plotly

from dashboard.web.results import current_cache
from store import Corpus, StoreError
from store.repository.zarr_internals import is_damage
from store.schema.corpus import FIRST, SEP

#: Names of the special token before a text and of the one after it; None where the tokenizer adds none.
Names = tuple[str | None, str | None]
#: Names in texts of the code for the special tokens before and after a text.
CLS_NAME, SEP_NAME = NAMED = ("[CLS]", "[SEP]")
#: Properties that are not renamed, as the browser sends them back or searches for them.
_KEPT = frozenset({"shown", "id", "value", "href", "className", "class", "path", "search", "snapshot", "n_clicks"})
_KEY: Hashable = ("special names",)
#: Phrase with [SEP] -> phrase for a tokenizer without a token after a text.
_NO_END = {
    "[CLS], [SEP] and": "[CLS] and",
    "[CLS] and [SEP]": "[CLS]",
    "[CLS] or [SEP]": "[CLS]",
    ", [SEP] 0%": "",
    ", keys [SEP] left out": "",
    " [SEP]: more than 60% of its attention goes to [SEP];": "",
    " other than [SEP]": "",
    "[SEP]": "a token after the text (this model has none)",
}
#: Phrase with [CLS] or special tokens -> phrase for a tokenizer without a token before a text.
_NO_START = {
    ", [CLS] included": "",
    "[CLS] are no words": "[CLS] is a word, too",
    "[CLS] are": "[CLS] is",
    "[CLS], which stands for the whole sentence": "[CLS]",
    "hide special tokens": "hide [CLS]",
    "to special tokens": "to [CLS]",
    "first special token": "first token",
    "n. [CLS]": "n. first",
    "[CLS] gets": "The first token gets",
}
#: Tags and classes of elements with words of the data or of a reader, which stay; texts in quotes stay too.
_OF_DATA = frozenset({"q", "mark"})
_CLASSES_OF_DATA = frozenset({"sentence-text", "word"})
_QUOTED = re.compile("(“[^”]*”)")
#: Attributes whose text is visible.
_SHOWN = frozenset({"data-info", "data-name"})
#: Classes of components on a single subject, which their first text names.
_SAY_ONE = frozenset({"figure", "chip"})


def special_names(corpus: Corpus) -> Names:
    """The tokenizer's names of the special tokens before and after a text; for a damaged corpus, the names in the code."""
    try:
        return current_cache().get(corpus, _KEY, lambda: _ends(corpus))
    except Exception as error:
        if not (isinstance(error, StoreError) or is_damage(error)):
            raise
        return NAMED  # the parts of the page report what cannot be read


def in_names_of(corpus: Corpus, content: Any) -> Any:
    """Components or JSON content, with special tokens named as by the corpus's tokenizer."""
    names = special_names(corpus)
    return content if names == NAMED else renamed(json.loads(to_json_plotly(content)), names)


def in_names(text: str, names: Names) -> str:
    """A text of the code with these names of the special tokens; quoted parts, which are data, stay."""
    if "“" in text:
        return "".join(part if part[:1] == "“" else in_names(part, names) for part in _QUOTED.split(text))
    first, last = names
    for said, instead in ({SEP_NAME: last} if last is not None else _NO_END).items():
        text = text.replace(said, instead)
    if first is not None:
        return text.replace(CLS_NAME, first)
    if text == "special tokens":
        return "first token"
    for said, instead in _NO_START.items():
        text = text.replace(said, instead)
    begun = f"First token{text.removeprefix(CLS_NAME)}" if text.startswith(CLS_NAME) else text
    return begun.replace(CLS_NAME, "the first token")


def applies(corpus: Corpus, text: str) -> bool:
    """Whether a text of the code applies to a corpus: False if it is on [SEP] alone and the tokenizer adds no token after a text."""
    return special_names(corpus)[1] is not None or not _is_of_end_alone(text)


def _is_of_end_alone(text: str) -> bool:
    return SEP_NAME in text and CLS_NAME not in text


def _ends(corpus: Corpus) -> Names:
    pieces, flags = corpus.sentence_pieces(0), corpus.tokens.token_flags.values[corpus.sentence_rows(0)]
    return None if flags[0] & FIRST else pieces[0].text, pieces[-1].text if flags[-1] & SEP else None


def renamed(content: Any, names: Names) -> Any:
    """JSON content with these names; without items on [SEP] alone where the tokenizer adds no token after a text."""
    if isinstance(content, str):
        return in_names(content, names)
    if _is_of_data(content):
        return content
    if isinstance(content, list):
        return [renamed(each, names) for each in content if names[1] is not None or not _is_of_end(each)]
    if isinstance(content, dict):
        return {key: each if _is_kept(key) else renamed(each, _in_field(key, names)) for key, each in content.items()}
    return content


def _in_field(key: str, names: Names) -> Names:
    """The names for a property: escaped in a figure, whose texts are markup that would contain `<s>`."""
    first, last = (name and escape(name) for name in names)
    return (first, last) if key == "figure" else names


def _is_kept(key: str) -> bool:
    return key in _KEPT or (key.startswith("data-") and key not in _SHOWN)


def _is_of_data(content: Any) -> bool:
    """Whether an element shows words of the data or of a reader."""
    tag, properties = _element(content)
    return tag in _OF_DATA or not _CLASSES_OF_DATA.isdisjoint(str(properties.get("className", "")).split())


def _is_of_end(content: Any) -> bool:
    """Whether an item of a list is on [SEP] alone: a choice, line of a chart, row of a table, part of a bar or of its legend."""
    return _is_of_end_alone(_title(content))


def _title(content: Any) -> str:
    """The title of an item of a list (see `_is_of_end`); empty for other content."""
    if isinstance(content, dict) and "props" not in content:
        return str(next(filter(None, map(content.get, ("label", "name", "hovertemplate"))), ""))
    tag, properties = _element(content)
    if tag == "button":
        return str(properties.get("data-name", ""))
    if tag == "tr" or properties.get("className") in _SAY_ONE:
        return _first_text(content)
    return str(properties.get("title", "")) if tag == "span" else ""


def _element(content: Any) -> tuple[str, dict[str, Any]]:
    """Tag and properties of an element, as a component or in the tree of a `Markup`; empty for other content."""
    if isinstance(content, dict):
        return str(content.get("type", "")).lower(), content.get("props", {})
    match content:
        case [str(tag), dict(properties), *_] if "namespace" not in properties:
            return tag, properties
    return "", {}


def _first_text(content: Any) -> str:
    """The first text in components, elements or their content."""
    if isinstance(content, dict):
        return _first_text([content.get("props", {}).get(name) for name in ("children", "tree")])
    if isinstance(content, list):
        children = content[2:] if _element(content)[0] else content
        return next(filter(None, map(_first_text, children)), "")
    return content if isinstance(content, str) else ""

"""The names that a tokenizer gives the tokens before and after a text, on every page, instead of BERT's [CLS] and [SEP].

Texts of the code say [CLS] and [SEP]; what is sent to a browser says `<s>` and `</s>` where the shown model reads these. Values of
controls, links and names of elements stay.
"""

import json
from collections.abc import Hashable
from html import escape
from typing import Any

from plotly.io.json import to_json_plotly

from dashboard.web.results import current_cache
from store import Corpus, StoreError
from store.repository.zarr_internals import is_damage

#: What the texts of the code call the tokens before and after a text.
NAMED = ("[CLS]", "[SEP]")
#: Fields that a browser sends back or looks for.
_KEPT = frozenset({"shown", "id", "value", "href", "className", "class", "path", "search", "snapshot", "n_clicks"})
_KEY: Hashable = ("special names",)


def special_names(corpus: Corpus) -> tuple[str, str]:
    """What the tokenizer of the corpus calls the tokens before and after a text; of a damaged corpus, as the code does."""
    try:
        return current_cache().get(corpus, _KEY, lambda: _ends(corpus))
    except Exception as error:
        if not (isinstance(error, StoreError) or is_damage(error)):
            raise
        return NAMED  # the parts of the page say what cannot be read


def in_names_of(corpus: Corpus, content: Any) -> Any:
    """Components, or what is sent as JSON, with the special tokens named as the tokenizer of the corpus does."""
    names = special_names(corpus)
    return content if names == NAMED else _renamed(json.loads(to_json_plotly(content)), names)


def _ends(corpus: Corpus) -> tuple[str, str]:
    first, *_, last = (piece.text for piece in corpus.sentence_pieces(0))
    return first, last


def _renamed(content: Any, names: tuple[str, str]) -> Any:
    if isinstance(content, str):
        for named, name in zip(NAMED, names, strict=True):
            content = content.replace(named, name)
        return content
    if isinstance(content, list):
        return [_renamed(each, names) for each in content]
    if isinstance(content, dict):
        return {key: each if _is_kept(key) else _renamed(each, _in_field(key, names)) for key, each in content.items()}
    return content


def _in_field(key: str, names: tuple[str, str]) -> tuple[str, str]:
    """In a chart a text is markup, of which `<s>` would be a part."""
    first, last = map(escape, names)
    return (first, last) if key == "figure" else names


def _is_kept(key: str) -> bool:
    return key in _KEPT or (key.startswith("data-") and key != "data-info")

"""The page of the gallery, `docs/gallery.md`, from the views and the figures of a store."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from dashboard.documentation import SERVED
from store import Corpus
from tests.gallery.views import VIEWS, View

PAGE = Path(__file__).parents[2] / "docs/gallery.md"
HEADING = f"""# Gallery

Twelve views of the default store, made by `make gallery`; links open them in a dashboard at {SERVED}.
"""
#: Placeholder of a figure while the rest of a page becomes a pattern; pattern of a figure.
_PLACE, _FIGURE = "FIGURE", r"[^\n]{1,40}?"


def page_of(corpus: Corpus) -> str:
    """The page with the figures of a store."""
    return _page(lambda view: view.figures(corpus))


def pattern() -> str:
    """A pattern that the page matches whatever its figures are."""
    return re.escape(_page(lambda view: dict.fromkeys(view.named, _PLACE))).replace(_PLACE, _FIGURE)


def _page(figures: Callable[[View], Mapping[str, str]]) -> str:
    return "\n".join([HEADING, *(_section(view, view.sentence.format_map(figures(view))) for view in VIEWS)])


def _section(view: View, sentence: str) -> str:
    picture = f"![{view.name.capitalize()}](gallery/{view.name}.webp)"
    return f"## {view.title}\n\n{picture}\n\n{sentence} [`{view.link}`]({SERVED}{view.link})\n"

"""The components of a page, those of its deferred parts included."""

from collections.abc import Iterator
from typing import Any

from dashboard.pages import TOPICS
from dashboard.web.context import Context

DEFERRED = {part.name: part for topic in TOPICS.values() for part in topic.deferred}


def components(part: Any) -> Iterator[Any]:
    """Every component and text, a parent before its children."""
    if isinstance(part, list | tuple):
        for each in part:
            yield from components(each)
    elif part is not None:
        yield part
        yield from components(getattr(part, "children", None))


def deferred_content(context: Context, parts: object) -> list[list[object]]:
    """Content of each deferred place in the parts of a page: computed after the page is shown, without a reader's click."""
    ids = [getattr(component, "id", None) for component in components(parts)]
    names = [place.get("place") for place in ids if isinstance(place, dict)]
    return [DEFERRED[name].compute(context) for name in names if name in DEFERRED]

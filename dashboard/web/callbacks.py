"""Typed callbacks: their parameters as the browser sends them, and what a tab says of itself."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Annotated, Any, TypeVar, get_type_hints

from dash import State
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from werkzeug.exceptions import BadRequest

Callback = TypeVar("Callback", bound=Callable[..., Any])


def _whole(text: str) -> str:
    """Raises ValueError for half a surrogate pair, which JSON can hold and UTF-8 cannot."""
    text.encode()
    return text


#: A text of a link.
Text = Annotated[str, AfterValidator(_whole)]


class PartWait(BaseModel):
    """The id of an element of a deferred part of a page: the part, and the wait for it."""

    deferred: Text
    wait: Text


class Painted(BaseModel):
    """What the canvas sends once its picture is painted: the name of what follows below it, or ""."""

    after: Text


class Named(BaseModel):
    """The id of a part of a job."""

    name: Text


class Shown(BaseModel):
    """What callbacks read of the page that a tab shows (`shell.shown`)."""

    snapshot: Text


#: What a callback gets of a tab: path and query of its link, and what its page shows.
STANDING = State("location", "pathname"), State("location", "search"), State("shown", "data")


def snapshot_of(shown: Shown | None) -> str | None:
    """The snapshot that a tab shows; None before its first page."""
    return shown.snapshot if shown else None


def validated(callback: Callback) -> Callback:
    """The same callback; values of other types than its parameters' are answered with 400."""
    hints = get_type_hints(callback, include_extras=True)
    parameters = {name: TypeAdapter(hints[name]) for name in signature(callback).parameters}

    @wraps(callback)
    def checked(*values: object) -> Any:
        return callback(*map(_checked, parameters, parameters.values(), values))

    return checked  # type: ignore[return-value]


def _checked(name: str, accepted: TypeAdapter[Any], value: object) -> Any:
    try:
        return accepted.validate_python(value, strict=True)
    except ValidationError as error:
        raise BadRequest(f"The request has an invalid value of {name.strip('_')}. Reload the page.") from error

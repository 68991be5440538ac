"""What a browser may send to a callback: Dash takes it as it comes, so it is checked before Dash sees it."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Annotated, Any, TypeVar, get_type_hints

from dash import Dash
from flask import Flask, abort, request
from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError
from werkzeug.exceptions import BadRequest

CALLBACKS = "/_dash-update-component"
Callback = TypeVar("Callback", bound=Callable[..., Any])


def _whole(text: str) -> str:
    """Raises ValueError for half a character: JSON can spell it, but nothing can read or write it."""
    text.encode()
    return text


#: A text of a link.
Text = Annotated[str, AfterValidator(_whole)]


Id = str | dict[str, str | int]


class Part(BaseModel):
    """A property of a component, as Dash's script names it. `typed` checks its value."""

    model_config = ConfigDict(strict=True)
    id: Id
    property: str


#: Of a callback with wildcards for all components of a kind, a list in place of each.
Parts = list[Part | list[Part]]


class Body(BaseModel):
    """Of what Dash's script sends, what Dash relies on."""

    model_config = ConfigDict(strict=True)
    output: str
    outputs: Part | Parts
    inputs: Parts
    state: Parts = []
    changedPropIds: list[str] = []  # noqa: N815


class Later(BaseModel):
    """The id of a part that is filled later."""

    later: Text


class Painted(BaseModel):
    """What the canvas says when its picture is painted: names what follows below it, "" where nothing does."""

    after: Text


class Named(BaseModel):
    """The id of a part of a count."""

    name: Text


def register(app: Dash) -> None:
    """Answer 400 to a request that no page sends, 404 where it names a callback that is not there."""
    server: Flask = app.server

    @server.before_request
    def check_callback() -> None:
        if request.method == "POST" and request.path == CALLBACKS:
            _check(_body(), app.callback_map)


def typed(callback: Callback) -> Callback:
    """The same callback; values that are not of its parameters' types are answered with 400 and never reach it."""
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
        raise BadRequest(f"The value of {name.strip('_')} is none that a page sends. Reload the page.") from error


def _body() -> Body:
    try:
        return Body.model_validate(request.get_json())
    except RecursionError as error:
        raise BadRequest("The request is nested too deeply. Reload the page.") from error
    except ValidationError as error:
        raise BadRequest("The request is none that a page sends. Reload the page.") from error


def _check(body: Body, callbacks: Mapping[str, Mapping[str, Any]]) -> None:
    callback = callbacks.get(body.output, {})
    if "callback" not in callback:  # without it, it runs in the browser
        abort(404, "The server has no such callback. Reload the page.")
    outputs: Parts = body.outputs if isinstance(body.outputs, list) else [body.outputs]
    sent = (outputs, _outputs(body.output)), (body.inputs, callback["inputs"]), (body.state, callback["state"])
    if not all(_fit(parts, defined) for parts, defined in sent):
        abort(400, "The request does not fit its callback. Reload the page.")


def _outputs(names: str) -> list[dict[str, str]]:
    """Of one output `id.property`, or of several `..id.property...id.property..`."""
    each = names.strip(".").split("...") if names.startswith("..") else [names]
    return [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in each]


def _fit(parts: Parts, defined: Sequence[Mapping[str, str]]) -> bool:
    return len(parts) == len(defined) and all(map(_fits, parts, defined))


def _fits(sent: Part | list[Part], defined: Mapping[str, str]) -> bool:
    """Whether this is what a callback is defined for; an id with wildcards is JSON there."""
    wanted = json.loads(defined["id"]) if defined["id"].startswith("{") else defined["id"]
    if isinstance(sent, list) != (isinstance(wanted, dict) and ["ALL"] in wanted.values()):
        return False
    parts = sent if isinstance(sent, list) else [sent]
    return all(part.property == defined["property"] and _is(part.id, wanted) for part in parts)


def _is(sent: Id, wanted: Any) -> bool:
    if not isinstance(sent, dict) or not isinstance(wanted, dict):
        return bool(sent == wanted)
    alike = (isinstance(value, list) or sent.get(name) == value for name, value in wanted.items())
    return sent.keys() == wanted.keys() and all(alike)

"""Security: host names that the server answers to, callbacks that a page may call, headers of every response."""

import json
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from dash import Dash
from flask import Flask, Response, abort, request
from pydantic import BaseModel, ConfigDict, ValidationError
from werkzeug.exceptions import BadRequest
from werkzeug.sansio.utils import host_is_trusted

from dashboard.web.addresses import socket_path
from dashboard.web.assets import VERSION, import_map_hashes, version

CALLBACKS = "/_dash-update-component"
#: Names of this machine that a browser resolves by itself.
LOCAL = (".localhost", "127.0.0.1", "::1")
#: Value of a flag that allows every host, on a unix socket.
EVERY = "*"
#: Headers of every response: no page of another origin reads the response, frames it or learns its link.
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",  # for browsers that do not know frame-ancestors
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: Headers of responses over https. Browsers ignore them without https, and Chromium warns about the first.
BEHIND_HTTPS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Strict-Transport-Security": "max-age=31536000",
}
FRAMED = (
    "<!DOCTYPE html><title>Headscape</title><p>Headscape is not shown inside pages of other servers. "
    '<a href="{link}" target="_blank" rel="noopener">Open it in a tab of its own</a>.</p>'
)
_NAME = re.compile(r"\.?[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
Id = str | dict[str, str | int]


@dataclass(frozen=True)
class AllowedHosts:
    """Host names and addresses (without brackets) that the server answers to; `.example.org` allows every name under it.

    With `every_address` any address is allowed, for a server that listens on every address of its machine. This is safe:
    only a name can be made to point elsewhere (DNS rebinding). With `every_name` any name is allowed, for a server on a unix
    socket, which no browser reaches: its proxy decides which hosts it answers to.
    """

    names: tuple[str, ...] = LOCAL
    every_address: bool = False
    every_name: bool = False

    def __contains__(self, host: str) -> bool:
        """Whether a request with this Host header is allowed."""
        if not host_is_trusted(host):  # it has characters that no host name has
            return False
        address = _address(host)
        if address is None:
            return self.every_name or host_is_trusted(host.lower(), self.names)
        return self.every_address or any(address == _address(name) for name in self.names)

    def __str__(self) -> str:
        """The allowed names, without addresses."""
        return ", ".join(name.removeprefix(".") if name in LOCAL else name for name in self.names if not _address(name))


def allowed_hosts(bound: str, more: Iterable[str], own: str | None = None) -> AllowedHosts:
    """The server's bound address, this machine's local names, and `more`; its own names too where bound to all addresses.

    On a unix socket `*` is every host. `own` is the name of this machine, by default from the system.

    Raises
    ------
    ValueError
        Where one of `more` is neither a host name nor an address.
    """
    on_socket, more = socket_path(bound) is not None, list(more)
    if on_socket and EVERY in more:
        return AllowedHosts(every_address=True, every_name=True)
    names = [name for name in map(_host_name, more) if name]
    if on_socket:
        return AllowedHosts((*LOCAL, *names))
    address = _address(bound)
    if bound and (address is None or not address.is_unspecified):
        return AllowedHosts((*LOCAL, bound.lower(), *names))
    own = (own or socket.gethostname()).lower()
    own_names = (own, f"{own}.local") if _NAME.fullmatch(own) else ()
    return AllowedHosts((*LOCAL, *own_names, *names), every_address=True)


def check_hosts(server: Flask, allowed: AllowedHosts) -> None:
    """Refuse requests with another Host header. A request without a Host header is not from a browser."""

    @server.before_request
    def check_host() -> None:
        host = request.headers.get("Host")
        if host is not None and host not in allowed:
            abort(
                400,
                f"This server does not answer to the host {host[:80]!a}. If it is yours, start it with that name: "
                "`headscape serve --allowed-hosts=NAME,...`.",
            )


def _host_name(text: str) -> str:
    name = text.strip().lower()
    if name and _address(name) is None and not _NAME.fullmatch(name):
        raise ValueError(
            f"--allowed-hosts={text} is not a host name. Write names without http:// and port, separated by commas."
        )
    return name


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address in a Host header, without its port; None where it is a name."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host
    try:
        return ip_address(name.partition(":")[0] if name.count(":") == 1 else name)
    except ValueError:
        return None


class ComponentProperty(BaseModel):
    """A property of a component, as Dash's script sends it; `http.validated` checks its value."""

    model_config = ConfigDict(strict=True)
    id: Id
    property: str


#: Inputs of a callback; where an id has a wildcard for all components of a kind, a list of properties.
ComponentProperties = list[ComponentProperty | list[ComponentProperty]]


class Body(BaseModel):
    """Fields that Dash expects in a request of its script."""

    model_config = ConfigDict(strict=True)
    output: str
    outputs: ComponentProperty | ComponentProperties
    inputs: ComponentProperties
    state: ComponentProperties = []
    changedPropIds: list[str] = []  # noqa: N815


def check_callbacks(app: Dash) -> None:
    """Answer 400 to a callback request that no page sends, and 404 where there is no such callback."""
    server: Flask = app.server

    @server.before_request
    def check_callback() -> None:
        if request.method == "POST" and request.path == CALLBACKS:
            _check(_body(), app.callback_map)


def _body() -> Body:
    try:
        return Body.model_validate(request.get_json())
    except RecursionError as error:
        raise BadRequest("The request is nested too deeply. Reload the page.") from error
    except ValidationError as error:
        raise BadRequest("The request is invalid. Reload the page.") from error


def _check(body: Body, callbacks: Mapping[str, Mapping[str, Any]]) -> None:
    callback = callbacks.get(body.output, {})
    if "callback" not in callback:  # a callback without it runs in the browser
        abort(404, "The server has no such callback. Reload the page.")
    outputs: ComponentProperties = body.outputs if isinstance(body.outputs, list) else [body.outputs]
    sent = (outputs, _outputs(body.output)), (body.inputs, callback["inputs"]), (body.state, callback["state"])
    if not all(_fit(parts, defined) for parts, defined in sent):
        abort(400, "The request does not fit its callback. Reload the page.")


def _outputs(names: str) -> list[dict[str, str]]:
    """Id and property of each output of `id.property`, or of several outputs `..id.property...id.property..`."""
    each = names.strip(".").split("...") if names.startswith("..") else [names]
    return [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in each]


def _fit(parts: ComponentProperties, defined: Sequence[Mapping[str, str]]) -> bool:
    return len(parts) == len(defined) and all(map(_fits, parts, defined))


def _fits(sent: ComponentProperty | list[ComponentProperty], defined: Mapping[str, str]) -> bool:
    """Whether sent properties match the definition of a callback, where an id with wildcards is JSON."""
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


def add_headers(app: Dash) -> None:
    """Add the headers to every response. Call it last: hashes of Dash's inline scripts must be known to allow them."""
    policy = _content_policy([*app.csp_hashes(), *import_map_hashes(app)])
    headers = ALWAYS | {"Content-Security-Policy": policy, VERSION: version()}

    def add(response: Response) -> Response:
        if _is_framed_elsewhere():
            return _framed()
        for name, value in (headers | BEHIND_HTTPS if request.is_secure else headers).items():
            response.headers.setdefault(name, value)  # the page to sign in has a stricter policy
        return response

    app.server.after_request(add)


def _is_framed_elsewhere() -> bool:
    """Whether a page of another origin shows this response in a frame, which would stay empty."""
    other = request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
    return other and request.headers.get("Sec-Fetch-Dest") in ("iframe", "frame", "embed", "object")


def _framed() -> Response:
    """A page for the frame: a sentence and a link, and nothing of the answer."""
    link = f"{request.script_root}/{request.full_path.strip('/?')}"
    response = Response(FRAMED.format(link=escape(link)), 403, mimetype="text/html")
    response.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors *"
    return response


def _content_policy(script_hashes: Sequence[str]) -> str:
    """The Content-Security-Policy of a page, which may load from this server alone."""
    directives = {
        "default-src": ["'none'"],
        "script-src": ["'self'", *script_hashes],
        "style-src": ["'self'", "'unsafe-inline'"],  # Mantine and plotly add style elements whose text changes
        "img-src": ["'self'", "data:", "blob:"],  # a chart is saved through a picture
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'self'"],  # JupyterLab frames a server behind its proxy
    }
    return "; ".join(" ".join([name, *sources]) for name, sources in directives.items())

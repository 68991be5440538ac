"""Reverse proxies: the server takes the word of named ones on who the client is, and removes what all others claim.

One proxy stands before the server: of several values in a header the last counts, which that proxy added.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from dashboard.web.addresses import CLIENT, PEER, AddressList

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


def follow_proxies(server: Flask, trusted: AddressList) -> None:
    """Apply X-Forwarded-For, -Proto and -Host of trusted proxies; remove every header of the kind that others send."""
    answer = server.wsgi_app
    fixed = ProxyFix(answer, x_for=1, x_proto=1, x_host=1)

    def follow(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        environ[PEER] = environ.get(CLIENT, "")
        if environ[PEER] in trusted:
            return fixed(environ, start_response)
        for name in [name for name in environ if name.startswith("HTTP_X_FORWARDED_") or name == "HTTP_FORWARDED"]:
            del environ[name]
        return answer(environ, start_response)

    server.wsgi_app = follow  # type: ignore[method-assign]

"""Addresses of data that a page of an older server has."""

from typing import NoReturn

from flask import Flask, abort

from dashboard.web.library import Library


def register(server: Flask, _library: Library) -> None:
    """Answer every address that no other route has."""
    server.add_url_rule("/data/<path:_address>", view_func=_outdated)


def _outdated(_address: str) -> NoReturn:
    abort(404, "There is nothing at this address, or not any more. Reload the page.")

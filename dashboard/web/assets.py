"""Our scripts in a page: modules, each under a URL with a hash of its content, so that a browser fetches it once.

Modules import each other by their relative paths. An import map in the page leads each path to its address, so that after an
upgrade no browser combines old and new modules. Links in the page make the browser fetch all modules at once.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from dash import Dash
from flask import Flask, Response, abort, request

from dashboard.web.http import lasting
from dashboard.web.served_store import ServedStore
from dashboard.web.state import browser_table

DASHBOARD = Path(__file__).parents[1]
ASSETS = DASHBOARD / "assets"
#: Folder of the typeface in its package, and names of its files, as in `assets/typeface.css`.
TYPEFACE = files("xstatic.pkg.roboto_fontface") / "data/fonts/roboto"
FONTS = ("Roboto-Regular.woff2", "Roboto-Medium.woff2")
#: The module that registers our components and callbacks with Dash.
ENTRY = "/assets/headscape.mjs"
#: The script that fetches the page and shows its text before the other scripts have loaded.
EARLY_PAGE = "early_page.js"
#: Header by which a page recognises answers of its server, and notices an upgrade of the server (assets/web/session.mjs).
VERSION = "Headscape-Version"
#: Packages whose scripts a page fetches on demand.
SCRIPTS = ("dash", "dash-mantine-components", "plotly")
#: Assets that the page's HTML names; Dash adds no tag for them.
NAMED = r"(color_scheme|early_page)\.js|\.mjs$|(notebook|published)\.css$"
#: Folders of modules that no page loads: notebooks and published sites get them from `dashboard.notebook.modules`.
ELSEWHERE = ("notebook", "published")
#: Starts Dash after the modules: they are deferred, and this event follows them.
RENDERER = 'document.addEventListener("DOMContentLoaded", () => new DashRenderer());'
IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)


def modules(folder: Path = ASSETS) -> dict[str, str]:
    """The version of every module of the pages by its path in a URL."""
    paths = sorted(path for path in folder.rglob("*.mjs") if path.parent.name not in ELSEWHERE)
    return {f"/assets/{path.relative_to(folder).as_posix()}": _version(path) for path in paths}


def _current_versions() -> set[tuple[str, str | None]]:
    """Every file's path in a URL with its version: the hash of its content, and its time of change, which Dash writes."""
    return {
        (f"/assets/{path.relative_to(ASSETS).as_posix()}", version)
        for path in ASSETS.rglob("*.*")
        for version in (_version(path), str(path.stat().st_mtime))
    }


def _version(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:12]


@cache
def version() -> str:
    """Hash of a page's scripts and styles: contents of our files, and versions of the packages of other scripts."""
    ours = [f"{path.name} {_version(path)}" for path in sorted(ASSETS.rglob("*.*"))]
    return sha256("\n".join([*ours, *map(metadata.version, SCRIPTS)]).encode()).hexdigest()[:12]


def index_string(prefix: str = "") -> str:
    """The page that loads our modules from under the server's prefix, as a template of Dash."""
    page = (DASHBOARD / "index.html").read_text("utf-8")
    tags = "\n      ".join(_tags(modules(), prefix))
    page = page.replace("{%modules%}", tags).replace("{%prefix%}", prefix)
    page = page.replace("{%early-page%}", _version(ASSETS / EARLY_PAGE))
    return page.replace("{%link-table%}", json.dumps(browser_table(prefix) | {"version": version()}))


def _tags(versions: Mapping[str, str], prefix: str) -> Iterator[str]:
    addresses = {f"{prefix}{path}": f"{prefix}{path}?m={version}" for path, version in versions.items()}
    yield f'<script type="importmap">{json.dumps({"imports": addresses})}</script>'
    fonts = (f"{prefix}/fonts/{name}" for name in FONTS)
    yield from (f'<link rel="preload" as="font" type="font/woff2" href="{font}" crossorigin>' for font in fonts)
    yield from (f'<link rel="modulepreload" href="{address}">' for address in addresses.values())
    yield f'<script type="module" src="{addresses[prefix + ENTRY]}"></script>'


def import_map_hashes(app: Dash) -> list[str]:
    """Sources that a Content-Security-Policy has to allow for the import map in the page."""
    sources = IMPORT_MAP.findall(app.index_string)
    return [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in sources]


def register(server: Flask, _served_store: ServedStore) -> None:
    """Let browsers keep files whose URL has a version; by Flask's default they would revalidate every script on every page."""
    current = _current_versions()

    def keep_versioned(response: Response) -> Response:
        is_current = (request.path, request.args.get("m")) in current
        return lasting(response) if is_current and response.status_code == 200 else response

    @server.get("/fonts/<name>")
    def font(name: str) -> Response:
        if name not in FONTS:
            abort(404, f"There is no font {name[:40]}. There are {', '.join(FONTS)}.")
        return lasting(Response((TYPEFACE / name).read_bytes(), mimetype="font/woff2"))

    server.after_request(keep_versioned)

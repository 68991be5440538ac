"""How our scripts get into a page: as modules, each under an address that names its content and is fetched once.

Modules import each other by their relative paths. An import map in the page leads each path to its address, so that after an
upgrade no browser puts an old module beside a new one. Links in the page have all of them fetched at once.
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
#: Files of the typeface in its package, by the name in their address; `assets/typeface.css` names them.
TYPEFACE = files("xstatic.pkg.roboto_fontface") / "data/fonts/roboto"
FONTS = ("Roboto-Regular.woff2", "Roboto-Medium.woff2")
#: The module that registers our components and callbacks with Dash.
ENTRY = "/assets/headscape.mjs"
#: The script that asks for the page, and shows its words, before all others have come.
EARLY_PAGE = "early_page.js"
#: Header by which a page knows the answers of its server, and whether the server was upgraded since (assets/web/session.mjs).
VERSION = "Headscape-Version"
#: Packages whose scripts a page fetches when it needs them.
SCRIPTS = ("dash", "dash-mantine-components", "plotly")
#: Assets that the page names itself, where Dash would add a script for each.
NAMED = r"(color_scheme|early_page)\.js|\.mjs$|(notebook|published)\.css$"
#: Folders and sheets that no page has: a notebook and a published site get them from `dashboard.notebook.modules`.
ELSEWHERE = ("notebook", "published")
#: Dash starts when the modules have run: they are deferred, and this event comes after them.
RENDERER = 'document.addEventListener("DOMContentLoaded", () => new DashRenderer());'
IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)


def modules(folder: Path = ASSETS) -> dict[str, str]:
    """The version of every module of the pages by its path in a URL."""
    paths = sorted(path for path in folder.rglob("*.mjs") if path.parent.name not in ELSEWHERE)
    return {f"/assets/{path.relative_to(folder).as_posix()}": _version(path) for path in paths}


def _version(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:12]


@cache
def version() -> str:
    """What a page is made of: our files, and the versions of the packages with the others."""
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
    """Let browsers keep what has its version in its address; Flask would have them ask for every script on every page."""
    versions = modules()

    def keep_versioned(response: Response) -> Response:
        version = request.args.get("m") if request.path.startswith("/assets/") else None
        is_current = version is not None and version == versions.get(request.path, version)
        return lasting(response) if is_current and response.status_code == 200 else response

    @server.get("/fonts/<name>")
    def font(name: str) -> Response:
        if name not in FONTS:
            abort(404, f"There is no font {name[:40]}. There are {', '.join(FONTS)}.")
        return lasting(Response((TYPEFACE / name).read_bytes(), mimetype="font/woff2"))

    server.after_request(keep_versioned)

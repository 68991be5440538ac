"""How our modules get into a page: each once, at once, under an address that names its content, before Dash starts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Route, expect

from dashboard.web import assets
from tests.browser import drawn


def imports(path: Path) -> Iterator[str]:
    """Paths of the modules that a module imports."""
    for statement in re.findall(r'^import [^;]*? from "[^"]+";', path.read_text("utf-8"), re.MULTILINE):
        yield re.findall(r'"([^"]+)"', statement)[0]


@pytest.fixture
def page(client: FlaskClient) -> str:
    return client.get("/").text


def test_every_import_is_a_module_of_the_import_map(page: str) -> None:
    (text,) = assets.IMPORT_MAP.findall(page)
    addresses = json.loads(text)["imports"]
    assert set(addresses) == set(assets.modules())
    for path in addresses:
        for imported in imports(assets.DASHBOARD / path.lstrip("/")):
            assert urljoin(path, imported) in addresses, (path, imported)


def test_every_module_is_fetched_at_once_under_the_address_of_the_map(page: str) -> None:
    (text,) = assets.IMPORT_MAP.findall(page)
    addresses = json.loads(text)["imports"]
    assert re.findall(r'<link rel="modulepreload" href="([^"]+)">', page) == list(addresses.values())
    assert re.findall(r'<script type="module" src="([^"]+)">', page) == [addresses[assets.ENTRY]]


def test_the_import_map_comes_before_all_that_it_maps(page: str) -> None:
    first = min(page.index('rel="modulepreload"'), page.index('type="module"'))
    assert page.index('<script type="importmap">') < first


def test_the_policy_allows_the_import_map(client: FlaskClient) -> None:
    policy = client.get("/").headers["Content-Security-Policy"]
    assert policy.count("'sha256-") >= 2
    assert "unsafe-inline' 'self'" not in policy


def test_a_changed_module_has_another_address(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    module = tmp_path / "web" / "a.mjs"
    module.write_text("export const a = 1;\n")
    before = assets.modules(tmp_path)
    module.write_text("export const a = 2;\n")
    after = assets.modules(tmp_path)
    assert before.keys() == after.keys() == {"/assets/web/a.mjs"}
    assert before != after


def test_modules_are_javascript_to_a_browser(client: FlaskClient) -> None:
    answer = client.get(assets.ENTRY)
    assert answer.mimetype in ("text/javascript", "application/javascript")
    answer.close()


def test_each_module_is_fetched_once(chromium: Browser, tiny_server: str) -> None:
    page = chromium.new_page()
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url.removeprefix(tiny_server)))
    page.goto(f"{tiny_server}/heads")
    drawn(page)
    fetched = [url for url in urls if ".mjs" in url]
    assert sorted(fetched) == sorted(f"{path}?m={version}" for path, version in assets.modules().items())
    page.close()


def test_components_are_there_before_dash_starts_however_late_a_module_comes(
    chromium: Browser, tiny_server: str
) -> None:
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)

    def delay(route: Route) -> None:
        page.wait_for_timeout(1_500)
        route.continue_()

    page.route("**/camera.mjs*", delay)
    page.goto(f"{tiny_server}/heads")
    drawn(page)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert errors == []
    page.close()

"""Behind nginx and Caddy, under a prefix and on a unix socket, as in docs/serving/: every page, file and link works."""

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.pages import TOPICS
from tests.access import PASSWORD
from tests.browser import GOT_IT, until
from tests.client import assets
from tests.reverse_proxies import COMMAND, PREFIX, UNIT, replaced, unverified

#: An address of this server, in a page and in a style sheet.
IN_HTML = re.compile(r"""(?:href|src)="([^"]+)\"""")
IN_CSS = re.compile(r"""url\(["']?([^"')]+)""")
ADDRESS = re.compile(r"/[a-z_][\w.-]*(/|\?|$)|/$")


class Site:
    """A client of a proxy, whatever its certificate."""

    def __init__(self, address: str) -> None:
        self.address, self.origin = address, address.removesuffix(PREFIX)
        cookies = urllib.request.HTTPCookieProcessor()
        self._opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=unverified()), cookies)

    def ask(self, path: str, form: dict[str, str] | None = None, **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers by lower-case names, and text of an answer."""
        body = None if form is None else urlencode(form).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            answer = self._opener.open(urllib.request.Request(self.origin + path, body, named), timeout=60)
        except HTTPError as error:
            answer = error
        with answer:
            text = answer.read().decode("utf-8", "replace")
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, text

    def unfollowed(self, path: str, form: dict[str, str]) -> str:
        """The cookie of an answer that redirects, which is not followed."""
        parts = urlsplit(self.origin)
        connection = HTTPSConnection(parts.netloc, context=unverified())
        connection.request("POST", path, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})
        cookie = connection.getresponse().getheader("Set-Cookie") or ""
        connection.close()
        return cookie

    def page(self, name: str, search: str = "") -> dict[str, object]:
        """The server's answer for a page."""
        form = {"pathname": f"{PREFIX}/{name}", "search": search, "snapshot": ""}
        status, _, text = self.ask(f"{PREFIX}/data/page", form)
        assert status == 200
        return json.loads(text)


@pytest.fixture(scope="module")
def asked(proxied: str) -> Site:
    site = Site(proxied)
    site.ask(f"{PREFIX}/login", {"name": "ada", "password": PASSWORD, "next": f"{PREFIX}/"})
    return site


def strings(value: object) -> Iterator[str]:
    """Every text within a structure of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def addresses(page: object) -> set[str]:
    """Every address in the server's answer for a page."""
    texts = list(strings(page))
    return {text for text in texts if ADDRESS.match(text)} | {url for text in texts for url in IN_CSS.findall(text)}


def test_every_asset_is_there(asked: Site) -> None:
    status, _, text = asked.ask(f"{PREFIX}/")
    assert status == 200
    found = [url for url in IN_HTML.findall(text) if not url.startswith("#")]
    assert {f"{PREFIX}/assets/{name}" for name in assets()} <= {url.partition("?")[0] for url in found}
    sheets = [url for url in found if ".css" in url]
    found += [urljoin(sheet, url) for sheet in sheets for url in IN_CSS.findall(asked.ask(sheet)[2])]
    assert {url: status for url in found if (status := asked.ask(url)[0]) != 200} == {}


@pytest.mark.parametrize("name", TOPICS)
def test_every_address_of_a_page_has_the_prefix_and_is_answered(name: str, asked: Site) -> None:
    # Page Server names routes, which are not addresses.
    found = set() if name == "server" else addresses(asked.page(name))
    assert {url for url in found if not url.startswith((f"{PREFIX}/", "data:"))} == set()
    # The browser completes the other addresses, by the point under the pointer.
    files = [url for url in found if "/data/" in url and "." in urlsplit(url).path.rpartition("/")[2]]
    assert files or name in ("lessons", "store", "notes", "server")
    assert {url: status for url in files if (status := asked.ask(url)[0]) != 200} == {}


def test_who_has_not_signed_in_is_led_to_the_page_for_it(proxied: str) -> None:
    status, _, text = Site(proxied).ask(f"{PREFIX}/statistics", Accept="text/html")
    assert status == 200
    assert f'action="{PREFIX}/login"' in text


def test_the_cookie_of_a_session_is_for_https_and_the_prefix_alone(proxied: str) -> None:
    answer = Site(proxied).unfollowed(f"{PREFIX}/login", {"name": "ada", "password": PASSWORD, "next": f"{PREFIX}/"})
    assert {"Secure", "HttpOnly", f"Path={PREFIX}", "SameSite=Lax"} <= set(answer.split("; "))


def test_the_prefix_without_its_last_slash_leads_to_the_first_page(asked: Site) -> None:
    status, _, text = asked.ask(PREFIX)
    assert status == 200
    assert f'src="{PREFIX}/assets/color_scheme.js"' in text


def test_the_longest_link_passes(asked: Site) -> None:
    link = f"{PREFIX}/sentence?text=" + "a" * 8_000
    assert asked.ask(link, Referer=asked.origin + link)[0] == 200


def test_a_client_cannot_say_where_it_comes_from(asked: Site) -> None:
    headers = {"X_Forwarded_Host": "evil.example", "X_Forwarded_Proto": "http", "X_Forwarded_For": "10.0.0.9"}
    status, answered, _ = asked.ask(f"{PREFIX}/", **headers)
    assert status == 200
    assert answered["strict-transport-security"] == "max-age=31536000"


@pytest.fixture(scope="module")
def errors() -> list[str]:
    """Errors in the browser: messages on the console, and requests that left the prefix or were refused."""
    return []


@pytest.fixture(scope="module")
def reader(chromium: Browser, proxied: str, errors: list[str]) -> Iterator[Page]:
    """A browser's page that shows the first page of the server."""
    rights = ["clipboard-read", "clipboard-write"]
    with chromium.new_context(ignore_https_errors=True, permissions=rights) as context:
        context.add_init_script(GOT_IT)
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("response", lambda answer: errors.append(answer.url) if answer.status >= 400 else None)
        page.on("request", lambda request: None if _is_ours(request.url, proxied) else errors.append(request.url))
        page.goto(f"{proxied}/")
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        yield page
    assert errors == []


def _is_ours(url: str, site: str) -> bool:
    return url.startswith((f"{site}/", "data:", "blob:"))


def at(page: Page, site: str, name: str) -> Page:
    """The page, once its navigation shows that it is the page of this name."""
    link = page.locator("#navigation").get_by_role("link", name=TOPICS[name].title, exact=True)
    if not link.count():
        page.goto(f"{site}/")
    link.click()
    until(page, f"location.pathname === '{PREFIX}/{name}' || '{name}' === 'overview'")
    expect(link).to_have_attribute("aria-current", "page")
    until(page, "!document.querySelector('#page').hasAttribute('aria-busy')")
    expect(page.locator(".problem").filter(has_text=re.compile(r"\S"))).to_have_count(0)
    return page


def test_every_page_is_a_click_or_a_key_away_its_link_opens_the_same_and_files_are_saved(
    reader: Page, proxied: str, tmp_path: Path
) -> None:
    for name in TOPICS:
        goes_to(reader, proxied, name)
        if name in ("heads", "head", "features", "compare"):
            until(reader, f"document.querySelector('.frame')?.dataset.drawn?.startsWith('{PREFIX}/data/')")
        if name == "head":
            opens_a_copied_link(reader, proxied)
        elif name == "statistics":
            saves_a_file(reader)
        elif name == "sentence":
            saves_a_page_that_works_offline(reader, tmp_path)
    goes_back(reader)


def goes_to(reader: Page, proxied: str, name: str) -> None:
    """Go to a page by the navigation, to another from a panel, and to a third by keys."""
    if name == "head":
        reader.locator(".frame").focus()
        reader.keyboard.press("ArrowRight")
        reader.keyboard.press("Enter")
        until(reader, f"location.pathname === '{PREFIX}/head'")
    elif name == "map":
        reader.locator("h1").click()
        reader.keyboard.press("g")
        reader.keyboard.press("m")
        until(reader, f"location.pathname === '{PREFIX}/map'")
    else:
        at(reader, proxied, name)


def goes_back(reader: Page) -> None:
    """Go back to the last page but one."""
    reader.go_back()
    last_but_one = list(TOPICS.values())[-2]
    until(reader, f"location.pathname === '{PREFIX}/{last_but_one.name}'")
    link = reader.locator("#navigation").get_by_role("link", name=last_but_one.title, exact=True)
    expect(link).to_have_attribute("aria-current", "page")


def opens_a_copied_link(reader: Page, proxied: str) -> None:
    drawn_title = reader.get_by_role("heading", level=1)
    expect(drawn_title).to_contain_text("L0 H1")
    reader.get_by_role("button", name="Copy link").click()
    expect(reader.get_by_role("button", name="Copied")).to_be_visible()
    link = reader.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{proxied}/head?")
    reader.goto(link)
    expect(drawn_title).to_contain_text("L0 H1")


def saves_a_file(reader: Page) -> None:
    with reader.expect_download() as download:
        reader.get_by_role("link", name="CSV", exact=True).first.click()
    assert download.value.path().read_text("utf-8").count("\n") > 1


def saves_a_page_that_works_offline(reader: Page, tmp_path: Path) -> None:
    with reader.expect_download() as download:
        reader.get_by_role("button", name="Save HTML").click()
    download.value.save_as(tmp_path / "saved.html")
    saved = reader.context.browser.new_page(offline=True)
    saved.goto((tmp_path / "saved.html").as_uri())
    expect(saved.locator("#sentence canvas, #sentence svg").first).to_be_visible()
    saved.close()


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """A copy of the unit, with an existing command."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing; install Debian's package systemd")
    command = Path(sys.executable).with_name("headscape")
    (tmp_path / UNIT.name).write_text(replaced(UNIT.read_text("utf-8"), {COMMAND: str(command)}))
    return tmp_path / UNIT.name


def test_systemd_accepts_the_unit(unit: Path) -> None:
    run = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_systemd_rates_the_unit_as_hardly_exposed(unit: Path) -> None:
    rate = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)]
    run = subprocess.run(rate, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-200:]

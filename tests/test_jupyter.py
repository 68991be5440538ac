"""The tile of JupyterLab's launcher, and the server that a real Jupyter starts by it: with its whole path, and with a cut path."""

import json
import urllib.request
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest
from tornado.web import HTTPError as Page

from dashboard.web.http import data_link
from headscape import jupyter
from store import Corpus
from tests.notebook_servers import running
from tests.reverse_proxies import free_port

ROOT = Path(__file__).parents[1]
USER, HOST = "/user/ada@example.org/", "hub.example.org"
#: Configuration of a second tile: the same server at a path that Jupyter cuts off.
CUT = """
from headscape.jupyter import command, launcher
def cut(base_url, unix_socket):
    return [part.replace("org/headscape", "org/cut") for part in command(base_url, unix_socket)]
c.ServerProxy.servers = {"cut": launcher() | {"command": cut, "absolute_url": False}}
"""
NAMES = ("headscape", "cut")
behind_jupyter = pytest.mark.skipif(find_spec("jupyter_server_proxy") is None, reason="`make docs` installs it")


def test_the_tile_is_an_entry_point_of_the_package() -> None:
    (tile,) = entry_points(group="jupyter_serverproxy_servers", name="headscape")
    assert tile.load() is jupyter.launcher


def test_the_tile_has_a_title_and_an_icon_and_passes_the_path_on_to_a_socket() -> None:
    tile = jupyter.launcher()
    assert (tile["unix_socket"], tile["absolute_url"]) == (True, True)
    assert tile["launcher_entry"] == {"title": "Headscape", "icon_path": str(ROOT / "headscape/icon.svg")}


def test_the_command_serves_the_store_of_the_environment_under_the_path_of_its_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(jupyter.STORE, str(tmp_path))
    command = jupyter.command(USER, "/run/x/socket")
    assert command[1:4] == ["-m", "headscape", "serve"]
    assert {f"--store={tmp_path}", "--host=unix:/run/x/socket", f"--prefix={USER}headscape"} < {*command}


def test_a_store_below_the_home_of_its_user_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(jupyter.STORE, "~/films")
    assert "--store=~/films" in jupyter.command(USER, "/run/x/socket")


def test_a_store_that_is_not_there_is_said_in_place_of_the_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(jupyter.STORE, str(tmp_path / "none"))
    with pytest.raises(Page, match=r"There is no store at .*/none. Run `headscape ingest") as raised:
        jupyter.command("/", "/run/x/socket")
    assert raised.value.status_code == 503  # Jupyter has a page of its own for 404, without the sentence


@pytest.fixture(scope="module")
def hub(tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Jupyter as a hub starts it for a user: the user's name is in its path, and requests name the hub's host."""
    folder, port = tmp_path_factory.mktemp("jupyter"), free_port()
    (folder / "config.py").write_text(CUT)
    flags = [f"--ServerApp.port={port}", f"--ServerApp.base_url={USER}", "--ServerApp.allow_remote_access=True"]
    flags += ["--allow-root", "--no-browser", f"--config={folder}/config.py", "--IdentityProvider.token="]
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = dict.fromkeys(names, str(folder)) | {jupyter.STORE: tiny_store}
    address = f"http://127.0.0.1:{port}{USER}"
    command = ["jupyter_server", *flags, "--ServerApp.port_retries=0"]
    with running(command, folder, environment, ready=f"{address}api"):
        yield address


def asked(address: str, body: object = None) -> tuple[int, bytes]:
    """Status and content of the answer to a browser at the hub's host name; status 0 where nothing answers."""
    headers = {"Host": HOST, "Origin": f"http://{HOST}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=180) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()
    except URLError:
        return 0, b""


@pytest.mark.slow
@behind_jupyter
@pytest.mark.parametrize("name", NAMES)
def test_behind_jupyter_pages_files_and_data_are_those_of_the_path(name: str, hub: str, tiny_corpus: Corpus) -> None:
    status, page = asked(f"{hub}{name}/heads?layer=1")
    assert (status, b'src="%s%s/assets/' % (USER.encode(), name.encode()) in page) == (200, True)
    assert asked(f"{hub}{name}/assets/style.css")[0] == 200
    status, tokens = asked(f"{hub}{name}{data_link(tiny_corpus)}/tokens.json")
    assert (status, len(json.loads(tokens)) > 0) == (200, True)


@pytest.mark.slow
@behind_jupyter
@pytest.mark.parametrize("name", NAMES)
def test_behind_jupyter_a_page_calls_back_from_the_name_of_the_hub(name: str, hub: str) -> None:
    named = ("location.pathname", "location.search", "shown.data")
    values = (f"{USER}{name}/", "", None)
    parts = [dict(zip(("id", "property"), each.split("."), strict=True)) for each in named]
    outputs = [{"id": part, "property": "children"} for part in ("tour-steps", "glossary")]
    body = {
        "output": "..tour-steps.children...glossary.children..",
        "outputs": outputs,
        "inputs": [{"id": "asked-help", "property": "data", "value": 1}],
        "changedPropIds": ["asked-help.data"],
        "state": [part | {"value": value} for part, value in zip(parts, values, strict=True)],
    }
    status, answer = asked(f"{hub}{name}/_dash-update-component", body)
    assert (status, answer.count(b"tour-step step-")) == (200, 5)

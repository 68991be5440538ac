"""A widget in a real JupyterLab: drawn, selected, read back, saved, and drawn again in a new kernel."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.notebook_servers import running
from tests.reverse_proxies import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("jupyterlab") is None, reason="`make docs` installs JupyterLab"),
]
#: Settings of JupyterLab: widgets are saved with the notebook, and no question about news appears.
SETTINGS = {
    "jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
    "jupyterlab/apputils-extension/notification": {"fetchNews": "false"},
}
#: Status that keeps JupyterLab from asking whether to build it anew.
NO_BUILD = {"buildAvailable": False, "buildCheck": False}
#: A missing kernel, and the text that replaces a widget without a kernel.
NO_KERNEL = {"name": "absent", "display_name": "Absent", "language": "python"}
STILL = ".jp-OutputArea-child img[class^=headscape]"
#: Wordpieces that a notebook could take for HTML or for a formula.
TEXT = "film < b > good $ x $ & amp ;"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab on the folder of the test."""
    for name, settings in SETTINGS.items():
        path = tmp_path / f"settings/@{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    (tmp_path / "config/labconfig").mkdir(parents=True)
    (tmp_path / "config/labconfig/page_config.json").write_text(json.dumps(NO_BUILD))
    folders = {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data"}
    folders |= {"JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython", "JUPYTER_RUNTIME_DIR": "runtime"}
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = ["jupyterlab", f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={tmp_path}"]
    command += ["--no-browser", "--allow-root", "--IdentityProvider.token="]
    environment = {name: str(tmp_path / folder) for name, folder in folders.items()}
    with running(command, tmp_path, environment, ready=f"{address}/api"):
        yield address


def write(path: Path, cells: list[dict[str, Any]], metadata: dict[str, Any]) -> None:
    path.write_text(json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))


def code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "id": f"c{abs(hash(source))}", "metadata": {}, "source": source, "outputs": []} | {
        "execution_count": None
    }


def open_notebook(chromium: Browser, address: str) -> Page:
    page = chromium.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(address)
    expect(page.locator(".jp-CodeCell").first).to_be_visible()
    return page


def run(page: Page, cell: int) -> None:
    """Run a cell of the notebook, by Shift and Enter."""
    page.locator(".jp-CodeCell .cm-content").nth(cell).click()
    page.keyboard.press("Shift+Enter")


def tokens(page: Page) -> list[str]:
    """Texts of the query tokens in the head view; Playwright looks into the shadow root of the widget."""
    expect(page.locator(".head-view .tokens.query .token").first).to_be_visible()
    return page.locator(".head-view .tokens.query .token").all_text_contents()


def test_a_widget_is_drawn_read_back_saved_and_drawn_again_before_a_cell_runs(
    lab: str, chromium: Browser, tiny_model: Path, tmp_path: Path
) -> None:
    cells = [
        code(f"import headscape\nwidget = headscape.sentence({str(tiny_model)!r}, None, {TEXT!r})\nwidget"),
        code("print('chosen', widget.selection['query_token'], widget.selected_tokens.wordpiece[0])"),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    write(tmp_path / "film.ipynb", cells, kernel)
    page = open_notebook(chromium, f"{lab}/lab/tree/film.ipynb")
    expect(page.get_by_text("| Idle")).to_be_visible()
    run(page, 0)
    drawn = tokens(page)
    page.locator(".head-view .tokens.query .token").nth(1).click()
    run(page, 1)
    expect(page.get_by_text("chosen [1] film", exact=True)).to_be_visible()
    page.locator("button[data-command='docmanager:save'], [data-jp-item-name='save'] button").first.click()
    saved = tmp_path / "film.ipynb"
    while "widgets" not in json.loads(saved.read_text())["metadata"]:
        page.wait_for_timeout(200)
    page.close()

    read = json.loads(saved.read_text())
    assert drawn == ["[CLS]", *pieces_of(read), "[SEP]"]
    write(tmp_path / "reopened.ipynb", read["cells"], read["metadata"])
    page = open_notebook(chromium, f"{lab}/lab/tree/reopened.ipynb?reset")
    assert tokens(page) == drawn
    expect(page.locator(".head-view .tokens.query .token").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(STILL)).to_be_hidden()
    page.close()

    write(tmp_path / "without.ipynb", read["cells"], read["metadata"] | {"kernelspec": NO_KERNEL})
    page = open_notebook(chromium, f"{lab}/lab/tree/without.ipynb?reset")
    page.get_by_role("button", name="No Kernel", exact=True).click()
    expect(page.locator(STILL)).to_be_visible()
    page.close()


def pieces_of(notebook: dict[str, Any]) -> list[str]:
    """The wordpieces between the special tokens, from the state of the saved widget."""
    states = notebook["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].values()
    (units,) = [state["state"]["content"]["units"] for state in states if "content" in state["state"]]
    return [unit["name"] for unit in units[1:-1]]

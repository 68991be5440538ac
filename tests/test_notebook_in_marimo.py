"""Widgets in a real marimo: drawn, selected and read back."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("marimo") is None, reason="`make docs` installs marimo"),
]
ROOT = Path(__file__).parents[1]
#: A notebook with a sentence of a model, what is selected of it, and the points of a store.
NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import headscape
    import marimo as mo

    return headscape, mo


@app.cell
def _(headscape, mo):
    widget = headscape.sentence({model!r}, None, "The film was good.")
    shown = mo.ui.anywidget(widget)
    shown
    return shown, widget


@app.cell
def _(mo, shown, widget):
    shown.value
    mo.md("chosen " + " ".join(widget.selected_tokens.wordpiece))
    return


@app.cell
def _(headscape):
    corpus = headscape.open({store!r})
    corpus.show(0, 1)
    return (corpus,)


@app.cell
def _(corpus):
    corpus.heads()
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def notebook(tiny_model: Path, tiny_store: str, tmp_path: Path) -> Iterator[str]:
    """The address of a marimo that shows the notebook."""
    file = tmp_path / "notebook.py"
    file.write_text(NOTEBOOK.format(model=str(tiny_model), store=tiny_store))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", file.name, "--headless", "--no-token", f"--port={port}"]
    folders = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, cwd=tmp_path, env=os.environ | folders, stdout=log, stderr=log) as process,
    ):
        try:
            while not answers(port):
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def answers(port: int) -> bool:
    with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection, suppress(OSError):
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    return False


def opened(chromium: Browser, address: str) -> Page:
    """The notebook once the pictures of its last cell are drawn: until then it computes."""
    page = chromium.new_page(viewport={"width": 1200, "height": 1800})
    page.goto(address)
    expect(page.locator(".frame canvas")).to_have_count(2, timeout=120_000)
    return page


def test_a_choice_comes_back_and_points_are_drawn(notebook: str, chromium: Browser) -> None:
    page = opened(chromium, notebook)
    page.locator(".head-view .tokens.query .token").nth(2).click()
    word = page.locator(".head-view .tokens.query .token").nth(2).text_content()
    expect(page.get_by_text(f"chosen {word}", exact=True)).to_be_visible()
    page.close()

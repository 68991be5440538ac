"""Widgets in a real marimo: drawn, selected and read back."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.notebook_servers import running
from tests.reverse_proxies import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("marimo") is None, reason="`make docs` installs marimo"),
]
#: A notebook with a sentence of a model, the selection in it, and the points of a store.
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
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = ["marimo", "run", file.name, "--headless", "--no-token", f"--port={port}"]
    with running(command, tmp_path, {"HOME": str(tmp_path)}, ready=f"{address}/health"):
        yield address


def opened(chromium: Browser, address: str) -> Page:
    """The notebook once the pictures of its last cell are drawn and it no longer computes."""
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

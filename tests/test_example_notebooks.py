"""The notebooks of docs/notebooks/: saved without outputs, and every cell runs as written."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ipywidgets import Widget as AnyWidget

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    """Code cells of a notebook."""
    read = json.loads(path.read_text("utf-8"))
    return [cell for cell in read["cells"] if cell["cell_type"] == "code"]


@pytest.fixture(autouse=True)
def no_widgets_left() -> Iterator[None]:
    yield
    AnyWidget.close_all()


def test_there_are_three_notebooks() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_saved_without_outputs(path: Path) -> None:
    assert [cell["outputs"] for cell in cells(path)] == [[]] * len(cells(path))
    assert {cell["execution_count"] for cell in cells(path)} == {None}


def run(source: str, names: dict[str, Any]) -> object:
    """Run a cell as a notebook does; returns the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path, default_store: str, tiny_model: Path, tmp_path: Path) -> None:
    given = {"STORE": default_store, "MODEL": str(tiny_model), "FIGURE": str(tmp_path / "figure.svg")}
    names: dict[str, Any] = {}
    drawn = 0
    for cell in cells(path):
        shown = run("".join(cell["source"]), names)
        if "parameters" in cell["metadata"].get("tags", ()):
            names |= given
        drawn += isinstance(shown, AnyWidget)
    assert drawn
    if "FIGURE" in names and path.stem == "question_to_figure":
        assert (tmp_path / "figure.svg").read_text("utf-8").startswith("<svg")

"""Figures of a tree of five modules, counted by hand."""

from pathlib import Path

import pytest

from tests.structure.figures import figures, patches
from tests.structure.imports import arrows, back_arrows, circles, modules_of, single_importers

FILES = {
    "store/__init__.py": "",
    "store/errors.py": "class Refusal(Exception):\n    pass\n",
    "store/corpus.py": "from store.errors import Refusal\n",
    "dashboard/page.py": "from dashboard.routes import send\nfrom store import corpus\n\ndef draw(context: Context | None) -> None:\n    pass\n",
    "dashboard/routes.py": "import store.errors\n\ndef send() -> None:\n    from dashboard import page\n",
}  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {**FILES, "README.md": "Three plain words", "docs/use.md": "Two more"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_arrows_are_found_at_the_top_of_a_module_and_in_functions(tree: Path) -> None:
    assert set(arrows(modules_of(tree)).edges) == {
        ("store.corpus", "store.errors"),
        ("dashboard.page", "dashboard.routes"),
        ("dashboard.page", "store.corpus"),
        ("dashboard.routes", "store.errors"),
        ("dashboard.routes", "dashboard.page"),
    }


def test_two_modules_that_import_each_other_are_a_circle(tree: Path) -> None:
    assert circles(arrows(modules_of(tree))) == [{"dashboard.page", "dashboard.routes"}]


def test_a_module_that_one_other_imports_is_named_with_it(tree: Path) -> None:
    single = single_importers(arrows(modules_of(tree)))
    assert single == {
        "store.corpus": "dashboard.page",
        "dashboard.routes": "dashboard.page",
        "dashboard.page": "dashboard.routes",
    }


def test_the_rarer_direction_between_two_folders_counts_as_back(tree: Path) -> None:
    for name, text in {"a/one": "import store.b.two", "a/more": "import store.b.two", "b/two": ""}.items():
        (tree / f"store/{name}.py").parent.mkdir(exist_ok=True)
        (tree / f"store/{name}.py").write_text(text)
    assert back_arrows(arrows(modules_of(tree))) == 1  # between page and routes, which are not in a folder
    (tree / "store/b/back.py").write_text("import store.a.one")
    assert back_arrows(arrows(modules_of(tree))) == 2


def test_figures_of_a_tree_are_those_counted_by_hand(tree: Path) -> None:
    counted = figures(tree)
    assert counted["Python files"] == "5"
    assert counted["functions that take Context"] == "1"
    assert counted["words of README and docs"] == "5"


def test_patches_by_dotted_string_are_counted_among_all() -> None:
    call = "patch.setattr"  # without its bracket, so that this text does not count as a patch
    text = f'{call}(module, "STEP", 1)\nmonkey{call}("store.corpus.STEP", 2)\n'
    assert patches(text) == (2, 1)

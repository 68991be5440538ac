"""`import headscape` and the command in a folder with files that have the names of Headscape's packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OPEN = "import headscape; print(headscape.open({store!r}))"


def python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder. Headscape comes after the folder's own modules, as an installed package does."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([environment.get("PYTHONPATH", ""), str(ROOT)]).strip(":")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


def hide(folder: Path, name: str) -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("", "utf-8")
    return file


@pytest.mark.parametrize("name", ["store.py", "store/__init__.py"])
def test_a_file_that_hides_the_store_is_named(name: str, tmp_path: Path) -> None:
    file = hide(tmp_path, name)
    ended = python(tmp_path, "-c", OPEN.format(store="anywhere"))
    sentence = f"{file} hides the package 'store' of Headscape. Rename it, or start Python in another folder."
    assert ended.stderr.splitlines()[-1] == f"ImportError: {sentence}"


@pytest.mark.parametrize("name", ["dashboard.py", "dashboard/__init__.py"])
def test_a_file_that_hides_the_dashboard_is_named_where_notes_are_read(name: str, tmp_path: Path) -> None:
    file = hide(tmp_path, name)
    ended = python(tmp_path, "-c", "import headscape; headscape.notes('anywhere')")
    assert ended.stderr.splitlines()[-1].startswith(f"ImportError: {file} hides the package 'dashboard' of Headscape.")


#: More files that hide nothing; each is tested in its own process.
OTHERS = ("ingest/__init__.py", "dashboard.py")


@pytest.mark.parametrize(
    "name", ["ingest.py", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS), "store/reviews.csv"]
)
def test_what_hides_nothing_that_is_needed_is_no_obstacle(name: str, tmp_path: Path, tiny_store: str) -> None:
    hide(tmp_path, name)
    ended = python(tmp_path, "-c", OPEN.format(store=tiny_store))
    assert ended.stdout.startswith("Corpus: tiny-bert on ")


def test_a_folder_of_data_that_comes_before_a_clone_is_no_obstacle(tmp_path: Path, tiny_store: str) -> None:
    """An editable installation finds its packages last, after folders that are no packages."""
    hide(tmp_path, "store/reviews.csv")
    code = (
        f"import sys; from importlib.machinery import PathFinder; root = sys.path.pop(sys.path.index({str(ROOT)!r}))\n"
        "class Last:\n"
        "    find_spec = staticmethod(lambda name, path=None, target=None: PathFinder.find_spec(name, path or [root]))\n"
        "sys.meta_path.append(Last)\n"
    )
    ended = python(tmp_path, "-c", code + OPEN.format(store=tiny_store))
    assert ended.stdout.startswith("Corpus: tiny-bert on "), ended.stderr


@pytest.mark.parametrize(
    ("name", "command"), [("store.py", "describe"), ("dashboard.py", "serve"), ("ingest.py", "ingest")]
)
def test_a_command_names_the_file_that_hides_its_package(name: str, command: str, tmp_path: Path) -> None:
    file = hide(tmp_path / "scripts", name)
    code = f"import sys; sys.argv[1:] = [{command!r}, '--help']; from headscape.__main__ import run; run()"
    ended = python(tmp_path, "-c", code, PYTHONPATH=str(file.parent))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"headscape: {file} hides the package '{file.stem}' of Headscape. ")
    assert ended.stderr.count("\n") == 1

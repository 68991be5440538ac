"""Every module can be imported, and every command has its help: CI tests only this on systems without tests of pages."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from headscape.__main__ import COMMANDS, main

pytestmark = pytest.mark.heavy
ROOT = Path(__file__).parents[1]
PACKAGES = ("store", "ingest", "dashboard", "headscape")
#: Names of modules that are not imported: programs, and the module that alembic runs.
NOT_IMPORTED = ("__main__", "env")


def modules(package: str) -> list[str]:
    paths = sorted((ROOT / package).rglob("*.py"))
    wanted = [path for path in paths if path.stem.isidentifier() and path.stem not in NOT_IMPORTED]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in wanted if "versions" not in path.parts]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_can_be_imported(package: str) -> None:
    names = modules(package)
    assert names
    for name in names:
        importlib.import_module(name.removesuffix(".__init__"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_lists_its_flags(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: headscape {'ingest' if name == 'projections' else name} ")


@pytest.mark.parametrize("command", [["check-model"], ["ingest", "--store=store", "--model"]])
def test_a_model_that_is_not_there_is_told_before_anything_slow_is_imported(command: list[str], tmp_path: Path) -> None:
    """The import of torch takes some seconds, on a busy machine half a minute."""
    code = f"import sys; from headscape.__main__ import main; print(main({[*command, 'no-such/model']}), 'torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Model 'no-such/model' is neither a local folder nor in the cache" in run.stderr
    assert run.stdout.split("\n")[-2] == "1 False"


def test_python_tells_of_a_model_that_is_not_there_before_anything_slow_is_imported(tmp_path: Path) -> None:
    code = """
import sys, headscape
for name, texts in (("sentence", ["a"]), ("context_mixing", ["a"]), ("alike", ["a", "b"])):
    try:
        getattr(headscape, name)("no-such/model", None, *texts)
    except Exception as error:
        print(name, "'no-such/model' is neither" in str(error), "torch" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [f"{name} True False" for name in ("sentence", "context_mixing", "alike")]


def test_the_program_prints_its_help() -> None:
    words = [sys.executable, "-m", "headscape", "--help"]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "headscape" in shown

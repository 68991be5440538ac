"""What works for another process ends with it, however that ends."""

import shutil
import sys
from pathlib import Path

import pytest

from ingest import parent
from tests.family import ROOT, Start, ended, family

#: In the place of Python for make: the command's name and arguments are read by the real command, the work takes ten minutes.
LONG_WORK = """#!{python}
import runpy, sys, time
from types import SimpleNamespace

work = SimpleNamespace(run=lambda _: time.sleep(600))
sys.modules |= {{"ingest.pipeline": work, "ingest.finetuning.run": work}}
sys.path.insert(0, {root!r})
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
MAKE = "import os\nos.execvp('make', ['make', '-s', '-o', 'install', *sys.argv[1:]])"
#: The dashboard that has started an ingest. The first argument is where there is no store.
DASHBOARD = """
import subprocess
from dashboard import __main__ as command

start = subprocess.Popen
long_work = "import os, time; from ingest.parent import follow_parent; follow_parent(os.environ); time.sleep(600)"
command._describe = lambda _: subprocess.CompletedProcess([], 3)
command.subprocess.Popen = lambda _, **options: start([sys.executable, "-c", long_work], **options)
command.PAUSE = 600
command.main(["--store", sys.argv[1], "--port", "0", "--ingest"])
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    place = tmp_path / "python"
    place.write_text(LONG_WORK.format(python=sys.executable, root=str(ROOT)))
    place.chmod(0o755)
    return place


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize("target", ["ingest", "projections", "finetune"])
def test_a_command_ends_with_make(start_code: Start, python: Path, target: str) -> None:
    make = start_code(MAKE, target, f"PYTHON={python}")
    everyone = family(make, members=2)
    make.kill()
    assert ended(everyone)


def test_an_ingest_ends_with_the_dashboard_that_started_it(start_code: Start, tmp_path: Path) -> None:
    dashboard = start_code(DASHBOARD, str(tmp_path / "store"))
    everyone = family(dashboard, members=2)
    dashboard.kill()
    assert ended(everyone)


def test_a_command_without_such_a_parent_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under nohup, when the terminal is closed."""
    monkeypatch.setattr(parent, "Thread", pytest.fail)
    parent.follow_parent({"HOME": "/"})

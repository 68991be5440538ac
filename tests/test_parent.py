"""A process that works for another one ends with it, however the other one ends."""

import shutil
import sys
import threading
from pathlib import Path

import pytest

from ingest.run import process
from tests.family import ROOT, Start, ended, expect_lines, family

#: Replaces Python for make: the real command reads its name and arguments, and the work takes ten minutes.
LONG_WORK = """#!{python}
import runpy, sys, time
from types import SimpleNamespace

print("started", flush=True)
work = SimpleNamespace(run=lambda _: time.sleep(600))
sys.modules |= {{"ingest.pipeline": work, "ingest.finetuning.run": work}}
sys.modules["dashboard.web.served_store"] = SimpleNamespace(ServedStore=work.run, FILE_MEMORY=0)
sys.path.insert(0, {root!r})
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
#: Replaces the shell for make: make can be killed before the shell has started the command.
SLOW_SHELL = """#!/bin/sh
case "$2" in *HEADSCAPE_PARENT*) echo started; sleep 0.3;; esac
exec /bin/sh "$@"
"""
MAKE = "import os\nos.execvp('make', ['make', '-s', '-o', 'install', *sys.argv[1:]])"
#: A dashboard that starts an ingest. The first argument is a place without a store.
DASHBOARD = """
import subprocess
import threading
import threading
from dashboard import __main__ as command

start = subprocess.Popen
long_work = "import os, time; from ingest.run.process import follow_parent; follow_parent(os.environ); time.sleep(600)"
command.Commands.describe = lambda *_: subprocess.CompletedProcess([], 3)
command.subprocess.Popen = lambda _, **options: start([sys.executable, "-c", long_work], **options)
command.PAUSE = 600
command.main(["--store", sys.argv[1], "--port", "0", "--ingest"])
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    return program(tmp_path / "python", LONG_WORK.format(python=sys.executable, root=str(ROOT)))


def program(place: Path, code: str) -> Path:
    place.write_text(code)
    place.chmod(0o755)
    return place


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize("target", ["ingest", "projections", "finetune", "site"])
def test_a_command_ends_with_make(start_code: Start, python: Path, target: str) -> None:
    make = start_code(MAKE, target, f"PYTHON={python}")
    expect_lines(make, "started")
    everyone = family(make, members=2)
    make.kill()
    assert ended(everyone)


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_a_command_ends_that_begins_after_make_was_killed(start_code: Start, python: Path, tmp_path: Path) -> None:
    shell = program(tmp_path / "shell", SLOW_SHELL)
    make = start_code(MAKE, "ingest", f"PYTHON={python}", f"SHELL={shell}")
    expect_lines(make, "started")
    everyone = family(make, members=2)
    make.kill()
    assert ended(everyone)


def test_an_ingest_ends_with_the_dashboard_that_started_it(start_code: Start, tmp_path: Path) -> None:
    dashboard = start_code(DASHBOARD, str(tmp_path / "store"))
    everyone = family(dashboard, members=2)
    dashboard.kill()
    assert ended(everyone)


def test_a_command_without_such_a_parent_goes_on() -> None:
    """The case is a command under nohup whose terminal is closed."""
    before = threading.enumerate()
    process.follow_parent({"HOME": "/"})
    assert threading.enumerate() == before

"""The modules of the browser: their pure parts, tested by node."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dashboard.web.state import browser_table

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "dashboard" / "assets").rglob("*.mjs"))
TESTS = sorted((ROOT / "tests" / "javascript").glob("*.test.mjs"))


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Any]]:
    """Status and output of each test file, by its path; one process runs all files."""
    assert shutil.which("node"), "Install Debian's package nodejs."
    environment = os.environ | {"LINK_TABLE": json.dumps(browser_table())}
    command = ["node", str(ROOT / "tests" / "javascript" / "run.mjs"), *map(str, TESTS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.removesuffix(".test.mjs"))
def test_modules_pass_their_tests(path: Path, outcomes: dict[str, dict[str, Any]]) -> None:
    outcome = outcomes[str(path)]
    assert outcome["status"] == 0, outcome["output"]
    assert re.search(r"pass [1-9]", outcome["output"]), outcome["output"]


def test_no_line_is_longer_than_120_characters() -> None:
    long = [
        f"{path.name}:{number}"
        for path in [*MODULES, *TESTS]
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert long == []


def test_no_module_hides_a_line_from_the_check_of_types() -> None:
    assert [path.name for path in MODULES if "@ts-" in path.read_text("utf-8")] == []

"""Messages and help name flags of the command: a person who installed Headscape with pip has no variables of make."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Variables of make that are flags of a command.
VARIABLES = re.findall(r"^([A-Z_]+) \?=", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("package", ["ingest", "store", "dashboard", "headscape"])
def test_no_message_names_a_variable_of_make(package: str) -> None:
    variable = re.compile(rf"(?<![\w{{.-])(?:{'|'.join(VARIABLES)})=[^=\s]")
    named = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (ROOT / package).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if variable.search(line.replace("--store=STORE", ""))
    ]
    assert named == []

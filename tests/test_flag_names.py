"""Messages and help name flags of the command: an installation by pip has no variables of make."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from ingest.finetuning.settings import FinetuningSettings
from ingest.run.settings import Settings

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


def test_a_fine_tuning_reads_data_by_the_flags_of_an_ingest() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile.partition("\nfinetune:")[2].partition("\n\n")[0]
    for flag in ("data", "text", "label", "data_split", "first", "split"):
        assert {flag} <= {field.name for field in fields(Settings)} & {
            field.name for field in fields(FinetuningSettings)
        }
        assert f'--{flag.replace("_", "-")}="$${flag.upper()}"' in recipe

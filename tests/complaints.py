"""The refusal of a command: one sentence that says what to do."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.__main__ import main as ingest_command
from store.repository.ingest_status import OUTCOME
from store.repository.writer import CREATING
from tests.stores import MAX_LENGTH


@pytest.fixture
def complaint(
    tiny_model: Path, tiny_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """A function that runs `python -m ingest` and gives its refusal, one sentence; the refused ingest leaves no new file.

    A model that fails at the first block leaves the sentences, which are committed before.
    """

    def complaint(**settings: object) -> str:
        before = set(tmp_path.iterdir())
        arguments = {"model": tiny_model, "data": tiny_data, "store": tmp_path / "store", "max_length": MAX_LENGTH}
        arguments |= settings
        sentence = complaint_of(ingest_command, "ingest", arguments, capfd)
        new = set(tmp_path.iterdir()) - before
        new = {path for path in new if path.suffix != OUTCOME}  # a note that the ingest failed
        assert new <= {tmp_path / "store"}
        assert not new or len(list((tmp_path / "store" / "snapshots").iterdir())) > CREATING
        return sentence

    return complaint


def complaint_of(
    command: Callable[[list[str]], int], name: str, arguments: dict[str, object], capfd: pytest.CaptureFixture[str]
) -> str:
    """The one sentence with which a command refuses its flags."""
    flags = [part for name, value in arguments.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    status = command(flags)
    lines = _messages(capfd.readouterr().err)
    assert (status, len(lines)) == (1, 1), lines
    assert lines[0].startswith(f"{name}: ")
    assert INSTRUCTION.search(lines[0]), f"says no next step: {lines[0]}"
    return lines[0].removeprefix(f"{name}: ")


#: The last sentence says what to do.
INSTRUCTION = re.compile(
    r"[.)] (Give|Run|Save|Choose|Name|Install|Ingest|Free|Use|Try|Update|Check|List)[^.]*(\.\S[^.]*)*\.{1,3}$"
)


def _messages(stderr: str) -> list[str]:
    """Lines for a person: neither empty nor a progress bar."""
    return [
        line
        for line in stderr.replace("\r", "\n").splitlines()
        if line.strip() and "it/s]" not in line and "|" not in line
    ]

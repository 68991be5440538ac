"""Damage of a store is told from a mistake of the program, though zarr raises the same kinds of errors for both."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zarr

from dashboard.web.errors import UNEXPECTED, UNREADABLE, sentence_for
from store import open_snapshot

Damage = Callable[[Path], object]
KINDS: dict[str, Damage] = {
    "cut": lambda chunk: chunk.write_bytes(chunk.read_bytes()[: chunk.stat().st_size // 3]),
    "overwritten": lambda chunk: chunk.write_bytes(bytes(chunk.stat().st_size)),
    "lost": Path.unlink,
}


def errors_of_reading(place: str) -> Iterator[Exception]:
    """Errors that the arrays of a store raise when they are read."""
    for _, array in open_snapshot(place).root.members(max_depth=None):
        if isinstance(array, zarr.Array):
            try:
                array[...]
            except Exception as error:
                yield error


@pytest.mark.parametrize("damage", KINDS.values(), ids=KINDS)
def test_a_damaged_chunk_leads_to_verify(damage: Damage, tiny_store: str, tmp_path: Path) -> None:
    place = shutil.copytree(tiny_store, tmp_path / "store")
    for chunk in (place / "chunks").iterdir():
        damage(chunk)
    answers = [sentence_for(error) for error in errors_of_reading(str(place))]
    assert len(answers) > 10
    assert set(answers) == {(UNREADABLE, 503)}


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, OSError, IndexError])
def test_a_programming_error_is_logged_and_not_reported_as_damage(
    kind: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    def mistaken() -> None:
        raise kind("a mistake")

    with pytest.raises(kind) as raised:
        mistaken()
    assert sentence_for(raised.value) == (UNEXPECTED, 503)
    assert "in mistaken" in caplog.text

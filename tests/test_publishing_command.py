"""The commands that write folders from a store: what they refuse before anything is computed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dashboard import export, publish

COMMANDS = pytest.mark.parametrize("main", [publish.main, export.main], ids=["publish", "export"])

Main = Callable[[Sequence[str] | None], int]


@COMMANDS
@pytest.mark.parametrize(
    ("out", "said"), [("disk", "is where a disk is mounted"), (".", "is where this command runs, or above it")]
)
def test_a_place_that_cannot_be_replaced_is_refused_before_the_store_is_opened(
    main: Main,
    out: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("disk", "empty"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("os.path.ismount", lambda place: Path(place) == tmp_path / "disk")
    monkeypatch.chdir(tmp_path / "empty")
    place = out if out == "." else tmp_path / out
    assert main(["no-store", f"--out={place}"]) == 1
    error = capsys.readouterr().err
    assert f": {place} {said}" in error
    assert "with --out." in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["disk", "empty"]

"""The commands that write folders from a store: refusals before anything is computed, and interruptions."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dashboard import export, publish
from tests.family import Start

COMMANDS = pytest.mark.parametrize("main", [publish.main, export.main], ids=["publish", "export"])
#: A command that gets a signal when it writes its first file; its module and the signal are the first arguments.
INTERRUPTED = """
import os
from importlib import import_module
from dashboard.published.folder import SiteFolder
module, number = sys.argv[1:3]
SiteFolder.write = lambda *_: os.kill(os.getpid(), int(number))
sys.exit(import_module(module).main(sys.argv[3:]))
"""

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
    monkeypatch.setattr(os.path, "ismount", lambda place: Path(place) == tmp_path / "disk")
    monkeypatch.chdir(tmp_path / "empty")
    place = out if out == "." else tmp_path / out
    assert main(["no-store", f"--out={place}"]) == 1
    error = capsys.readouterr().err
    assert f": {place} {said}" in error
    assert "with --out." in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["disk", "empty"]


@pytest.mark.parametrize("command", ["publish", "export"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_command_leaves_nothing_behind_and_says_so(
    start_code: Start, command: str, number: signal.Signals, roles_store: str, tmp_path: Path
) -> None:
    flags = roles_store, f"--out={tmp_path / 'site'}"
    started = start_code(INTERRUPTED, f"dashboard.{command}", str(int(number)), *flags)
    _, error = started.communicate()
    assert error == f"{command}: {publish.INTERRUPTED}\n"
    assert started.returncode == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["example.org/heads", "//example.org", "file:///srv/heads", "https:heads"])
def test_an_address_of_a_site_without_http_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        publish.main(["no-store", f"--url={url}"])
    assert f"{url!r} is no address of a site. Give one such as https://example.org/heads" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--tokens=0", "--sentences=0"])
def test_a_count_of_zero_is_refused(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        publish.main(["no-store", flag])
    assert "0 is below 1" in capsys.readouterr().err

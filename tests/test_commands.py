"""The product's commands, as a shell runs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headscape

HERE = Path(headscape.__file__).parent


def run(*arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(HERE)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=at, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["ingest", "ingest.finetuning", "dashboard"])
def test_a_command_runs_in_a_folder_that_has_a_store_of_its_own(command: str, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "__init__.py").write_text("raise ImportError('another package')")
    ended = run("-m", command, "--help", at=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_dashboard_asks_our_store_in_a_folder_that_has_another(tmp_path: Path) -> None:
    """It does so in a process of its own."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "__init__.py").touch()
    ended = run("-m", "dashboard", "--store", "nothing", "--port", "0", at=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("dashboard: There is no store at nothing")


def test_the_command_headscape_runs_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in headscape.COMMANDS:
        monkeypatch.setattr("sys.argv", ["headscape", name, "--help"])
        with pytest.raises(SystemExit) as ended:
            headscape.main()
        assert ended.value.code == 0
        assert "usage: " in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["headscape", "serve"])
    assert headscape.main() == 2
    assert "Give one of ingest, finetune, dashboard, describe" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["describe", "verify"])
def test_a_command_whose_output_nobody_reads_ends_without_a_word(command: str, tiny_store: str) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "store", command, tiny_store],
        cwd=HERE,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("name", ["it's.csv", "-a b.csv", 'a"b.csv', "a*;b.csv", "a`b`.csv"])
def test_make_gives_a_name_as_it_was_given(name: str, tmp_path: Path) -> None:
    show = tmp_path / "show"
    show.write_text(f"#!{sys.executable}\nimport sys\nprint([one for one in sys.argv if one.startswith('--data=')][0])")
    show.chmod(0o755)
    ended = subprocess.run(
        ["make", "--silent", "--old-file=install", "ingest", f"DATA={name}", f"PYTHON={show}"],
        cwd=HERE, capture_output=True, text=True, check=False,
        env={name: value for name, value in os.environ.items() if name != "MAKEFLAGS"},  # of a `make --jobs=2 check`
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == (f"--data={name}\n", "")

"""`store.repository.files`: who has it, and that it ends with its process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from store.repository.files import remove_lock, take_lock

ROOT = Path(__file__).parents[1]
#: Takes the lock beside a folder, says so, and keeps it.
KEEPS_IT = (
    "import sys, time\nfrom pathlib import Path\nfrom store.repository.files import take_lock\n"
    "lock = take_lock(Path(sys.argv[1]))\nprint(lock is not None, flush=True)\ntime.sleep(60)"
)


def test_a_lock_is_held_until_its_process_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KEEPS_IT, str(tmp_path / "place")]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        held = take_lock(tmp_path / "place")
        process.kill()
    left = take_lock(tmp_path / "place")
    assert held is None
    assert left is not None
    left.close()


def test_a_lock_whose_file_was_removed_is_not_held(tmp_path: Path) -> None:
    before = take_lock(tmp_path / "place")
    assert before is not None
    remove_lock(tmp_path / "place")
    now = take_lock(tmp_path / "place")
    assert now is not None
    with before, now:
        assert take_lock(tmp_path / "place") is None


def test_two_paths_of_a_folder_share_its_lock(tmp_path: Path) -> None:
    lock = take_lock(tmp_path / "place")
    assert lock is not None
    with lock:
        assert take_lock(tmp_path / "other" / ".." / "place") is None


def test_the_working_directory_can_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path has no name."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    lock = take_lock(Path("."))
    assert lock is not None
    lock.close()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["here.lock"]

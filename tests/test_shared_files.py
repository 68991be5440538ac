"""`store.repository.files`: owners of a lock, which ends with its process, and files that are written whole or not at all."""

import errno
import os
import re
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from store.repository.files import new_file, remove_lock, replace_file, take_lock

ROOT = Path(__file__).parents[1]
#: A script that takes the lock beside a folder, prints that it has it, and keeps it.
KEEPS_IT = (
    "import sys, time\nfrom pathlib import Path\nfrom store.repository.files import take_lock\n"
    "lock = take_lock(Path(sys.argv[1]))\nprint(lock is not None, flush=True)\ntime.sleep(60)"
)


@pytest.mark.heavy
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
    """The path `.` has no name."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    lock = take_lock(Path("."))
    assert lock is not None
    lock.close()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["here.lock"]


def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_bytes(b"before")
    file.chmod(0o640)
    replace_file(file, b"after")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"after", 0o640)
    assert list(tmp_path.iterdir()) == [file]


def test_a_private_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_bytes(b"before")
    file.chmod(0o644)
    with new_file(file, mode=0o600) as part:
        assert part.stat().st_mode & 0o777 == 0o600
        part.write_bytes(b"after")
    assert file.stat().st_mode & 0o777 == 0o600


def test_an_error_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_bytes(b"before")
    with suppress(KeyboardInterrupt), new_file(file) as part:
        part.write_bytes(b"half")
        raise KeyboardInterrupt
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"list": b"before"}


@pytest.mark.parametrize("refusal", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_is_replaced_where_a_file_system_cannot_sync_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(tmp_path / "list", b"after")
    assert (tmp_path / "list").read_bytes() == b"after"


def test_files_are_renamed_into_place_by_one_module() -> None:
    renames = re.compile(r"os\.(replace|rename)\(|\.replace\([\w.]+( / \w+)?\)")
    every = (
        path for package in ("store", "ingest", "dashboard", "headscape") for path in (ROOT / package).rglob("*.py")
    )
    found = [str(path.relative_to(ROOT)) for path in every if renames.search(path.read_text("utf-8"))]
    assert found == ["store/repository/files.py"]

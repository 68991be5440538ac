"""Whatever is wrong with the place of a store, a person gets one sentence that says what to do next."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from icechunk import IcechunkError

import store
from store.__main__ import main
from store.repository.access import first_line, local_path, open_repository
from store.repository.errors import SchemaMismatch, StoreCorrupt, StoreError, StoreIncomplete
from store.repository.writer import _removed_if_refused, open_writer
from store.schema import SCHEMA_VERSION

Complaint = Callable[..., str]


@pytest.fixture
def newer(tiny_store: str, tmp_path: Path) -> str:
    """A store that a later Headscape has written."""
    place = str(shutil.copytree(tiny_store, tmp_path / "newer"))
    with open_writer(place) as writer:
        writer.root.attrs["schema_version"] = 999
        writer.publish("from the future")
    return place


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    if not shutil.which("mount") or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place]).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_folder_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, complaint: Complaint) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "letter.txt").write_text("dear")
    assert "exists and is not a store" in complaint()
    assert [file.name for file in (tmp_path / "store").iterdir()] == ["letter.txt"]


def test_a_store_that_lost_its_chunks_is_damaged(tiny_store: str, tmp_path: Path) -> None:
    place = shutil.copytree(tiny_store, tmp_path / "store")
    shutil.rmtree(place / "chunks")
    with pytest.raises(StoreCorrupt, match=r"the folder chunks is missing\. Run `headscape verify` to list all"):
        store.open_corpus(str(place))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  x object store error\n  | \n  | context:", "object store error"),
        ("  × [Errno 28] No space left\n  │ context", "[Errno 28] No space left"),
        ("\n/tmp/store is gone", "/tmp/store is gone"),
        ("", "IcechunkError"),
    ],
)
def test_an_error_of_the_storage_is_told_without_its_frame(text: str, line: str) -> None:
    assert first_line(IcechunkError(text)) == line


def test_the_folder_one_is_in_is_refused_if_it_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complaint: Complaint
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "letter.txt").write_text("dear")
    monkeypatch.chdir(tmp_path / "store")
    assert ". exists and is not a store" in complaint(store=".")


@pytest.mark.parametrize("place", ["store", "store/below"])
def test_a_file_is_no_place_for_a_store(place: str, tmp_path: Path, complaint: Complaint) -> None:
    (tmp_path / "store").write_text("dear")
    assert "store" in complaint(store=tmp_path / place)
    assert (tmp_path / "store").read_text() == "dear"


def test_an_object_storage_that_refuses_is_reported(tmp_path: Path, complaint: Complaint) -> None:
    """icechunk refuses a place with other files by the same error as a place without access."""
    (tmp_path / "store" / "refs").mkdir(parents=True)
    (tmp_path / "store" / "snapshots").write_text("no folder")
    assert f"The store at {tmp_path / 'store'} cannot be opened" in complaint()


def test_a_storage_error_while_writing_is_reported(tmp_path: Path, complaint: Complaint) -> None:
    with open_writer(str(tmp_path / "store")):
        shutil.rmtree(tmp_path / "store" / "transactions")
        (tmp_path / "store" / "transactions").write_text("no folder")
    message = complaint()
    assert "The store cannot be read or written" in message
    assert "what was committed before is kept" in message


def test_a_store_whose_history_cannot_be_read_does_not_expire(copy: str, capfd: pytest.CaptureFixture[str]) -> None:
    first = next(iter(open_repository(copy).ancestry(branch="main"))).parent_id
    (Path(copy) / "snapshots" / str(first)).write_bytes(b"broken")
    assert main(["expire", copy, "--days", "0"]) == 1
    assert "The store cannot be read or written" in capfd.readouterr().err


def test_a_place_that_cannot_be_written_is_refused(complaint: Complaint) -> None:
    assert "/proc/" in complaint(store="/proc/headscape/store")


@pytest.mark.parametrize(
    "url", ["ftp://host/store", "s3://bucket", "s3://", "gs:///prefix", "http://host/a", "s3://[a"]
)
def test_an_address_of_another_kind_is_refused(url: str, complaint: Complaint) -> None:
    assert f"{url} is not a valid store URL" in complaint(store=url)


@pytest.mark.parametrize(
    ("start", "end", "problem"),
    [
        ("file://data", "", r"names the host data, and a local store has none\. Give the folder without file://, or "),
        (
            "file://",
            "#b",
            r"goes on after its path with \? or #\. Give the folder without file://, or write %3F and %23",
        ),
        (
            "file://",
            "?b",
            r"goes on after its path with \? or #\. Give the folder without file://, or write %3F and %23",
        ),
        ("file://", "%00b", r"is not a valid store URL\. Use a folder, s3://"),
    ],
)
def test_an_address_of_another_folder_than_it_seems_is_refused(start: str, end: str, problem: str) -> None:
    with pytest.raises(StoreError, match=rf"^{start}/store{re.escape(end)} {problem}"):
        local_path(f"{start}/store{end}")


@pytest.mark.parametrize("host", ["", "localhost"])
def test_the_path_of_an_address_is_decoded(host: str, tmp_path: Path) -> None:
    assert local_path(f"file://{host}{tmp_path}/a%20b%23%3F%25") == tmp_path / "a b#?%"
    assert local_path(f"{tmp_path}/a%20b#?") == tmp_path / "a%20b#?"


@pytest.mark.parametrize("command", ["describe", "verify", "mend", "expire"])
def test_a_name_that_no_folder_can_have_is_one_sentence(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([command, "x" * 5_000]) == 1
    message = capfd.readouterr().err
    assert message.count("\n") == 1
    assert "cannot be opened (File name too long). Choose another place with --store=..." in message


def test_an_ingest_refuses_a_name_that_no_folder_can_have(complaint: Complaint) -> None:
    assert "cannot be opened (File name too long)" in complaint(store="x" * 5_000)


def test_an_ingest_refuses_a_store_of_a_newer_schema(newer: str, complaint: Complaint) -> None:
    assert "has schema 999" in complaint(store=newer)


def test_a_store_of_a_newer_schema_is_not_reported_as_missing(newer: str) -> None:
    assert main(["describe", newer]) == 1


def test_a_reader_refuses_a_store_of_a_newer_schema(newer: str) -> None:
    with pytest.raises(SchemaMismatch, match=f"has schema 999, this Headscape reads {SCHEMA_VERSION}"):
        store.open_corpus(newer)


def test_a_store_where_no_model_is_finished_is_incomplete(tmp_path: Path) -> None:
    with open_writer(str(tmp_path / "store")) as writer:
        writer.publish("too early")
    with pytest.raises(StoreIncomplete, match="No model has been ingested to its end"):
        store.open_corpus(str(tmp_path / "store"))


def test_what_stops_an_ingest_before_its_folder_is_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^forked$"), _removed_if_refused(str(tmp_path / "no" / "store")):
        raise StoreError("forked")


def test_a_second_ingest_is_refused_while_the_first_runs(tmp_path: Path, complaint: Complaint) -> None:
    with open_writer(str(tmp_path / "store")):
        assert "Another ingest is writing" in complaint()


def test_a_second_ingest_is_refused_by_whatever_path_it_comes(tmp_path: Path, complaint: Complaint) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with open_writer(str(tmp_path / "store")):
        assert "Another ingest is writing" in complaint(store=tmp_path / "link")


@pytest.mark.parametrize("command", ["describe", "verify", "expire"])
@pytest.mark.parametrize("kind", ["missing", "folder", "file", "url"])
def test_commands_refuse_what_is_no_store(
    kind: str, command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("dear")
    ended = main([command, "ftp://host/a" if kind == "url" else str(tmp_path / kind)])
    assert ended == (1 if kind in ("file", "url") else 3)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("store: ")
    remedy = {"url": "Use a folder", "file": "Choose another place with --store=..."}
    assert remedy.get(kind, "Run `headscape ingest --store=") in lines[0]


@pytest.mark.parametrize("command", ["describe", "verify", "mend", "expire"])
@pytest.mark.parametrize("place", ["letter.txt", "letter.txt/below", "."])
def test_no_command_advises_an_ingest_where_an_ingest_refuses(
    place: str, command: str, tmp_path: Path, complaint: Complaint, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    assert main([command, str(tmp_path / place)]) == 1
    said = capfd.readouterr().err.removeprefix("store: ").strip()
    assert said.endswith("exists and is not a store. Choose another place with --store=...")
    assert complaint(store=tmp_path / place) == said


def test_an_expiry_where_there_is_no_store_leaves_nothing(tmp_path: Path) -> None:
    assert main(["expire", str(tmp_path / "above" / "store")]) == 3
    assert list(tmp_path.iterdir()) == []


def test_a_refused_ingest_leaves_no_new_folder(tmp_path: Path, complaint: Complaint) -> None:
    blank = tmp_path / "blank.csv"
    blank.write_text('text,label\n"  ",1\n')
    assert "no text in its column" in complaint(data=blank, store=tmp_path / "above" / "store")


def test_a_refused_ingest_leaves_an_empty_folder_empty(tmp_path: Path, complaint: Complaint) -> None:
    (tmp_path / "blank.csv").write_text('text,label\n"  ",1\n')
    (tmp_path / "store").mkdir()
    assert "no text in its column" in complaint(data=tmp_path / "blank.csv")
    assert list((tmp_path / "store").iterdir()) == []


@pytest.mark.parametrize("days", ["-1", "nan", "1e9"])
def test_expiry_after_an_impossible_number_of_days_is_refused(
    days: str, tiny_store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = shutil.copytree(tiny_store, tmp_path / "store")
    try:
        status = main(["expire", str(place), "--days", days])
    except SystemExit as refused:
        status = refused.code if isinstance(refused.code, int) else 1
    assert status in (1, 2)
    assert "Traceback" not in capfd.readouterr().err


def test_what_is_no_number_of_days_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["expire", "store", "--days", "x"])
    assert "argument --days: x is no number of days. Give one, such as 7." in capfd.readouterr().err


def test_commands_run_as_a_program(tiny_store: str) -> None:
    command = [sys.executable, "-m", "store", "describe", tiny_store]
    folder = str(Path(store.__file__).parents[1])
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "40 sentences" in ended.stdout


def test_a_full_disk_is_reported_and_the_store_stays_readable(
    full_disk: Path, ingest: Callable[..., str], complaint: Complaint
) -> None:
    place = ingest(full_disk / "store", sentences=5)
    (full_disk / "ballast").write_bytes(bytes(shutil.disk_usage(full_disk).free - 100_000))
    assert "The disk is full" in complaint(store=place, sentences=80)
    assert store.open_corpus(place).n_sentences == 5


def test_every_error_of_the_store_is_one_kind() -> None:
    from store.repository import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert all(issubclass(kind, StoreError) for kind in kinds)

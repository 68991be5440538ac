"""A store whose branch is lost or damaged says so, and is mended without losing a publication."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import store
from store.__main__ import main
from store.mend import mend
from store.repository.access import INGEST, MAIN, branch_problem, named_snapshot, open_repository
from store.repository.errors import StoreCorrupt, StoreError
from store.repository.history import history
from store.repository.writer import open_writer

Damage = Callable[[Path], object]
BRANCH_DAMAGE: dict[str, Damage] = {
    "lost": Path.unlink,
    "lost with its folder": lambda file: shutil.rmtree(file.parent),
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:20]),
    "of another snapshot": lambda file: file.write_text('{"snapshot":"01TM7KA1SHYBXBYGQK00"}'),
    "no text": lambda file: file.write_bytes(bytes(37)),
}
damages = pytest.mark.parametrize("damage", BRANCH_DAMAGE.values(), ids=BRANCH_DAMAGE)


def branch(url: str, name: str) -> Path:
    return Path(url) / "refs" / f"branch.{name}" / "ref.json"


@damages
def test_a_damaged_main_is_reported_with_the_command_that_repairs_it(
    damage: Damage, copy: str, capfd: pytest.CaptureFixture[str], complaint: Callable[..., str]
) -> None:
    damage(branch(copy, MAIN))
    for command in ("describe", "verify"):
        assert main([command, copy]) == 1
        assert f"Run `headscape mend --store={copy}`" in capfd.readouterr().err
    message = complaint(store=copy)
    assert "is damaged: " in message
    assert "refs/branch.main/ref.json" in message
    assert f"Run `headscape mend --store={copy}` to return to the newest publication that can be read." in message


@damages
def test_mending_main_returns_to_the_newest_publication(damage: Damage, copy: str) -> None:
    newest = store.open_snapshot(copy).id
    damage(branch(copy, MAIN))
    assert len(mend(copy)) == 1
    assert store.open_snapshot(copy).id == newest
    assert main(["verify", copy]) == 0


def test_mending_a_store_that_lost_all_its_branches(copy: str) -> None:
    newest = store.open_snapshot(copy).id
    shutil.rmtree(Path(copy) / "refs")
    assert len(mend(copy)) == 2
    assert store.open_snapshot(copy).id == newest


def test_mending_returns_to_the_previous_snapshot_where_the_newest_is_lost(
    copy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    newest, before = (publication.snapshot for publication in history(open_repository(copy), copy)[:2])
    (Path(copy) / "snapshots" / newest).unlink()
    with pytest.raises(StoreCorrupt, match=f"snapshots/{newest}, which refs/branch.main/ref.json names, is missing"):
        store.open_snapshot(copy)
    assert main(["mend", copy]) == 0
    assert f"Branch main now names snapshot {before}, published " in capsys.readouterr().out
    assert store.open_snapshot(copy).id == before


def test_an_ingest_refuses_a_store_that_lost_its_branch_and_mending_keeps_what_was_committed(
    copy: str, complaint: Callable[..., str]
) -> None:
    with open_writer(copy) as writer:
        writer.root.attrs["half"] = "done"
        writer.commit("work that is not published yet")
        newest = writer.repository.lookup_branch(INGEST)
    branch(copy, INGEST).unlink()
    assert "refs/branch.ingest/ref.json is missing. Run `headscape mend" in complaint(store=copy)
    mend(copy)
    assert named_snapshot(Path(copy), INGEST) == newest
    assert named_snapshot(Path(copy), MAIN) != newest


def test_a_store_without_branch_ingest_can_be_read(copy: str) -> None:
    branch(copy, INGEST).unlink()
    assert store.open_corpus(copy).n_sentences == 15


def test_nothing_is_mended_where_nothing_is_damaged(copy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mend", copy]) == 0
    assert "Nothing to mend" in capsys.readouterr().out


def test_a_store_that_lost_every_publication_cannot_be_mended(copy: str) -> None:
    for file in (Path(copy) / "snapshots").iterdir():
        file.write_bytes(b"broken")
    with pytest.raises(StoreCorrupt, match="No published snapshot of"):
        mend(copy)


def test_mending_refuses_what_is_not_a_local_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store"):
        mend(str(tmp_path))
    with pytest.raises(StoreError, match="is not a local folder"):
        mend("s3://bucket/prefix")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(content=st.binary(max_size=60))
def test_a_branch_file_of_random_bytes_is_reported_in_one_sentence(content: bytes, tmp_path: Path) -> None:
    file = branch(str(tmp_path), MAIN)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    problem = branch_problem(tmp_path, MAIN)
    assert problem is not None
    assert problem.count("\n") == 0


def test_a_mended_branch_is_written_as_icechunk_writes_it(copy: str) -> None:
    sound = branch(copy, MAIN).read_bytes()
    branch(copy, MAIN).unlink()
    mend(copy)
    assert branch(copy, MAIN).read_bytes() == sound
    assert branch_problem(Path(copy), MAIN) is None

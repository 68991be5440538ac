"""Old publications are forgotten once nobody can be reading them, and never before."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import store
from store.repository import history as history_module
from store.repository.access import open_repository
from store.repository.errors import SnapshotNotFound, StoreNotFound
from store.repository.history import expire, history
from store.repository.writer import Writer
from store.verify import verify
from tests.interruption import interrupted, interruption

Ingest = Callable[..., str]


def sentences_by_snapshot(url: str) -> list[int]:
    snapshots = [publication.snapshot for publication in history(open_repository(url), url)]
    return [store.open_corpus(url, snapshot=snapshot).n_sentences for snapshot in snapshots]


def test_expiring_at_once_keeps_what_readers_see_now_and_nothing_older(copy: str) -> None:
    expire(copy, timedelta(0))
    assert sentences_by_snapshot(copy) == [15]
    assert list(verify(store.open_snapshot(copy))) == []


def test_nothing_expires_before_its_age(copy: str) -> None:
    assert expire(copy, timedelta(days=7)) == (0, 0)
    assert sentences_by_snapshot(copy) == [15, 10, 5, 5]


def test_expiring_keeps_the_snapshot_that_was_current_at_the_age(copy: str) -> None:
    """A reader who opened the second publication shortly before the third may still read."""
    second = history(open_repository(copy), copy)[1].published
    expire(copy, timedelta(days=7), now=second + timedelta(days=7, microseconds=1))
    assert sentences_by_snapshot(copy) == [15, 10]
    for publication in history(open_repository(copy), copy):
        assert list(verify(store.open_snapshot(copy, publication.snapshot))) == []


def test_expiring_frees_chunks_of_old_snapshots_only(copy: str) -> None:
    def size() -> int:
        return sum(file.stat().st_size for file in Path(copy).rglob("*") if file.is_file())

    before = size()
    snapshots, freed = expire(copy, timedelta(0))
    assert snapshots > 2
    assert 0 < freed <= before - size() + freed * 0.05


def test_an_expiry_that_is_killed_leaves_every_snapshot_sound(copy: str) -> None:
    with interruption((history_module, "rewrite_checksums"), after=0):
        expire(copy, timedelta(0))
    assert sentences_by_snapshot(copy) == [15]
    expire(copy, timedelta(0))
    assert store.open_corpus(copy).n_sentences == 15


def test_an_expired_snapshot_is_reported_as_missing(copy: str) -> None:
    oldest = history(open_repository(copy), copy)[-1].snapshot
    expire(copy, timedelta(0))
    with pytest.raises(SnapshotNotFound, match=r"`headscape describe`\.$"):
        store.open_snapshot(copy, oldest)


@pytest.mark.slow
def test_an_ingest_goes_on_after_its_history_expired(copy: str, ingest: Ingest) -> None:
    expire(copy, timedelta(0))
    ingest(Path(copy), sentences=20)
    assert sentences_by_snapshot(copy) == [20, 15]
    assert list(verify(store.open_snapshot(copy))) == []


@pytest.mark.slow
def test_work_of_a_killed_ingest_survives_expiry(copy: str, ingest: Ingest) -> None:
    interrupted(ingest, copy, (Writer, "publish"), after=0, sentences=20)
    expire(copy, timedelta(0))
    assert store.open_corpus(copy).n_sentences == 15
    assert store.open_corpus(ingest(Path(copy), sentences=20)).n_sentences == 20


def test_expiring_a_missing_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        expire(str(tmp_path / "none"), timedelta(0))

"""Snapshots that readers see: only whole ingests, one at a time, and older ones by their id until they expire."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import zarr
from icechunk import IcechunkError

import store
from ingest import pipeline
from ingest.encode import tensors
from ingest.projections.head_view import HeadView
from store.repository import writer
from store.repository.access import open_repository
from store.repository.errors import SnapshotNotFound, StoreError, StoreIncomplete, StoreUnreachable
from store.repository.history import expire, history, published_snapshot
from store.repository.writer import Writer, open_writer
from store.verify import verify
from tests.interruption import interrupted
from tests.stores import BLOCK

Ingest = Callable[..., str]


def every_token_is_placed(corpus: store.Corpus) -> bool:
    """Whether all tokens have coordinates: unwritten ones are 0, a corner of the cube without points."""
    coordinates = corpus.view("pca-exact-2d").coordinates.isel(token=corpus.rows)
    return bool(coordinates.any("component").all())


def test_nothing_is_published_before_the_first_ingest_ends(tmp_path: Path) -> None:
    with open_writer(str(tmp_path / "store")):
        pass
    with pytest.raises(StoreIncomplete):
        store.open_corpus(str(tmp_path / "store"))


def test_a_new_store_has_no_configuration_of_its_own(tmp_path: Path) -> None:
    with open_writer(str(tmp_path / "store")):
        pass
    assert {place.name for place in (tmp_path / "store").iterdir()} == {"transactions", "snapshots", "refs"}


def test_readers_do_not_see_unpublished_commits(copy: str) -> None:
    before = store.open_snapshot(copy).id
    with open_writer(copy) as opened:
        opened.root.attrs["secret"] = True
        opened.commit("unpublished")
    after = store.open_snapshot(copy)
    assert after.id == before
    assert "secret" not in after.root.attrs


def test_readers_see_a_commit_once_it_is_published(copy: str) -> None:
    with open_writer(copy) as opened:
        opened.root.attrs["news"] = True
        snapshot = opened.publish("news")
    assert store.open_snapshot(copy).id == snapshot
    assert store.open_snapshot(copy).root.attrs["news"] is True


def test_an_open_corpus_does_not_change_when_others_publish(copy: str) -> None:
    corpus = store.open_corpus(copy)
    with open_writer(copy) as opened:
        array = opened.group(f"models/{corpus.name}")["value_norm"]
        assert isinstance(array, zarr.Array)
        array[:] = 0
        opened.publish("other numbers")
    assert float(np.nanmin(corpus.value_norm)) > 0
    assert float(np.nanmax(store.open_corpus(copy).value_norm)) == 0


def test_publishing_twice_in_one_second_works(copy: str) -> None:
    with open_writer(copy) as opened:
        assert len({opened.publish("one"), opened.publish("two")}) == 2
    assert [publication.message for publication in history(open_repository(copy), copy)][:2] == ["two", "one"]


def test_history_lists_every_publication_newest_first(three: str) -> None:
    publications = history(open_repository(three), three)
    assert [publication.message.split(": ")[1].split()[0] for publication in publications] == ["15", "10", "5", "5"]
    assert sorted(publications, key=lambda publication: publication.published, reverse=True) == publications


def test_an_older_publication_opens_by_its_id(three: str) -> None:
    snapshots = [publication.snapshot for publication in history(open_repository(three), three)]
    assert [store.open_corpus(three, snapshot=snapshot).n_sentences for snapshot in snapshots] == [15, 10, 5, 5]


def test_a_commit_that_was_never_published_does_not_open(three: str) -> None:
    published = {publication.snapshot for publication in history(open_repository(three), three)}
    commits = [info.id for info in open_repository(three).ancestry(branch="main") if info.id not in published]
    with pytest.raises(SnapshotNotFound, match="never published"):
        store.open_snapshot(three, commits[0])


@pytest.mark.parametrize("snapshot", ["nonsense", "1CECHNKREP0F1RSTCMT0", "ZZZZZZZZZZZZZZZZZZZZ"])
def test_an_unknown_snapshot_is_refused(three: str, snapshot: str) -> None:
    with pytest.raises(SnapshotNotFound, match=r"`headscape describe`\.$"):
        store.open_snapshot(three, snapshot)


def test_a_store_that_does_not_answer_is_reported_as_unreachable(copy: str) -> None:
    repository = open_repository(copy)
    Path(copy).rename(f"{copy}-out-of-reach")
    with pytest.raises(StoreUnreachable, match=r"Check the address and your access to it\.$"):
        published_snapshot(repository, copy)


def test_a_snapshot_of_an_unreachable_store_is_not_reported_as_unknown(copy: str) -> None:
    repository = open_repository(copy)
    Path(copy).rename(f"{copy}-out-of-reach")
    with pytest.raises(StoreUnreachable):
        store.Snapshot(repository, copy, "ZZZZZZZZZZZZZZZZZZZZ")


def test_a_store_that_answers_at_the_second_try_is_read(copy: str) -> None:
    repository, expected = open_repository(copy), store.open_snapshot(copy).id
    answers = iter([IcechunkError("timeout"), next(iter(repository.ancestry(branch="main")))])

    class Hesitant:
        lookup_branch = repository.lookup_branch

        def ancestry(self, **_: object) -> Iterator[object]:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return iter([answer])

    assert published_snapshot(Hesitant(), copy) == expected  # type: ignore[arg-type]


def test_a_second_writer_is_refused_while_the_first_writes(copy: str) -> None:
    with open_writer(copy), pytest.raises(StoreError, match=r"^Another ingest is writing .* Run again"):
        open_writer(copy).__enter__()


def test_a_writer_that_has_ended_leaves_the_store_to_the_next(copy: str) -> None:
    for _ in range(2):
        with open_writer(copy) as opened:
            assert not opened.changed


def test_expiring_is_refused_while_an_ingest_writes(copy: str) -> None:
    with open_writer(copy), pytest.raises(StoreError, match="Another ingest"):
        expire(copy, timedelta(0))


def test_publishing_after_another_process_has_published_is_refused(copy: str) -> None:
    """On an object store there is no lock: another process may move `main` while we write."""
    with open_writer(copy) as opened:
        opened.repository.reset_branch("main", history(opened.repository, copy)[-1].snapshot)
        with pytest.raises(StoreError, match=r"published .* Run the ingest again\.$"):
            opened.publish("too late")


def test_a_commit_after_another_process_has_committed_is_refused(copy: str) -> None:
    first, second = (writer.Writer(open_repository(copy), copy) for _ in range(2))
    for opened in (first, second):
        opened.root.attrs["who"] = repr(opened)
    first.commit("first")
    with pytest.raises(StoreError, match=r"Run the ingest again\.$"):
        second.commit("second")


def test_an_ingest_killed_before_publication_is_published_by_the_next(
    copy: str,
    ingest: Ingest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    interrupted(ingest, copy, (Writer, "publish"), after=0, sentences=20)
    assert store.open_corpus(copy).n_sentences == 15
    capsys.readouterr()  # the interrupted ingest has said which reviews it left out
    ingest(Path(copy), sentences=20)
    assert capsys.readouterr().out.startswith("Published ")
    assert store.open_corpus(copy).n_sentences == 20


@pytest.mark.parametrize("blocks", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_a_model_that_is_half_grown_stays_sound_when_another_is_published(
    blocks: int,
    copy: str,
    ingest: Ingest,
    odd_model: Path,
) -> None:
    interrupted(ingest, copy, (tensors, "_write"), after=blocks, sentences=40)
    ingest(Path(copy), sentences=10, model=odd_model)
    snapshot = store.open_snapshot(copy)
    assert sorted(int(model["sentences"]) for model in snapshot.models.values()) == [10, 15]
    assert list(verify(snapshot)) == []


def test_a_model_keeps_its_picture_when_another_is_published_while_it_grows(
    copy: str, ingest: Ingest, odd_model: Path
) -> None:
    name = store.open_corpus(copy).name
    interrupted(ingest, copy, (pipeline, "draw"), after=0, sentences=20)
    ingest(Path(copy), sentences=10, model=odd_model)
    corpus = store.open_corpus(copy, model=name)
    assert corpus.views == ["pca-exact-2d"]
    assert every_token_is_placed(corpus)


def test_no_picture_of_two_fits_is_shown_when_another_model_is_published_while_it_changes(
    copy: str, ingest: Ingest, odd_model: Path
) -> None:
    """Readers see no picture until the killed ingest goes on."""
    name = store.open_corpus(copy).name
    interrupted(ingest, copy, (HeadView, "write_places"), after=1, sentences=30, fit_tokens=10_000)
    ingest(Path(copy), sentences=10, model=odd_model)
    assert store.open_corpus(copy, model=name).views == []


@pytest.mark.parametrize("sentences", [pytest.param(10, marks=pytest.mark.slow), 20])
def test_a_model_keeps_its_picture_when_a_smaller_ingest_follows_a_killed_larger_one(
    sentences: int, copy: str, ingest: Ingest
) -> None:
    interrupted(ingest, copy, (pipeline, "draw"), after=0, sentences=30)
    corpus = store.open_corpus(ingest(Path(copy), sentences=sentences))
    assert corpus.views == ["pca-exact-2d"]
    assert every_token_is_placed(corpus)


@pytest.mark.slow
def test_a_smaller_ingest_after_a_killed_larger_one_is_whole(copy: str, ingest: Ingest, tmp_path: Path) -> None:
    interrupted(ingest, copy, (tensors, "_write"), after=2, sentences=40)
    grown = store.open_corpus(ingest(Path(copy), sentences=20))
    expected = store.open_corpus(ingest(tmp_path / "other", sentences=20))
    np.testing.assert_array_equal(grown.query, expected.query)
    np.testing.assert_array_equal(grown.head_statistic, expected.head_statistic)


@pytest.mark.slow
def test_a_smaller_ingest_keeps_what_a_killed_larger_one_had_computed(
    copy: str,
    ingest: Ingest,
    commits: Callable[[str], list[str]],
) -> None:
    interrupted(ingest, copy, (pipeline, "complete"), after=0, sentences=40)
    before = commits(ingest(Path(copy), sentences=26))
    after = commits(ingest(Path(copy), sentences=40))[len(before) :]
    shared = int(store.open_corpus(copy).sentences.row_start[26]) // BLOCK
    assert [message.partition(": block ")[2] for message in after if ": block " in message] == [str(shared)]

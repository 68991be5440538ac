"""Stage `projections`: which pictures are made when, and which of them readers see meanwhile."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zarr

import store
from ingest import pipeline
from ingest.projections.head_pictures import HeadPictures
from ingest.projections.head_view import HeadView
from ingest.run.errors import IngestError
from store import open_corpus
from store.repository.access import open_repository
from store.repository.history import history
from store.verify import verify
from tests.interruption import interrupted

Ingest = Callable[..., str]
Complaint = Callable[..., str]
Commits = Callable[[str], list[str]]
ReadArrays = Callable[[str], dict[str, np.ndarray]]
THREE = "pca-exact-2d,pca-raw-2d,pca-sphere-3d"


@pytest.fixture(scope="module")
def one_view(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of 15 sentences with one picture."""
    return ingest(tmp_path_factory.mktemp("one") / "store", sentences=15)


@pytest.fixture
def copy(one_view: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(one_view, tmp_path / "store"))


@pytest.fixture(scope="module")
def three_views(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of 15 sentences with three pictures."""
    return ingest(tmp_path_factory.mktemp("three") / "store", sentences=15, views=THREE)


@pytest.fixture(scope="module")
def cut_short(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """`three_views`, interrupted after two layers of the first picture and one layer of the others, which are placed together."""
    place = tmp_path_factory.mktemp("cut-short") / "store"
    interrupted(ingest, place, (HeadPictures, "_place"), after=3, sentences=15, views=THREE)
    return str(place)


def publications(url: str | Path) -> int:
    return len(history(open_repository(str(url)), str(url)))


# -- requested pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("views", ["pca-exact", "pca-exact-2d,tsne-raw-4d", "isomap-raw-2d", "pca-whitened-2d"])
def test_a_view_that_there_is_not_is_refused(views: str, complaint: Complaint, tmp_path: Path) -> None:
    assert f"{views.rpartition(',')[2]!r} is not a view" in complaint(views=views)
    assert not (tmp_path / "store").exists()


def test_a_stage_that_there_is_not_is_refused(complaint: Complaint) -> None:
    assert "--stage=tensors is not known" in complaint(stage="tensors")


def test_projections_of_an_empty_store_are_refused(complaint: Complaint) -> None:
    assert complaint(stage="projections").startswith("There is no store at ")


def test_projections_of_what_is_not_held_name_the_model_and_the_data_that_are(
    copy: Path, ingest: Ingest, odd_model: Path, tiny_model: Path, tmp_path: Path
) -> None:
    held = open_corpus(str(copy)).attributes["provenance"]["settings"]["data"]
    given = (
        f"Give --model={tiny_model} --data={held} --max-length=24 for what it holds, or run `headscape ingest` first."
    )
    with pytest.raises(IngestError) as of_model:
        ingest(copy, model=odd_model, stage="projections")
    assert str(of_model.value) == f"{copy} holds nothing of odd-bert yet. {given}"
    (other := tmp_path / "other.txt").write_text("A sentence of other data.\n")
    with pytest.raises(IngestError) as of_data:
        ingest(copy, data=other, stage="projections")
    assert str(of_data.value) == f"{copy} holds nothing of other yet. {given}"


def test_projections_add_the_new_view_and_leave_the_rest(
    copy: Path, ingest: Ingest, commits: Commits, read_arrays: ReadArrays
) -> None:
    before, count = read_arrays(str(copy)), len(commits(str(copy)))
    after = read_arrays(ingest(copy, views="pca-exact-2d,pca-raw-2d", stage="projections"))
    for path, array in before.items():
        np.testing.assert_array_equal(after[path], array, err_msg=path)
    assert {path.split("/")[3] for path in after.keys() - before.keys()} == {"pca-raw-2d"}
    new = [message.partition(": ")[2] for message in commits(str(copy))[count:]]
    assert all("pca-raw-2d" in message for message in new[:-3])
    assert [*new[-3:-1], new[-1].partition(" (")[0]] == ["views", "provenance", "15 sentences"]


def test_projections_take_no_more_sentences_than_there_are(copy: Path, ingest: Ingest) -> None:
    corpus = store.open_corpus(ingest(copy, sentences=40, views="pca-raw-2d", stage="projections"))
    assert corpus.n_sentences == 15
    assert set(corpus.views) == {"pca-exact-2d", "pca-raw-2d"}


@pytest.mark.slow
def test_views_that_are_not_requested_again_stay(three_views: str, tmp_path: Path, ingest: Ingest) -> None:
    copy = shutil.copytree(three_views, tmp_path / "store")
    corpus = store.open_corpus(ingest(copy, sentences=20, views="pca-raw-2d"))
    assert set(corpus.views) == set(THREE.split(","))
    assert all(corpus.view(view).attrs["sentences"] == 20 for view in corpus.views)


@pytest.mark.parametrize("stage", ["all", "projections"])
def test_a_second_run_for_several_views_has_nothing_to_do(
    stage: str, three_views: str, tmp_path: Path, ingest: Ingest, commits: Commits, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(three_views, tmp_path / "store")
    before = commits(str(copy))
    ingest(copy, sentences=15, views=THREE, stage=stage)
    assert capsys.readouterr().out.startswith("Nothing to do: ")
    assert commits(str(copy)) == before


# -- what readers see meanwhile -----------------------------------------------------------------------------


def test_a_new_model_is_published_with_its_first_view_with_its_pairs_and_with_the_other_views_of_a_kind(
    three_views: str,
) -> None:
    snapshots = [publication.snapshot for publication in history(open_repository(three_views), three_views)]
    shown = [store.open_corpus(three_views, snapshot=snapshot).views for snapshot in reversed(snapshots)]
    assert [len(views) for views in shown] == [1, 1, 3]
    assert shown[0] == ["pca-exact-2d"]


@pytest.mark.slow
def test_every_early_publication_is_sound(three_views: str) -> None:
    early = history(open_repository(three_views), three_views)
    assert len(early) == 3  # a picture, the pairs and intervals, the other pictures
    assert [list(verify(store.open_snapshot(three_views, each.snapshot))) for each in early] == [[], [], []]


def test_a_known_model_is_published_once_at_the_end(copy: Path, ingest: Ingest) -> None:
    before = publications(copy)
    assert publications(ingest(copy, sentences=20, views=THREE)) == before + 1


@pytest.mark.slow
def test_a_new_model_keeps_the_views_it_had_when_it_is_interrupted(cut_short: str) -> None:
    seen = store.open_snapshot(cut_short)
    assert seen.corpus().views == ["pca-exact-2d"]
    assert list(verify(seen)) == []


@pytest.mark.slow
def test_the_next_run_finishes_the_views_of_an_interrupted_one(
    cut_short: str, three_views: str, ingest: Ingest, read_arrays: ReadArrays, tmp_path: Path
) -> None:
    place = ingest(shutil.copytree(cut_short, tmp_path / "store"), sentences=15, views=THREE)
    arrays, expected = read_arrays(place), read_arrays(three_views)
    assert set(store.open_corpus(place).views) == set(THREE.split(","))
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, err_msg=path)


@pytest.mark.slow
def test_an_unfinished_view_that_is_not_requested_again_stays_as_it_is(
    cut_short: str, ingest: Ingest, commits: Callable[[str], list[str]], tmp_path: Path
) -> None:
    place = shutil.copytree(cut_short, tmp_path / "store")
    begun, before = THREE.split(",")[1], commits(str(place))
    assert any(f"layer 0 of {begun}" in message for message in before)
    corpus = store.open_corpus(ingest(place, sentences=20, views="pca-exact-2d"))
    assert (corpus.n_sentences, corpus.views) == (20, ["pca-exact-2d"])
    assert [message for message in commits(str(place))[len(before) :] if begun in message] == []
    assert store.open_corpus(ingest(place, sentences=20, views=begun)).views == ["pca-exact-2d", begun]


def test_a_new_model_that_is_interrupted_before_its_first_view_is_not_there(ingest: Ingest, tmp_path: Path) -> None:
    place = tmp_path / "store"
    interrupted(ingest, place, (HeadPictures, "_place"), after=1, sentences=15, views=THREE)
    with pytest.raises(store.StoreError, match=r"Run `headscape ingest"):
        store.open_corpus(str(place))


@pytest.mark.slow
def test_the_next_run_shows_the_pictures_of_an_interrupted_one_of_which_readers_saw_nothing(
    copy: Path, ingest: Ingest
) -> None:
    before = store.open_snapshot(str(copy))
    interrupted(ingest, copy, (pipeline, "record_finished_views"), after=1, sentences=20, views=THREE)
    after = store.open_snapshot(str(copy))
    assert after.id == before.id
    assert (after.corpus().n_sentences, after.corpus().views) == (15, ["pca-exact-2d"])
    corpus = store.open_corpus(ingest(copy, sentences=20, views=THREE))
    assert (corpus.n_sentences, set(corpus.views)) == (20, set(THREE.split(",")))
    assert list(verify(store.open_snapshot(str(copy)))) == []


# -- pictures that look for neighbours ----------------------------------------------------------------------


@pytest.mark.slow
def test_pictures_with_the_same_neighbours_are_made_and_published_together(ingest: Ingest, tmp_path: Path) -> None:
    place = ingest(tmp_path / "store", sentences=15, views="pca-exact-2d,tsne-raw-2d,tsne-raw-3d,tsne-exact-2d")
    assert publications(place) == 3


@pytest.mark.slow
def test_pictures_of_neighbours_after_growth_equal_those_made_at_once(
    ingest: Ingest, read_arrays: ReadArrays, tmp_path: Path
) -> None:
    """Growth keeps the fitted tokens and changes the constants of the normalisation."""
    for sentences in (15, 26):
        grown = ingest(tmp_path / "grown", sentences=sentences, views="tsne-centroid-2d", fit_tokens=10_000)
    single = ingest(tmp_path / "once", sentences=26, views="tsne-centroid-2d", fit_tokens=10_000)
    arrays, expected = read_arrays(grown), read_arrays(single)
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, err_msg=path)


@pytest.mark.slow
def test_block_hashes_are_read_once_for_all_layers(
    ingest: Ingest, tiny_model: Path, odd_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On object storage each reading is a request for every block."""
    looked = []

    def read(picture: HeadView, name: str) -> np.ndarray:
        looked[-1] += name == "view_hash"
        return before(picture, name)

    before = HeadView._read
    monkeypatch.setattr(HeadView, "_read", read)
    for model in (tiny_model, odd_model):
        looked.append(0)
        ingest(tmp_path / model.name, model=model, sentences=10)
    assert looked[0] == looked[1] > 0


def test_hashes_of_all_layers_of_a_block_are_one_chunk(one_view: str) -> None:
    corpus = store.open_corpus(one_view)
    hashes = store.open_snapshot(one_view).group(f"models/{corpus.name}/views/pca-exact-2d")["view_hash"]
    assert isinstance(hashes, zarr.Array)
    assert hashes.chunks == (1, 2)

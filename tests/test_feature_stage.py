"""Stage `features`: what an ingest makes and when, and what readers see meanwhile."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import store
from ingest.encode import feature_points
from ingest.projections import projection
from ingest.projections.feature_pictures import FeatureDrawing
from ingest.run.errors import IngestError
from ingest.run.parallel import pools_made_by
from ingest.run.settings import DEFAULT_FEATURES, Settings
from store.describe import as_text, describe
from store.schema.pictures import ViewName
from store.verify import verify
from tests.interruption import Target, interrupted
from tests.stores import FEATURES

Ingest = Callable[..., str]
Complaint = Callable[..., str]
Commits = Callable[[str], list[str]]
ReadArrays = Callable[[str], dict[str, np.ndarray]]
JOINT = {"features": "pca-joint", "reviews": "none"}


@pytest.fixture(scope="module")
def small(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of 5 sentences with the feature points of the sample."""
    return ingest(tmp_path_factory.mktemp("small") / "store", sentences=5, **JOINT)


@pytest.fixture
def copy(small: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "store"))


# -- what is asked for ----------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["pca", "pca-joint,isomap-each", "umap-L0.mixed", "tsne-L00.thought"])
def test_a_view_of_features_that_there_is_not_is_refused(features: str, complaint: Complaint, tmp_path: Path) -> None:
    assert f"{features.rpartition(',')[2]!r} is not a view of feature points" in complaint(features=features)
    assert not (tmp_path / "store").exists()


def test_a_point_that_the_model_has_not_is_refused(complaint: Complaint) -> None:
    assert "has no feature point L02.mixed" in complaint(features="pca-L02.mixed")
    assert "has no feature point L00.attended" in complaint(features="pca-L00.attended")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("points", "many", "--points=many is not known"),
        ("metric", "hamming", "--metric=hamming is not known"),
        ("neighbors", 1, "--neighbors=1 is too few"),
        ("neighbors", 201, "--neighbors=201 is too many"),
        ("min_dist", 1.5, "--min-dist=1.5 is not between 0 and 1"),
        ("min_dist", "near", "--min-dist=near is not a number"),
        ("min_dist", "nan", "--min-dist=nan is not between 0 and 1"),
        ("features", ",", "--features names no picture"),
        ("reviews", ",", "--reviews names no review"),
        ("reviews", "first", "--reviews=first is no list of indices"),
        ("reviews", "-1", "--reviews=-1 is no list of indices"),
        ("reviews", "9" * 5_000, "99 is no list of indices"),
        ("reviews", "5,99999", "There is no review 99999: the data has reviews 0 to 59"),
        ("reviews", "0", "Review 0 is empty"),
    ],
)
def test_invalid_settings_of_feature_points_are_refused(
    name: str, value: object, message: str, complaint: Complaint
) -> None:
    assert message in complaint(**{name: value})


def test_names_of_views_come_back_from_their_text() -> None:
    for name in ("pca-joint", "umap-each", "tsne-L03.mixed", "pca-embedding"):
        assert str(ViewName.parse_points(name)) == name


def test_a_person_reads_what_a_view_is_fitted_on() -> None:
    titles = [ViewName.parse_points(name).title for name in ("pca-joint", "umap-each", "tsne-L03.mixed")]
    assert titles == [
        "PCA of all places together",
        "UMAP of each place, rotated to match its neighbour",
        "t-SNE fitted on L3 head outputs",
    ]


def test_the_default_views_are_views() -> None:
    assert [str(name) for name in Settings().feature_names] == list(DEFAULT_FEATURES)


@pytest.fixture
def three_reviews(tmp_path: Path) -> Path:
    data = tmp_path / "three.txt"
    data.write_text("A good film. It was long.\nNever again! The plot was slow.\nWe loved it. Funny and sad.\n")
    return data


def test_a_default_review_that_the_data_has_not_is_left_out(
    ingest: Ingest, tmp_path: Path, three_reviews: Path
) -> None:
    url = ingest(tmp_path / "store", data=three_reviews, sentences=6, features="pca-joint")
    assert store.open_corpus(url).token_sets == ["sample"]


def test_the_default_review_is_refused_if_the_data_lacks_it_and_it_is_requested(
    complaint: Complaint, three_reviews: Path
) -> None:
    assert "There is no review 3: the data has reviews 0 to 2" in complaint(data=three_reviews, reviews="3")


def test_a_review_without_wordpieces_is_refused(complaint: Complaint, tmp_path: Path) -> None:
    data = tmp_path / "blank.jsonl"
    data.write_text('{"text": "\\u200b"}\n{"text": "A good film."}\n')
    assert "Review 0 is empty" in complaint(data=data, reviews="0")


def test_data_that_cannot_be_had_is_not_taken_for_a_review_that_it_has_not(
    copy: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise IngestError("The data cannot be loaded from the hub. Try again.")

    monkeypatch.setattr(feature_points, "read_reviews", unreachable)
    with pytest.raises(IngestError, match="cannot be loaded from the hub"):
        ingest(copy, sentences=5, features="pca-joint")


# -- what is made ---------------------------------------------------------------------------------------


def test_a_second_run_has_nothing_to_do(
    copy: Path, ingest: Ingest, commits: Commits, capsys: pytest.CaptureFixture[str]
) -> None:
    before = commits(str(copy))
    ingest(copy, sentences=5, **JOINT)
    assert capsys.readouterr().out.startswith("Nothing to do: ")
    assert commits(str(copy)) == before


def test_projections_add_feature_points_to_a_store_that_has_none(ingest: Ingest, few: str) -> None:
    ingest(Path(few), sentences=40, stage="projections", **FEATURES)
    corpus = store.open_corpus(few)
    assert (corpus.n_sentences, corpus.token_sets) == (10, ["sample", "review-3"])
    assert list(verify(store.open_snapshot(few))) == []


def test_another_view_leaves_the_rest_as_it_is(
    copy: Path, ingest: Ingest, read_arrays: ReadArrays, commits: Commits
) -> None:
    before, count = read_arrays(str(copy)), len(commits(str(copy)))
    after = read_arrays(ingest(copy, sentences=5, stage="projections", features="pca-each", reviews="none"))
    for path, array in before.items():
        np.testing.assert_array_equal(after[path], array, err_msg=path)
    assert {path.split("/")[5] for path in after.keys() - before.keys()} == {"pca-each"}
    assert set(store.open_corpus(str(copy)).features("sample").views) == {"pca-joint", "pca-each"}
    assert commits(str(copy))[count].endswith(": pca-each of sample")


def test_a_corpus_that_grows_takes_its_feature_points_along(
    copy: Path, ingest: Ingest, read_arrays: ReadArrays, tmp_path: Path
) -> None:
    """The view that is not asked for again grows too."""
    grown = read_arrays(ingest(copy, sentences=15, features="pca-each", reviews="none"))
    once = ingest(tmp_path / "once", sentences=15, features="pca-each,pca-joint", reviews="none")
    expected = read_arrays(once)
    assert grown.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(grown[path], array, err_msg=path)


@pytest.mark.slow
def test_a_token_set_that_is_not_requested_again_stays_as_it_is(copy: Path, ingest: Ingest) -> None:
    ingest(copy, sentences=5, features="pca-joint", reviews="5")
    corpus = store.open_corpus(ingest(copy, sentences=6, features="pca-each", reviews="none"))
    assert corpus.token_sets == ["sample", "review-5"]
    assert [set(corpus.features(name).views) for name in corpus.token_sets] == [
        {"pca-joint", "pca-each"},
        {"pca-joint"},
    ]


@pytest.mark.slow
def test_the_finer_set_stays_when_it_is_not_requested_again(copy: Path, ingest: Ingest) -> None:
    ingest(copy, sentences=5, points="fine", **JOINT)
    assert len(store.open_corpus(ingest(copy, sentences=6, **JOINT)).features("sample").points) == 12


def test_numbers_beyond_float16_are_reported(
    ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features = store.open_corpus(ingest(tmp_path / "store", sentences=5, largest_feature=1.0, **JOINT)).features(
        "sample"
    )
    assert features.attributes["clipped"] > 0
    assert f"Clipped {features.attributes['clipped']:,} numbers of the feature points" in capsys.readouterr().out
    assert float(abs(features.feature).max()) == 1


def test_the_description_names_the_token_sets(copy: Path) -> None:
    description = as_text(describe(store.open_snapshot(str(copy))))
    assert "    8 feature points of the first 5 sentences of the corpus, " in description


# -- what readers see meanwhile -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [
        (feature_points, "write_measures"),
        (FeatureDrawing, "draw"),
    ],
)
def test_readers_of_an_interrupted_ingest_see_no_part_of_a_token_set(
    target: Target, copy: Path, ingest: Ingest, read_arrays: ReadArrays
) -> None:
    """The part stays unseen even when another model is published afterwards."""
    before = read_arrays(str(copy))
    interrupted(
        ingest,
        copy,
        target,
        after=0,
        sentences=5,
        features="pca-each",
        reviews="5",
    )
    ingest(copy, sentences=5, seed=1)
    snapshot = store.open_snapshot(str(copy))
    assert list(verify(snapshot)) == []
    after = read_arrays(str(copy))
    for path, array in before.items():
        np.testing.assert_array_equal(after[path], array, err_msg=path)


@pytest.mark.slow
def test_the_next_run_finishes_what_an_interrupted_one_began(
    ingest: Ingest, read_arrays: ReadArrays, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    interrupted(ingest, place, (FeatureDrawing, "draw"), after=2, sentences=5, **FEATURES)
    arrays, expected = (
        read_arrays(ingest(place_of_store, sentences=5, **FEATURES)) for place_of_store in (place, tmp_path / "once")
    )
    assert arrays.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, err_msg=path)


@pytest.mark.slow
def test_an_unfinished_review_that_is_not_requested_again_stays_as_it_is(
    copy: Path, ingest: Ingest, commits: Commits
) -> None:
    interrupted(
        ingest,
        copy,
        (FeatureDrawing, "draw"),
        after=0,
        sentences=5,
        features="pca-joint",
        reviews="5,7",
    )
    before = commits(str(copy))
    corpus = store.open_corpus(ingest(copy, sentences=5, features="pca-each", reviews="5"))
    assert [message for message in commits(str(copy))[len(before) :] if "review-7" in message] == []
    assert [set(corpus.features(name).views) for name in ("sample", "review-5", "review-7")] == [
        {"pca-joint", "pca-each"},
        {"pca-each"},
        set(),
    ]


@pytest.mark.slow
def test_a_view_that_went_with_its_token_set_comes_back_after_an_interruption(copy: Path, ingest: Ingest) -> None:
    each = {"features": "pca-each", "reviews": "none"}
    interrupted(ingest, copy, (FeatureDrawing, "draw"), after=0, sentences=15, **each)
    features = store.open_corpus(ingest(copy, sentences=15, **each)).features("sample")
    assert set(features.views) == {"pca-joint", "pca-each"}


@pytest.fixture
def pools() -> Iterator[list[ThreadPoolExecutor]]:
    """The pools that an ingest makes, of one thread each: processes would need seconds for their imports."""
    pools: list[ThreadPoolExecutor] = []

    def make() -> ThreadPoolExecutor:
        pools.append(ThreadPoolExecutor(1))
        return pools[-1]

    with pools_made_by(make):
        yield pools
    for pool in pools:
        pool.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("pools")
def test_the_picture_of_values_comes_back_where_its_view_is_not_requested_again(
    copy: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "fit_points", lambda points, *_: points[:, :2])
    umap = {"features": "umap-joint", "reviews": "none", "own_pool": True}
    ingest(copy, sentences=5, **umap)
    interrupted(ingest, copy, (FeatureDrawing, "draw"), after=2, sentences=15, **umap)
    features = store.open_corpus(ingest(copy, sentences=15, own_pool=True, **JOINT)).features("sample")
    assert set(features.views) == {"pca-joint", "umap-joint"}
    assert set(features.value_views) == {"pca", "umap"}


@pytest.mark.slow
def test_an_interrupted_ingest_begins_no_more_fits(copy: Path, ingest: Ingest, pools: list[ThreadPoolExecutor]) -> None:
    each = {"features": "tsne-each", "reviews": "none", "own_pool": True}
    interrupted(ingest, copy, (FeatureDrawing, "draw"), after=0, sentences=5, **each)
    with pytest.raises(RuntimeError, match="after shutdown"):
        pools[0].submit(int)


def test_feature_points_of_another_model_are_refused_where_it_is_not_held(
    copy: Path, ingest: Ingest, odd_model: Path
) -> None:
    with pytest.raises(
        IngestError, match=r"holds nothing of odd-bert yet\. Give --model=.* or run `headscape ingest` first\.$"
    ):
        ingest(copy, model=odd_model, stage="projections", **JOINT)

"""Models with the same name are told apart: on pages, in `describe` and in `open`."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import headscape
import store
from dashboard.pages import TOPICS
from dashboard.ui.text import model_names
from dashboard.web.bounds import names_of
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store.describe import as_text, describe
from store.snapshot import Snapshot, find_key, model_titles
from tests.made_once import made_once

Ingest = Callable[..., str]


def model(name: str, place: str = "", *, weights: str = "a", corpus: str = "reviews", **more: Any) -> dict[str, Any]:
    provenance = {"settings": {"model": place or name}}
    return {"model_id": name, "weights_sha256": weights, "corpus": corpus, "provenance": provenance | more}


def titles(*models: dict[str, Any]) -> list[str]:
    return list(model_titles({f"key-{number:08}": found for number, found in enumerate(models)}).values())


def test_a_model_of_another_name_than_all_others_keeps_its_name() -> None:
    assert titles(model("lab/tiny"), model("lab/small", weights="b")) == ["lab/tiny", "lab/small"]


def test_a_name_of_the_hub_may_be_that_of_a_folder_in_its_parent() -> None:
    found = titles(
        model("lab/bert"), model("bert", "/data/lab/bert", weights="b"), model("bert", "/data/other/bert", weights="c")
    )
    assert found == ["lab/bert (00000000)", "lab/bert (00000001)", "other/bert"]


def test_a_model_on_two_corpora_has_one_name() -> None:
    assert titles(model("tiny"), model("tiny", corpus="films")) == ["tiny", "tiny"]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["/data/a/last", "/data/b/last"], ["a/last", "b/last"]),
        (["/data/a/last/", "data/b/last"], ["a/last", "b/last"]),
        (["/a/run/last", "/b/run/last"], ["a/run/last", "b/run/last"]),
        (["last", "run/last"], ["last", "run/last"]),
        (["last", "last"], ["last (00000000)", "last (00000001)"]),
        (["../a/last", "../b/last"], ["a/last", "b/last"]),
    ],
)
def test_as_few_folders_as_tell_models_apart_stand_before_their_name(places: list[str], expected: list[str]) -> None:
    assert titles(*(model("last", place, weights=place + str(n)) for n, place in enumerate(places))) == expected


def test_the_folder_that_an_ingest_found_goes_before_the_one_that_was_written() -> None:
    relative = [model("last", weights=run, folder=f"/data/{run}/last") for run in ("a", "b")]
    assert titles(*relative) == ["a/last", "b/last"]


def test_a_name_of_the_hub_has_no_folders() -> None:
    again = [model("lab/tiny", weights=weights) for weights in ("a", "b")]
    assert titles(*again) == ["lab/tiny (00000000)", "lab/tiny (00000001)"]


def test_a_model_is_found_by_its_key_its_title_or_its_name() -> None:
    models = {"last-1": model("last", "a/last"), "last-2": model("last", "b/last", weights="b"), "one-1": model("one")}
    assert [find_key(models, name) for name in ("last-1", "b/last", "one")] == ["last-1", "last-2", "one-1"]


# -- of a store -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(ingest: Ingest, tiny_model: Path, second_model: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the models of two trainings, each the checkpoint after 500 steps."""

    def make(place: Path) -> None:
        for run, trained in (("run-a", tiny_model), ("run-b", second_model)):
            folder = shutil.copytree(trained, place.parent / "trained" / run / "checkpoint-500")
            ingest(place, model=folder, sentences=5)

    return str(made_once(tmp_path_factory, "two-runs", make))


def test_the_description_names_the_folder_of_each(place: str) -> None:
    text = as_text(describe(store.open_snapshot(place)))
    assert all(f": {run}/checkpoint-500\n" in text for run in ("run-a", "run-b"))


def test_each_is_opened_by_its_folder(place: str) -> None:
    opened = [headscape.open(place, f"{run}/checkpoint-500") for run in ("run-a", "run-b")]
    assert [corpus.title for corpus in opened] == ["run-a/checkpoint-500", "run-b/checkpoint-500"]
    assert opened[0].name != opened[1].name


def test_a_name_that_both_have_is_refused_with_both(place: str) -> None:
    with pytest.raises(store.StoreError, match=r"^2 models of this store are called 'checkpoint-500'\.") as refused:
        headscape.open(place, "checkpoint-500")
    assert all(f"({run}/checkpoint-500)" in str(refused.value) for run in ("run-a", "run-b"))


@pytest.mark.parametrize("page", ["compare", "store"])
def test_a_page_names_both(page: str, place: str) -> None:
    says = str(TOPICS[page].layout(resolve(ServedStore(place), page, "")).above)
    assert all(f"{run}/checkpoint-500" in says for run in ("run-a", "run-b"))


def test_the_header_chooses_between_both(place: str) -> None:
    chosen = model_names(store.open_snapshot(place)).values()
    assert sorted(title.partition(" on ")[0] for title in chosen) == ["run-a/checkpoint-500", "run-b/checkpoint-500"]


def test_a_comparison_names_them_apart(place: str) -> None:
    first, second = (headscape.open(place, f"{run}/checkpoint-500") for run in ("run-a", "run-b"))
    assert names_of(first, second) == ("run-a/checkpoint-500", "run-b/checkpoint-500")


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (("imdb-1ac11098", "imdb-1ac11098"), ["a on imdb", "b on imdb"]),
        (("imdb-1ac11098", "imdb-2bd22098"), ["a on imdb-1ac11098", "b on imdb-2bd22098"]),
        (("imdb-1ac11098", "gap"), ["a on imdb", "b on gap"]),
    ],
)
def test_the_end_of_a_key_of_a_corpus_stands_only_where_it_tells_two_apart(
    keys: tuple[str, str], names: list[str]
) -> None:
    models = {title: {"corpus": key} for title, key in zip("ab", keys, strict=True)}
    snapshot = SimpleNamespace(models=models, titles={"a": "a", "b": "b"})
    assert [*model_names(cast(Snapshot, snapshot)).values()] == names

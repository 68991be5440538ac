"""The labels of reviews: names, order, and the label of a review."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest

import store
from ingest.run.errors import IngestError
from ingest.text.columns import MOST_LABELS
from ingest.text.reviews import Data, Reviews, read_reviews
from store.repository.arrays import array_of
from tests.hub import COMMIT
from tests.hub_cache import cached_data
from tests.stores import rewritten

Ingest = Callable[..., str]

HUB = Data("somebody/opinions", "somebody/opinions", f"hub:somebody/opinions@{COMMIT}")
DIGITS = datasets.ClassLabel(names=["1", "2"])
MOODS = datasets.ClassLabel(names=["sad", "gay", "odd"])


@pytest.fixture
def labelled() -> Callable[..., Reviews]:
    """A function that gives reviews of a hub data set whose label column has these values, as the data set declares it."""

    def labelled(values: Sequence[Any], declared: datasets.ClassLabel | None = None) -> Reviews:
        table = datasets.Dataset.from_dict({"text": [f"Film {number}." for number in range(len(values))]})
        table = table.add_column("label", list(values), feature=declared)
        with cached_data(HUB.name, train=table):
            return read_reviews(HUB, text="text", label="label")

    return labelled


@pytest.mark.parametrize(
    ("values", "declared", "names", "labels"),
    [
        ([1, 0, None, -1], DIGITS, ["1", "2"], [1, 0, -1, -1]),
        ([2, 0], MOODS, ["sad", "gay", "odd"], [2, 0]),
        ([10, 1, 2], None, ["1", "2", "10"], [2, 0, 1]),
        ([10.0, 1.0, None, 2.0], None, ["1", "2", "10"], [2, 0, -1, 1]),
        ([0.5, 1.0, 10.0], None, ["0.5", "1", "10"], [0, 1, 2]),
        (["b", "", "a", None], None, ["a", "b"], [1, -1, 0, -1]),
        (["None", None], None, ["None"], [0, -1]),
        ([True, False], None, ["False", "True"], [1, 0]),
        ([None, None], None, [], [-1, -1]),
    ],
)
def test_labels_are_the_values_of_their_column(
    values: Sequence[Any],
    declared: datasets.ClassLabel | None,
    names: list[str],
    labels: list[int],
    labelled: Callable[..., Reviews],
) -> None:
    reviews = labelled(values, declared)
    assert (reviews.label_names, [review.label for review in reviews]) == (names, labels)


@pytest.mark.parametrize("values", [[f"opinion {number}" for number in range(MOST_LABELS + 1)], [["a"], ["b"]]])
def test_values_that_cannot_be_labels_are_refused(values: Sequence[Any], labelled: Callable[..., Reviews]) -> None:
    with pytest.raises(IngestError, match=r"^The column 'label' of somebody/opinions .* --label=none for no labels\.$"):
        labelled(values)


def test_as_many_labels_as_may_be_are_found(labelled: Callable[..., Reviews]) -> None:
    assert len(labelled([f"opinion {number}" for number in range(MOST_LABELS)]).label_names) == MOST_LABELS


# -- in a store -----------------------------------------------------------------------------------------

STARS = [number % 3 + 9 for number in range(30)]


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    """A file of reviews with 9, 10 or 11 stars."""
    rows = [("text", "stars"), *((f"Film {number} was good.", stars) for number, stars in enumerate(STARS))]
    with (tmp_path / "stars.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path / "stars.csv"


@pytest.fixture
def older(ingest: Ingest, stars: Path, tmp_path: Path) -> str:
    """A store of some of the reviews from when numbers were sorted as text."""
    now = store.open_corpus(ingest(tmp_path / "store", data=stars, label="stars", sentences=10))
    names = sorted(now.label_names)
    with rewritten(tmp_path / "store") as writer:
        group = writer.group(f"corpus/{now.attributes['corpus']}")
        group.attrs["label_names"] = names
        labels = [names.index(now.label_names[label]) for label in now.sentences.label.values]
        array_of(group, "label")[:] = np.array(labels, np.int16)
    return str(tmp_path / "store")


def test_labels_of_a_store_keep_their_numbers_as_it_grows(ingest: Ingest, older: str, stars: Path) -> None:
    grown = store.open_corpus(ingest(Path(older), data=stars, label="stars", sentences=20))
    named = [int(grown.label_names[label]) for label in grown.sentences.label.values]
    assert grown.label_names == ("10", "11", "9")
    assert named == [STARS[document] for document in grown.sentences.document.values]


def test_a_review_read_later_has_the_number_of_its_label_in_the_store(ingest: Ingest, older: str, stars: Path) -> None:
    added = {"features": "pca-joint", "reviews": "3"}
    grown = store.open_corpus(ingest(Path(older), data=stars, label="stars", sentences=10, **added))
    review = grown.features("review-3")
    assert {review.label_names[label] for label in review.label} == {str(STARS[3])}

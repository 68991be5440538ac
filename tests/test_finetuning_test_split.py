"""The test split of a data set on the hub: loaded before the training, judged once after it."""

from collections.abc import Iterator
from pathlib import Path

import datasets
import numpy as np
import pytest

from ingest.finetuning.data import Labelled
from ingest.run.errors import IngestError
from ingest.text.hub import FIRST, HubData, stream_file
from tests.finetuned import accuracy_of, finetune, metrics_of, write_opinions
from tests.hub import COMMIT
from tests.hub_cache import cached_data, write_rows

pytestmark = pytest.mark.slow

#: Rows of both splits; the test split begins with reviews that are trained on or held out.
TRAIN, TEST = range(160), range(150, 190)


@pytest.fixture
def opinions(tmp_path: Path) -> datasets.Dataset:
    path = write_opinions(tmp_path / "opinions.csv", reviews=190)
    return datasets.load_dataset("csv", data_files=str(path), split="train")


@pytest.fixture
def cached(opinions: datasets.Dataset) -> Iterator[Path]:
    """The name of a data set with two splits in the cache."""
    with cached_data("somebody/opinions", train=opinions.select(TRAIN), test=opinions.select(TEST)):
        yield Path("somebody/opinions")


def test_the_test_split_is_judged_once_without_reviews_of_the_training_data(
    opinions: datasets.Dataset, cached: Path, tiny_model: Path, tmp_path: Path
) -> None:
    out = finetune(tiny_model, cached, tmp_path / "out")
    rows = [row for row in TEST if row not in TRAIN]
    new = Labelled(opinions[rows]["text"], np.array(rows) % 2, ["negative", "positive"])
    measured, card = metrics_of(out), (out / "README.md").read_text()
    assert (measured["test"]["accuracy"], measured["test"]["reviews"]) == (accuracy_of(out, new), 30)
    assert f"| test split | 30 | {measured['test']['accuracy']:.4f} |" in card
    assert "Left out of the test split: 10 reviews that are in the training data too." in card


def test_a_missing_test_split_is_reported_before_the_training(
    opinions: datasets.Dataset, tiny_model: Path, tmp_path: Path
) -> None:
    """The cache has the first reviews of the training split alone, and the hub is out of reach."""
    data = HubData("somebody/comments", None, COMMIT)
    write_rows(stream_file(data, None, FIRST, None), opinions.select(TRAIN))
    with pytest.raises(IngestError, match="cannot be loaded from the hub"):
        finetune(tiny_model, Path(data.name), tmp_path / "out", epochs=1, first="160")
    assert list((tmp_path / "out" / "checkpoints").glob("checkpoint-*")) == []


def test_a_named_split_is_trained_on_and_is_no_test_of_itself(cached: Path, tiny_model: Path, tmp_path: Path) -> None:
    out = finetune(tiny_model, cached, tmp_path / "out", epochs=1, data_split="test")
    measured = metrics_of(out)
    assert (measured["train_reviews"] + measured["held_reviews"], measured["test"]) == (40, None)


def test_so_many_reviews_alone_are_trained_on(tiny_model: Path, tmp_path: Path) -> None:
    reviews = write_opinions(tmp_path / "opinions.csv")
    out = finetune(tiny_model, reviews, tmp_path / "out", epochs=1, first="41")
    measured = metrics_of(out)
    assert measured["train_reviews"] + measured["held_reviews"] == 40
    assert "(40 reviews by chance)" in (out / "README.md").read_text()

"""Training data of a fine-tuning: the choice of reviews, their cuts and their order."""

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from ingest.finetuning.data import (
    HELD_SHARE,
    MOST_HELD,
    Drawn,
    Labelled,
    encode,
    head_and_tail,
    hold_out,
    read_labelled,
    read_test,
    told_cut,
    training_order,
)
from ingest.finetuning.training import Padding, accuracy
from ingest.run.errors import IngestError
from ingest.text.reviews import Data, find_data
from tests.hub import COMMIT
from tests.hub_cache import cached_data
from tests.roberta import causal_tokenizer
from tests.warned import warned

SEEDS = st.integers(0, (1 << 32) - 1)
LABELS = st.lists(st.integers(2, 60), min_size=2, max_size=5).map(lambda sizes: np.repeat(np.arange(len(sizes)), sizes))


@given(LABELS, SEEDS)
def test_every_review_is_trained_on_or_held_out(labels: np.ndarray, seed: int) -> None:
    train, held = hold_out(labels, seed=seed)
    assert sorted([*train, *held]) == list(range(len(labels)))


@given(LABELS, SEEDS)
def test_of_every_label_the_same_share_is_held_out(labels: np.ndarray, seed: int) -> None:
    _, held = hold_out(labels, seed=seed)
    counts, all_ = np.bincount(labels[held], minlength=labels.max() + 1), np.bincount(labels)
    assert (abs(counts - HELD_SHARE * all_) <= 0.5).all() or (counts[abs(counts - HELD_SHARE * all_) > 0.5] == 1).all()


@given(LABELS, SEEDS)
def test_every_label_is_trained_on_and_held_out(labels: np.ndarray, seed: int) -> None:
    for rows in hold_out(labels, seed=seed):
        assert set(labels[rows]) == set(labels)


def test_the_same_reviews_are_held_out_for_a_seed_and_others_for_another() -> None:
    labels = np.arange(200) % 2
    first, again, other = (hold_out(labels, seed=seed)[1].tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_of_many_reviews_no_more_are_held_out_than_say_something() -> None:
    assert len(hold_out(np.arange(100_000) % 2, seed=0)[1]) == MOST_HELD


@pytest.fixture
def sorted_by_label(tmp_path: Path) -> Data:
    rows = [f"review {number},{number // 100}" for number in range(300)]
    (tmp_path / "sorted.csv").write_text("\n".join(["text,label", *rows]))
    return find_data(str(tmp_path / "sorted.csv"))


def drawn_from(data: Data, count: int, seed: int) -> Labelled:
    return read_labelled(data, text="text", label="label", drawn=Drawn(count, seed))


def test_of_data_that_is_sorted_by_label_some_reviews_of_every_label_are_drawn(sorted_by_label: Data) -> None:
    assert np.bincount(drawn_from(sorted_by_label, 30, seed=0).labels).tolist() == [10, 10, 10]


def test_the_same_reviews_are_drawn_for_a_seed_and_others_for_another(sorted_by_label: Data) -> None:
    first, again, other = (drawn_from(sorted_by_label, 30, seed).texts for seed in (1, 1, 2))
    assert first == again != other


def test_all_reviews_are_taken_where_more_are_asked_for(sorted_by_label: Data) -> None:
    assert len(drawn_from(sorted_by_label, 301, seed=0).texts) == 300


@pytest.mark.parametrize(("count", "name"), [(31, "sorted (30 reviews by chance)"), (300, "sorted"), (301, "sorted")])
def test_the_name_of_the_data_says_how_many_reviews_were_drawn(count: int, name: str, sorted_by_label: Data) -> None:
    labelled = drawn_from(sorted_by_label, count, seed=0)
    assert labelled.named(sorted_by_label.name) == name


@given(st.lists(st.integers(), max_size=50), st.integers(1, 60))
def test_a_review_that_fits_is_not_cut(token_ids: list[int], room: int) -> None:
    if len(token_ids) <= room:
        assert head_and_tail(token_ids, room) == token_ids


@given(st.integers(1, 60), st.integers(1, 60))
def test_a_longer_review_keeps_a_beginning_and_an_end(room: int, more: int) -> None:
    indices = head_and_tail(range(room + more), room)
    gaps = np.flatnonzero(np.diff(indices) != 1)
    assert len(indices) == room
    assert indices[-1] == room + more - 1
    assert len(gaps) <= 1
    assert (gaps + 1).sum() == (room // 4 if len(gaps) else 0)


def test_a_cut_review_stands_between_its_special_tokens(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(
        "text,label\n" + "a film was good and bad and sad,1\nthe plot,0\n" + "i,1\nwe,0\n"
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    labelled = read_labelled(find_data(str(tmp_path / "long.csv")), text="text", label="label")
    pieces = [
        tokenizer.convert_ids_to_tokens(encoding["input_ids"]) for encoding in encode(labelled, tokenizer, max_length=6)
    ]
    assert pieces[:2] == [["[CLS]", "a", "bad", "and", "sad", "[SEP]"], ["[CLS]", "the", "plot", "[SEP]"]]


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_what_is_told_of_a_cut_is_how_a_review_is_cut(family: str, tiny_model: Path) -> None:
    tokenizer = causal_tokenizer() if family == "gpt2" else transformers.AutoTokenizer.from_pretrained(tiny_model)
    text = " the film good" * 20
    own = tokenizer(text, add_special_tokens=False)["input_ids"]
    [encoded] = encode(Labelled([text], np.array([0]), ["x"]), tokenizer, max_length=42)
    head, tail, beside = (10, 32, "") if family == "gpt2" else (10, 30, " beside [CLS] and [SEP]")
    ends = 0 if family == "gpt2" else 1
    assert encoded["input_ids"][ends : 42 - ends] == own[:head] + own[-tail:]
    told = f"longer reviews keep the first {head} and the last {tail}{beside}"
    assert told_cut(tokenizer, max_length=42) == told


def test_nobody_is_warned_of_a_review_that_is_cut(tiny_model: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model, model_max_length=6)
    labelled = Labelled(["a film was good and bad and sad"], np.array([1]), ["bad", "good"])
    with warned() as warnings:
        encode(labelled, tokenizer, max_length=6)
    assert warnings == []


def test_a_text_that_comes_again_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("text,label\ngood,1\nbad,0\ngood,1\nfine,1\nsad,0\n,1\n")
    labelled = read_labelled(find_data(str(tmp_path / "twice.csv")), text="text", label="label")
    assert (labelled.texts, labelled.labels.tolist()) == (["good", "bad", "fine", "sad"], [1, 0, 1, 0])


LENGTHS = st.lists(st.integers(3, 200), min_size=1, max_size=300).map(np.array)


@given(LENGTHS, st.integers(1, 9), SEEDS)
def test_an_epoch_has_every_review_once(lengths: np.ndarray, batch: int, seed: int) -> None:
    order = training_order(lengths, batch=batch, seed=seed, epoch=0)
    assert sorted(order) == list(range(len(lengths)))


def test_reviews_of_like_length_come_together() -> None:
    lengths = np.random.default_rng(0).integers(3, 200, 800)
    order = training_order(lengths, batch=8, seed=0, epoch=0)
    widths = [lengths[order[start : start + 8]] for start in range(0, 800, 8)]
    assert np.mean([1 - batch.mean() / batch.max() for batch in widths]) < 0.05
    assert abs(np.corrcoef([batch.mean() for batch in widths], range(100))[0, 1]) < 0.3


def test_every_epoch_has_an_order_of_its_own_that_does_not_change() -> None:
    lengths = np.arange(3, 103)
    first, again, next_ = (training_order(lengths, batch=8, seed=0, epoch=epoch).tolist() for epoch in (0, 0, 1))
    assert first == again != next_


def test_a_batch_is_padded_with_what_the_model_does_not_see() -> None:
    batch = Padding(0, longest=100)([{"input_ids": [2, 7, 3], "labels": 1}, {"input_ids": [2, 3], "labels": 0}])
    assert batch["input_ids"][:, :4].tolist() == [[2, 7, 3, 0], [2, 3, 0, 0]]
    assert batch["attention_mask"].sum(1).tolist() == [3, 2]
    assert batch["labels"].tolist() == [1, 0]


def test_a_batch_is_never_wider_than_the_model_reads() -> None:
    batch = Padding(0, longest=40)([{"input_ids": [5] * 39, "labels": 0}])
    assert batch["input_ids"].shape == (1, 40)


def test_accuracy_is_the_share_of_labels_with_the_highest_output() -> None:
    outputs = np.array([[0.1, 0.9], [2.0, 1.0], [0.3, 0.2], [-1.0, -2.0]])
    measured = accuracy(transformers.EvalPrediction(outputs, np.array([1, 0, 1, 0])))
    assert measured == {"accuracy": 0.75}


@pytest.mark.parametrize(
    ("able", "precision"), [({"avx512_bf16": True}, "bf16"), ({"amx_bf16": True}, "bf16"), ({"avx2": True}, "float32")]
)
def test_a_cpu_is_given_sixteen_bits_only_if_it_multiplies_in_them(able: dict[str, Any], precision: str) -> None:
    from ingest.finetuning.training import find_precision

    assert find_precision(torch.device("cpu"), able) == precision


HUB = Data("somebody/opinions", "somebody/opinions", f"hub:somebody/opinions@{COMMIT}")


def trained_on(*texts: str, names: tuple[str, ...] = ("bad", "good")) -> Labelled:
    return Labelled(list(texts), np.zeros(len(texts), np.int64), list(names))


def read_cached(test: datasets.Dataset, known: Labelled) -> tuple[Labelled, int]:
    """The test split of a data set in the cache, read without texts trained on."""
    with cached_data(HUB.name, train=test, test=test):
        return read_test(HUB, known, text="text", label="label")


def test_labels_of_the_test_split_are_numbered_as_those_trained_on() -> None:
    rows = {"text": ["x", "y", "z"], "label": ["good", "awful", "bad"]}
    test, _ = read_cached(datasets.Dataset.from_dict(rows), trained_on(names=("bad", "fair", "good")))
    assert (test.texts, test.labels.tolist()) == (["x", "z"], [2, 0])


def test_texts_that_were_trained_on_are_left_out_of_the_test_split() -> None:
    rows = {"text": ["x", "y", "z", "y"], "label": ["good", "bad", "bad", "bad"]}
    test, left_out = read_cached(datasets.Dataset.from_dict(rows), trained_on("y", "w"))
    assert (test.texts, test.labels.tolist(), left_out) == (["x", "z"], [1, 0], 1)


def test_a_test_split_whose_labels_are_kept_secret_is_empty() -> None:
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    test, left_out = read_cached(
        datasets.Dataset.from_dict({"text": ["x", "y"], "label": [-1, -1]}, features), trained_on("y")
    )
    assert (test.texts, left_out) == ([], 0)


def test_an_unreachable_hub_is_reported() -> None:
    """Every test is offline: the hub is out of reach."""
    with pytest.raises(IngestError, match=r"cannot be loaded from the hub \(ConnectionError\)\. Try again"):
        read_test(HUB, trained_on(), text="text", label="label")

"""`headscape export --format=datasets`: `datasets.load_from_disk` reads the numbers of the store."""

from pathlib import Path

import datasets
import numpy as np
import pytest

from dashboard.export import main
from store import Corpus, open_corpus


def exported(store: str, place: Path, *flags: str) -> datasets.Dataset:
    assert main([store, f"--out={place}", "--format=datasets", "--layer=1", "--head=0", *flags]) == 0
    loaded = datasets.load_from_disk(str(place))
    assert isinstance(loaded, datasets.Dataset)
    return loaded


@pytest.fixture(scope="module")
def rows(tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> datasets.Dataset:
    return exported(tiny_store, tmp_path_factory.mktemp("rows") / "head", "--vectors")


@pytest.fixture(scope="module")
def corpus(tiny_store: str) -> Corpus:
    return open_corpus(tiny_store)


def test_a_row_is_a_sentence_with_its_tokens_and_label(rows: datasets.Dataset, corpus: Corpus) -> None:
    assert len(rows) == corpus.n_sentences
    for number, row in enumerate(rows):
        assert row["sentence"] == number
        assert row["text"] == corpus.sentences.text.values[number]
        assert row["tokens"] == corpus.wordpieces(corpus.sentence_rows(number))
        assert rows.features["label"].int2str(row["label"]) == corpus.label_name(number)


def test_weights_are_those_of_the_pattern(rows: datasets.Dataset, corpus: Corpus) -> None:
    for number, attention in enumerate(rows["attention"]):
        np.testing.assert_array_equal(np.float32(attention), corpus.weights(number, layer=1, head=0))


def test_vectors_are_those_of_the_store(rows: datasets.Dataset, corpus: Corpus) -> None:
    for role in ("query", "key"):
        vectors = np.concatenate([np.float32(row) for row in rows[role]])
        np.testing.assert_array_equal(vectors, getattr(corpus, role)[1, 0].values[corpus.rows].astype(np.float32))


def test_the_card_says_what_it_is_of(rows: datasets.Dataset, corpus: Corpus) -> None:
    assert corpus.snapshot in rows.info.description
    assert "What head L1 H0 of tiny-bert" in rows.info.description
    assert rows.info.license.startswith("Data: ")


def test_the_strongest_keys_stand_for_all_weights(tiny_store: str, corpus: Corpus, tmp_path: Path) -> None:
    rows = exported(tiny_store, tmp_path / "head", "--keys=3", "--sentences=4")
    assert (len(rows), "attention" in rows.column_names) == (4, False)
    for number, row in enumerate(rows):
        pattern = corpus.weights(number, layer=1, head=0)
        np.testing.assert_array_equal(np.float32(row["weights"]), -np.sort(-pattern, axis=1)[:, :3])
        np.testing.assert_array_equal(np.take_along_axis(pattern, np.array(row["keys"]), 1), row["weights"])


def test_without_text_there_are_no_tokens(tiny_store: str, tmp_path: Path) -> None:
    rows = exported(tiny_store, tmp_path / "head", "--no-text")
    assert rows.column_names == ["sentence", "label", "attention"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--layer=0"], "A data set is of one head. Give --layer and --head."),
        (["--layer=0", "--head=2"], "There is no head L0 H2. Choose one of L0 to L1 and H0 to H1."),
        (["--layer=-1", "--head=0"], "There is no head L-1 H0. Choose one of L0 to L1 and H0 to H1."),
    ],
)
def test_a_head_that_is_not_there_is_one_sentence(
    flags: list[str], sentence: str, tiny_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([tiny_store, f"--out={tmp_path / 'head'}", "--format=datasets", *flags]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"export: {sentence}")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []

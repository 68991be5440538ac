"""Antecedents that each head finds, against the reference of `tests.published.coreference`."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flask.testing import FlaskClient

import store
from dashboard.app import create_app
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store.repository.errors import NotIngested
from store.results import best_antecedent_head
from store.words import COREFERENCE
from tests.coreference import write_chains, write_gap
from tests.published.coreference import (
    count_chains,
    count_gap,
    gap_answers,
    halves,
    passages_of,
    stored_counts,
)

Ingest = Callable[..., str]
Mention = tuple[int, int, int]


@pytest.fixture(scope="module")
def chains(chains_store: str) -> Iterator[store.Corpus]:
    return store.open_corpus(chains_store)


@pytest.fixture(scope="module")
def gap(gap_store: str) -> Iterator[store.Corpus]:
    return store.open_corpus(gap_store)


def client_of(place: str) -> FlaskClient:
    return create_app(ServedStore(place)).server.test_client()


@pytest.mark.parametrize("half", [0, 1])
def test_found_antecedents_are_those_counted_one_by_one(chains: store.Corpus, tiny_model: Path, half: int) -> None:
    passages = passages_of(chains, tiny_model)
    counts, stored = count_chains(list(map(passages, halves(chains, half)))), stored_counts(chains, half)
    assert stored.mentions == counts.mentions
    # Stored keys and queries have 16 bits: of two almost equal weights either may be larger.
    np.testing.assert_allclose(stored.found, counts.found, atol=2)


def test_answers_of_gap_are_those_counted_one_by_one(gap: store.Corpus, tiny_model: Path) -> None:
    passages = passages_of(gap, tiny_model)
    counts, stored = count_gap(list(map(passages, halves(gap, 1)))), stored_counts(gap, 1)
    assert stored.mentions == counts.mentions
    np.testing.assert_allclose(stored.found, counts.found, atol=1)


def test_a_row_of_gap_is_answered_with_one_name(gap: store.Corpus, tmp_path: Path) -> None:
    answers = [line.split() for line in gap_answers(gap, write_gap(tmp_path / "gap.tsv"))]
    assert len(answers) == gap.n_sentences
    assert {tuple(sorted(names)) for _, *names in answers} == {("FALSE", "TRUE")}


def test_f1_of_gap_is_that_of_its_scorer(gap: store.Corpus) -> None:
    """True and false positives and negatives over both names of every row, as gap_scorer.py counts them."""
    coreference = gap.coreference.sel(gender="all").isel(half=1)
    right, named, answered = (
        int(coreference[name][0, 0] if name == "found" else coreference[name])
        for name in ("found", "mentions", "answered")
    )
    precision, recall = right / answered, right / named
    assert float(coreference.f1[0, 0]) == pytest.approx(2 * precision * recall / (precision + recall))


def test_kinds_of_mentions_are_parts_of_the_whole(chains: store.Corpus) -> None:
    counts = chains.coreference.mentions
    assert (counts.sel(kind="all") == counts.drop_sel(kind="all").sum("kind")).all()


def test_the_accuracy_is_within_its_interval(chains: store.Corpus) -> None:
    every = chains.coreference.sel(kind="all")
    low, high = every.interval.values
    accuracy = every.accuracy.values[1]
    assert ((low <= accuracy) & (accuracy <= high)).all()


def test_the_best_head_is_chosen_on_the_first_half(chains: store.Corpus) -> None:
    found = chains.coreference.found.sel(kind="all", candidates="mentions").values[0]
    assert found[best_antecedent_head(chains.coreference)] == found.max()


def test_ends_of_coreference_are_a_mention_and_an_antecedent(chains_store: str) -> None:
    answer = client_of(chains_store).post(
        "/data/page", data={"pathname": "/relations", "search": "?relation=coreference", "snapshot": ""}
    )
    assert "['bdi', {}, 'coreference'], '', ': mention attends most to antecedent" in str(answer.json)  # type: ignore[attr-defined]


def test_coreference_is_a_relation_of_its_corpus(chains: store.Corpus) -> None:
    pairs = chains.words.find_pairs(COREFERENCE)
    texts = [chains.words.texts(rows) for rows in (pairs.source, pairs.target)]
    assert texts[0] == texts[1]
    assert COREFERENCE in chains.relations.relation.values


def test_pronouns_of_gap_are_linked_to_their_names(gap: store.Corpus) -> None:
    pairs = gap.words.find_pairs(COREFERENCE)
    assert set(gap.words.texts(pairs.source)) == {"he", "her"}


def test_a_corpus_without_mentions_says_how_to_get_coreference(bank_store: str) -> None:
    corpus = store.open_corpus(bank_store)
    assert corpus.words.mentions is None
    with pytest.raises(NotIngested, match="Coreference: not computed"):
        _ = corpus.coreference


def test_a_second_ingest_has_nothing_to_do(
    chains_store: str, ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_chains(tmp_path / "chains.conll")
    ingest(Path(chains_store), data=data, annotate="auto")  # records the new path of the data
    capsys.readouterr()
    ingest(Path(chains_store), data=data, annotate="auto")
    assert "Nothing to do" in capsys.readouterr().out


@pytest.mark.heavy
@pytest.mark.parametrize("of", ["chains", "gap"])
def test_the_page_names_the_source_of_the_words_and_of_the_coreference(of: str, request: pytest.FixtureRequest) -> None:
    client = client_of(request.getfixturevalue(f"{of}_store"))
    answer = client.post("/data/page", data={"pathname": "/relations", "search": "", "snapshot": ""})
    page = str(answer.json["above"])  # type: ignore[index]
    assert "Gold coreference of the data; words and head words: silver annotation" in page


def test_the_file_has_a_line_for_each_row_and_gender(gap_store: str) -> None:
    file = client_of(gap_store).get(f"{data_link(store.open_corpus(gap_store))}/coreference.csv")
    assert len(pd.read_csv(io.BytesIO(file.data), comment="#")) == 4 * 3

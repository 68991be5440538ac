"""Antecedents that each head finds, against transformers' attentions, spaCy's head words, and counts one by one."""

import io
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from flask.testing import FlaskClient
from spacy import load
from spacy.tokens import Doc
from transformers import AutoModel, AutoTokenizer

import store
from dashboard.app import create_app
from dashboard.web.http import data_link
from dashboard.web.library import Library
from ingest.words.pipelines import ENGLISH
from store.antecedents import best_antecedent_head
from store.repository.errors import NotIngested
from store.words import COREFERENCE
from tests.coreference import write_chains

Ingest = Callable[..., str]
Mention = tuple[int, int, int]


@pytest.fixture(scope="module")
def chains(chains_store: str) -> Iterator[store.Corpus]:
    return store.open_corpus(chains_store)


@pytest.fixture(scope="module")
def gap(gap_store: str) -> Iterator[store.Corpus]:
    return store.open_corpus(gap_store)


@pytest.fixture(scope="module")
def weights(tiny_model: Path) -> Callable[[str], tuple[Doc, np.ndarray]]:
    """Words of a text by spaCy, and the attention between them by transformers: (layer, head, word, word)."""
    bert = AutoModel.from_pretrained(tiny_model, attn_implementation="eager").double().eval()
    tokenizer, pipeline = AutoTokenizer.from_pretrained(tiny_model), load(ENGLISH)

    @cache
    def of_text(text: str) -> tuple[Doc, np.ndarray]:
        encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True, truncation=True, max_length=128)
        offsets = encoded.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            attention = torch.stack(bert(**encoded, output_attentions=True).attentions)[:, 0].numpy()
        doc = pipeline(text)
        words = np.zeros((*attention.shape[:2], len(doc), len(doc)))
        pieces = [
            [place for place, (start, stop) in enumerate(offsets) if start < word.idx + len(word) and stop > word.idx]
            for word in doc
        ]
        for query, rows in enumerate(pieces):
            for key, columns in enumerate(pieces):
                words[:, :, query, key] = attention[:, :, rows][..., columns].sum(axis=-1).mean(axis=-1)
        return doc, words

    return of_text


def client_of(place: str) -> FlaskClient:
    return create_app(Library(place)).server.test_client()


def mentions_of(corpus: store.Corpus, sentence: int) -> list[Mention]:
    """First character, end and entity of the stored mentions of a sentence."""
    table = corpus.words.mentions.table  # type: ignore[union-attr]
    rows = np.flatnonzero(table.sentence.values == sentence)
    return [tuple(int(table[name][row]) for name in ("character_start", "character_stop", "entity")) for row in rows]  # type: ignore[misc]


def root(doc: Doc, mention: Mention) -> int:
    span = doc.char_span(mention[0], mention[1])
    assert span is not None
    return int(span.root.i)


def chains_by_hand(
    corpus: store.Corpus, weights: Callable[[str], tuple[Doc, np.ndarray]], half: int
) -> tuple[int, np.ndarray]:
    """Mentions with an antecedent in a half, and those whose antecedent a head finds among mentions, and among words."""
    count, found = 0, np.zeros((2, corpus.layers, corpus.heads), int)
    for sentence in range(half, corpus.n_sentences, 2):
        doc, attention = weights(str(corpus.sentences.text.values[sentence]))
        heads = [(root(doc, mention), mention[2]) for mention in mentions_of(corpus, sentence)]
        for own, entity in heads:
            right = {word for word, other in heads if word < own and other == entity}
            before = sorted({word for word, _ in heads if word < own})
            if not right:
                continue
            count += 1
            for layer in range(corpus.layers):
                for head in range(corpus.heads):
                    row = attention[layer, head, own].copy()
                    found[0, layer, head] += before[int(row[before].argmax())] in right
                    row[own] = -1
                    found[1, layer, head] += int(row.argmax()) in right
    return count, found


@pytest.mark.parametrize("half", [0, 1])
def test_found_antecedents_are_those_counted_one_by_one(
    chains: store.Corpus, weights: Callable[[str], tuple[Doc, np.ndarray]], half: int
) -> None:
    count, found = chains_by_hand(chains, weights, half)
    every = chains.coreference.sel(kind="all")
    assert int(every.mentions[half]) == count
    # Stored keys and queries have 16 bits: of two almost equal weights either may be larger.
    np.testing.assert_allclose(every.found.values[half], found, atol=2)


def test_answers_of_gap_are_those_counted_one_by_one(
    gap: store.Corpus, weights: Callable[[str], tuple[Doc, np.ndarray]]
) -> None:
    found = np.zeros((gap.layers, gap.heads), int)
    for sentence in range(1, gap.n_sentences, 2):
        doc, attention = weights(str(gap.sentences.text.values[sentence]))
        pronoun, *names = mentions_of(gap, sentence)
        two = attention[:, :, root(doc, pronoun), [root(doc, name) for name in names]]
        found += np.array([name[2] == pronoun[2] for name in names])[two.argmax(axis=-1)]
    np.testing.assert_allclose(gap.coreference.found.sel(gender="all").values[1], found, atol=1)


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
    assert "coreference: mention attends most to antecedent" in str(answer.json)  # type: ignore[attr-defined]


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
    capsys.readouterr()
    ingest(Path(chains_store), data=write_chains(tmp_path / "chains.conll"), annotate="auto")
    assert "Nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("of", ["chains", "gap"])
def test_the_page_names_the_source_of_the_words_and_of_the_coreference(of: str, request: pytest.FixtureRequest) -> None:
    client = client_of(request.getfixturevalue(f"{of}_store"))
    answer = client.post("/data/page", data={"pathname": "/relations", "search": "", "snapshot": ""})
    page = str(answer.json["above"])  # type: ignore[index]
    assert "Gold coreference of the data; words and head words: silver annotation" in page


def test_the_file_has_a_line_for_each_row_and_gender(gap_store: str) -> None:
    file = client_of(gap_store).get(f"{data_link(store.open_corpus(gap_store))}/coreference.csv")
    assert len(pd.read_csv(io.BytesIO(file.data), comment="#")) == 4 * 3

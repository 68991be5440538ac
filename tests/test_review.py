"""The review around a sentence: read from the data of the corpus, or else from the stored sentences."""

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from plotly.utils import PlotlyJSONEncoder

from dashboard.sentence.review import Neighbour, Surroundings, has_review, review_panel, surroundings
from dashboard.sentence.review_reader import Found, found_in_data, read_review
from dashboard.web.state import LinkState
from store import Corpus, open_corpus

SENTENCE = 3


@pytest.fixture
def own_corpus(tiny_store: str) -> Corpus:
    """A corpus that a test may change."""
    return open_corpus(tiny_store)


def with_data(corpus: Corpus, **changes: object) -> Corpus:
    """The corpus with other facts of its data."""
    provenance = corpus.attributes["provenance"]
    data = {**provenance["data"], **changes}
    corpus.attributes = {**corpus.attributes, "provenance": {**provenance, "data": data}}
    return corpus


def question(corpus: Corpus, document: int) -> dict[str, Any]:
    provenance, facts = corpus.attributes["provenance"], corpus.corpus_attributes
    settings = provenance["settings"]
    return {
        "data": provenance["data"],
        "document": document,
        "text": settings["text"],
        "label": settings["label"],
        "splitter": facts["splitter"],
        "seed": facts["seed"],
    }


def test_a_review_has_its_sentences_as_the_ingest_split_them(tiny_corpus: Corpus) -> None:
    found = found_in_data(question(tiny_corpus, int(tiny_corpus.counted_documents[SENTENCE])))
    hashes = tiny_corpus.sentences.sentence_hash.values
    assert tiny_corpus.counted_text(SENTENCE) in found.texts
    assert int(hashes[SENTENCE]) in found.hashes


def test_the_sentences_around_one_come_in_the_order_of_the_review(tiny_corpus: Corpus) -> None:
    around = surroundings(tiny_corpus, SENTENCE)
    found = found_in_data(question(tiny_corpus, int(tiny_corpus.counted_documents[SENTENCE])))
    assert [each.text for each in around.neighbours] == list(found.texts)
    stored = {each.sentence: each.text for each in around.neighbours if each.sentence is not None}
    assert SENTENCE in stored
    assert stored == {number: tiny_corpus.counted_text(number) for number in stored}


def test_a_sentence_is_found_by_its_hash(tiny_corpus: Corpus) -> None:
    hashes = tiny_corpus.sentences.sentence_hash.values
    assert [tiny_corpus.sentence_of_hash(int(each)) for each in hashes] == list(range(tiny_corpus.n_sentences))
    assert tiny_corpus.sentence_of_hash(int(hashes[0]) + 1) is None
    assert tiny_corpus.sentence_of_hash(2**64 - 1) is None


def test_without_the_data_there_are_the_sentences_of_the_store(own_corpus: Corpus) -> None:
    around = surroundings(with_data(own_corpus, place="/nowhere.csv", identity="0" * 64), SENTENCE)
    documents = own_corpus.counted_documents
    own = np.flatnonzero(documents == documents[SENTENCE]).tolist()
    assert [each.sentence for each in around.neighbours] == own
    assert around.missing == "The data of the store cannot be read on this server. Put it back to see the whole review."


@pytest.mark.parametrize(
    ("changes", "said"), [({"identity": "hub:imdb@0"}, "is on the hub"), ({"place": None}, "cannot be read")]
)
def test_data_that_no_page_reads_is_said_with_what_to_do(
    own_corpus: Corpus, changes: Mapping[str, object], said: str
) -> None:
    found = read_review(with_data(own_corpus, **changes), 0)
    assert (found.texts, said in found.missing) == ((), True)


def test_a_store_of_before_does_not_know_its_data(own_corpus: Corpus) -> None:
    own_corpus.attributes = {**own_corpus.attributes, "provenance": {}}
    assert read_review(own_corpus, 0) == Found(missing=read_review(own_corpus, 1).missing)


def written(content: object) -> str:
    return json.dumps(content, cls=PlotlyJSONEncoder, ensure_ascii=False)


AROUND = Surroundings((Neighbour("It began.", None), Neighbour("It was good.", 3), Neighbour("It ended.", 7)))


def test_the_shown_sentence_is_emphasised_and_the_others_are_links() -> None:
    panel = written(review_panel(LinkState("sentence", sentence=3, layer=1, around="1"), AROUND))
    assert re.findall(r'"children": "([^"]*)"[^{}]*}, "type": "Mark"', panel) == ["It was good."]
    assert re.findall(r'"href": "([^"]*)"', panel) == [
        "/sentence?layer=1&text=It+began.&words=1",
        "/sentence?layer=1&sentence=7&around=1",
    ]
    assert "2 of 3 sentences of this review are in the store." in panel


def test_sentences_of_a_treebank_and_typed_ones_are_of_no_review(own_corpus: Corpus) -> None:
    state = LinkState("sentence", sentence=3)
    assert has_review(own_corpus, state)
    assert not has_review(own_corpus, state.with_(text="It was good."))
    own_corpus.corpus_attributes = {**own_corpus.corpus_attributes, "splitter": "none: the sentences of the treebank"}
    assert not has_review(own_corpus, state)

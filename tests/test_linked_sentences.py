"""Sentences in which a head makes most links of a kind, against patterns of single sentences."""

from collections import Counter

import numpy as np
import pytest
from flask.testing import FlaskClient

import store
from dashboard.relations.linked_sentences import (
    LISTED,
    CommonKind,
    Kind,
    NamedKind,
    WordPair,
    common_kind,
    linked_sentences,
)
from store.kernels.relations import DIRECTIONS
from tests.client import above

Links = dict[int, set[tuple[int, int]]]
KINDS = [
    CommonKind("ADJ", "NOUN", True, "amod", True),
    CommonKind("NOUN", "DET", True, "det", False),
    CommonKind("DET", "NOUN", True),
]


def most(corpus: store.Corpus, sentence: int, layer: int, head: int) -> tuple[np.ndarray, np.ndarray]:
    """For each word: the word that it attends to most, and the word that attends to it most."""
    pattern = corpus.word_pattern(sentence, layer=layer, head=head).values.copy()
    np.fill_diagonal(pattern, -1)
    return pattern.argmax(axis=1), pattern.argmax(axis=0)


def named_links(corpus: store.Corpus, relation: str, direction: str, layer: int, head: int) -> Links:
    links: Links = {}
    for sentence in range(corpus.n_sentences):
        attended, attending = most(corpus, sentence, layer, head)
        table = corpus.words.table.isel(word=corpus.words.rows(sentence))
        names = [corpus.words.names("relation")[code] for code in table.relation.values]
        for word, governor in enumerate(table.governor.values.tolist()):
            linked = {
                "forward": attended[word] == governor,
                "backward": governor >= 0 and attended[governor] == word,
                "received": attending[word] == governor,
            }
            if names[word] == relation and linked[direction]:
                links.setdefault(sentence, set()).add((word, governor))
    return links


def common_links(corpus: store.Corpus, kind: CommonKind, layer: int, head: int) -> Links:
    links: Links = {}
    for sentence in range(corpus.n_sentences):
        attended, _ = most(corpus, sentence, layer, head)
        table = corpus.words.table.isel(word=corpus.words.rows(sentence))
        parts = [corpus.words.names("part_of_speech")[code] for code in table.part_of_speech.values]
        governor = table.governor.values
        for word, other in enumerate(attended.tolist()):
            joined = not kind.joined or governor[word] == other or governor[other] == word
            if (parts[word], parts[other]) == (kind.first, kind.last) and joined:
                links.setdefault(sentence, set()).add((word, other))
    return links


def check(corpus: store.Corpus, kind: Kind, expected: Links) -> None:
    found = linked_sentences(corpus, kind, 1, 1)
    counts = Counter({sentence: len(links) for sentence, links in expected.items()})
    assert found.links == counts.total() > 0
    assert found.sentences == len(expected)
    assert len(found.rows) == min(len(expected), LISTED)
    assert {row.sentence: set(row.links) for row in found.rows} == {
        row.sentence: expected[row.sentence] for row in found.rows
    }
    numbers = [len(row.links) for row in found.rows]
    assert numbers == sorted(counts.values(), reverse=True)[: len(numbers)]
    assert [(-len(row.links), row.pairs) for row in found.rows] == sorted(
        (-len(row.links), row.pairs) for row in found.rows
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_links_of_a_relation_are_those_of_the_patterns(direction: str, bank_corpus: store.Corpus) -> None:
    check(bank_corpus, NamedKind("det", direction), named_links(bank_corpus, "det", direction, 1, 1))


@pytest.mark.parametrize("kind", [*KINDS, CommonKind("NOUN", "NOUN", False)], ids=str)
def test_links_like_marked_pairs_are_those_of_the_patterns(kind: CommonKind, bank_corpus: store.Corpus) -> None:
    check(bank_corpus, kind, common_links(bank_corpus, kind, 1, 1))


def test_all_pairs_of_a_relation_can_be_linked(bank_corpus: store.Corpus) -> None:
    found = linked_sentences(bank_corpus, NamedKind("det", "forward"), 0, 0)
    assert found.pairs == len(bank_corpus.words.relations["det"].source)


def pair(corpus: store.Corpus, relation: str, *, number: int = 0, up: bool = True) -> WordPair:
    pairs = corpus.words.relations[relation]
    ends = int(pairs.source[number]), int(pairs.target[number])
    return WordPair(*(ends if up else ends[::-1]))


@pytest.mark.parametrize("up", [True, False])
def test_pairs_of_one_relation_have_it_in_common(up: bool, bank_corpus: store.Corpus) -> None:
    pairs = [pair(bank_corpus, "det", number=number, up=up) for number in range(3)]
    ends = ("DET", "NOUN") if up else ("NOUN", "DET")
    assert common_kind(bank_corpus.words, pairs) == CommonKind(*ends, True, "det", up)


def test_pairs_of_two_relations_have_only_a_dependency_in_common(bank_corpus: store.Corpus) -> None:
    pairs = [pair(bank_corpus, "det"), pair(bank_corpus, "amod")]
    assert common_kind(bank_corpus.words, pairs) == CommonKind("*", "NOUN", True)


def test_words_that_no_dependency_joins_have_parts_of_speech_in_common(bank_corpus: store.Corpus) -> None:
    first = bank_corpus.words.relations["nsubj"].source[0]
    second = bank_corpus.words.relations["obj"].source[0]
    assert common_kind(bank_corpus.words, [WordPair(int(first), int(second))]) == CommonKind("NOUN", "NOUN", False)


def test_a_relation_from_either_side_is_not_the_same_one(bank_corpus: store.Corpus) -> None:
    pairs = [pair(bank_corpus, "det"), pair(bank_corpus, "det", up=False)]
    kind = common_kind(bank_corpus.words, pairs)
    assert kind == CommonKind("*", "*", True, up=None)
    assert kind.says_something


def test_first_words_of_one_kind_that_attend_to_any_word_say_nothing() -> None:
    assert [CommonKind(*ends, False).says_something for ends in (("NOUN", "*"), ("*", "NOUN"))] == [False, True]
    assert CommonKind("NOUN", "*", True).says_something


def test_a_head_without_links_lists_no_sentence(bank_client: FlaskClient, bank_corpus: store.Corpus) -> None:
    assert linked_sentences(bank_corpus, NamedKind("NOUN -> VERB", "forward"), 1, 1).rows == ()
    page = above(bank_client, "/relations", "?relation=NOUN+->+VERB&examples=chosen&layer=1&head=1")
    assert "L1 H1 makes no such link in the corpus" in page

"""The tokens most similar to a clicked one, and their common features, against counts one by one."""

from collections import Counter

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.points.similar import END, NONE, SUMMARIZED, Point, Shares, next_word, similar_tokens, word_shares
from dashboard.web.results import BUDGET, Cache
from store import Corpus
from store.repository.errors import NotIngested
from tests.client import shown


def beside(client: FlaskClient, pathname: str, search: str) -> str:
    return shown(client, "beside", pathname, search)


@pytest.mark.parametrize("role", ["query", "key"])
def test_similar_tokens_have_the_largest_cosines(role: str, tiny_corpus: Corpus) -> None:
    vectors = getattr(tiny_corpus, role)[1, 0].values[tiny_corpus.rows].astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors[40]
    cosines[40] = -1
    found = Cache(BUDGET).run(similar_tokens, tiny_corpus, Point(1, 0, role, 40))
    np.testing.assert_allclose(found.cosines, np.sort(cosines)[::-1][:SUMMARIZED], atol=1e-5)
    np.testing.assert_allclose(found.cosines, cosines[found.tokens], atol=1e-5)
    assert 40 not in found.tokens


def test_a_token_beyond_those_searched_has_similar_ones_among_them(tiny_corpus: Corpus) -> None:
    found = Cache(BUDGET).run(similar_tokens, tiny_corpus, Point(1, 0, "query", 40), most=30)
    assert found.searched == 30
    assert found.tokens.max() < 30


def test_the_next_word_is_spelled_by_its_wordpieces(tiny_corpus: Corpus) -> None:
    tokens = tiny_corpus.tokens
    for sentence in range(tiny_corpus.n_sentences):
        rows = tiny_corpus.sentence_rows(sentence)
        words: dict[int, str] = {}
        for row, piece in zip(range(rows.start, rows.stop), tiny_corpus.wordpieces(rows), strict=True):
            word = int(tokens.word_index.values[row])
            words[word] = words.get(word, "") + piece.removeprefix("##")
        for row in range(rows.start, rows.stop - 1):
            expected = words.get(int(tokens.word_index.values[row]) + 1, END)
            assert next_word(tokens, tiny_corpus.piece_texts, row) == expected
        assert next_word(tokens, tiny_corpus.piece_texts, rows.stop - 1) == END


def test_categories_are_those_of_the_words(bank_corpus: Corpus) -> None:
    words = np.array([*range(7), -1])
    parts, relations = word_shares(bank_corpus, words)
    table, names = bank_corpus.words.table, bank_corpus.words.names
    for shares, category in ((parts, "part_of_speech"), (relations, "relation")):
        expected = Counter(names(category)[code] for code in table[category].values[:7])
        assert dict(shares.counts) == dict(expected) | {NONE: 1}
        assert shares.of == 8
    assert parts.title == "part of speech (gold)"


def test_there_are_no_categories_without_annotation(tiny_corpus: Corpus) -> None:
    with pytest.raises(NotIngested):
        word_shares(tiny_corpus, np.array([-1]))


def test_the_most_frequent_value_comes_first() -> None:
    assert Shares.among("a", "xyyzyz").counts == (("y", 3), ("z", 2), ("x", 1))


def test_the_tab_of_a_point_summarizes_similar_tokens(bank_client: FlaskClient) -> None:
    page = beside(bank_client, "/head", "?layer=1&head=0&token=9")
    for text in (
        "Most similar queries in the corpus",
        "part of speech (gold)",
        "dependency (gold)",
        "next word",
        "of 50",
    ):
        assert text in page


def test_without_words_the_tab_says_how_to_get_them(client: FlaskClient) -> None:
    page = beside(client, "/head", "?layer=1&head=0&token=9&role=key")
    assert "Most similar keys in the corpus" in page
    assert "next word" in page
    assert "part of speech" not in page
    assert "Words: not annotated. Run ', ['code', {}, 'headscape ingest']" in page


def test_a_feature_point_summarizes_the_nearest_tokens(client: FlaskClient) -> None:
    page = beside(client, "/features", "?point=L01.mixed&ftoken=9")
    assert "what the first 50 have in common" in page
    assert "next word" in page


def test_tokens_of_a_whole_review_have_next_words_alone(client: FlaskClient) -> None:
    page = beside(client, "/features", "?material=review-3&point=L01.mixed&ftoken=3")
    assert "next word" in page
    assert "not annotated" not in page

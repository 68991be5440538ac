"""Searches in a corpus, against Python's own."""

from dataclasses import replace

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.points.search import folded, hit_table, hits, matching_tokens, texts, tokens_of_phrase
from dashboard.web.results import BUDGET, Cache
from dashboard.web.state import LinkState, Within
from store import Corpus
from tests.client import above

#: Key of the result of `texts` in a cache.
TEXTS_KEY = (texts.__wrapped__, (), ())


def tokens_of(corpus: Corpus, q: str, within: Within) -> list[int]:
    return [int(token) for token in matching_tokens(corpus, q, within).nonzero()[0]]


def pieces_of(corpus: Corpus) -> list[str]:
    return corpus.wordpieces(corpus.rows)


@pytest.mark.parametrize("q", ["film", "FILM", " film ", "##a", "[CLS]", "[sep]", ".", "z"])
def test_a_token_is_the_whole_wordpiece_in_any_case(tiny_corpus: Corpus, q: str) -> None:
    sought = q.strip().lower()
    expected = [token for token, piece in enumerate(pieces_of(tiny_corpus)) if piece.lower() == sought]
    assert tokens_of(tiny_corpus, q, "token") == expected
    assert expected


@pytest.mark.parametrize("q", ["a", "wa", "##", "[", "M"])
def test_a_prefix_is_how_the_wordpiece_starts(tiny_corpus: Corpus, q: str) -> None:
    expected = [t for t, piece in enumerate(pieces_of(tiny_corpus)) if piece.lower().startswith(q.lower())]
    assert tokens_of(tiny_corpus, q, "prefix") == expected
    assert expected


def words_with(corpus: Corpus, q: str) -> list[int]:
    """Tokens of the words that an occurrence of `q` touches, sentence by sentence and letter by letter."""
    tokens, start = [], 0
    for sentence in range(corpus.n_sentences):
        rows = corpus.sentence_rows(sentence)
        text = str(corpus.sentences.text.values[sentence]).lower()
        touched = {at + step for at in range(len(text)) if text.startswith(q, at) for step in range(len(q))}
        ends, word, words = 0, -1, set()
        for place, letter in enumerate(text):
            starts = letter in ".!?" or (letter != " " and (place == 0 or text[place - 1] in " .!?"))
            word += starts
            words |= {word} & ({word} if place in touched and letter != " " else set())
        ends = rows.stop - rows.start
        index = corpus.tokens.word_index.values[rows]
        tokens += [start + place for place in range(ends) if index[place] in words]
        start += ends
    return tokens


@pytest.mark.parametrize("q", ["film was", "ood", "the", "d.", "a", "very", "e a"])
def test_a_phrase_selects_the_words_it_touches(tiny_corpus: Corpus, q: str) -> None:
    assert texts(tiny_corpus).agrees.all()
    assert tokens_of(tiny_corpus, q, "phrase") == words_with(tiny_corpus, q)


def test_white_space_and_case_of_a_phrase_do_not_matter(tiny_corpus: Corpus) -> None:
    assert tokens_of(tiny_corpus, "  FILM \t was ", "phrase") == tokens_of(tiny_corpus, "film was", "phrase")


def test_where_words_cannot_be_distinguished_the_whole_sentence_is_selected(tiny_corpus: Corpus) -> None:
    own = texts(tiny_corpus)
    sentence, word_index = (
        tiny_corpus.tokens[name].values[tiny_corpus.rows] for name in ("sentence_index", "word_index")
    )
    found = tokens_of_phrase(replace(own, agrees=~own.agrees), sentence, word_index, "rea")
    sentences = [s for s, text in enumerate(tiny_corpus.sentences.text.values) if "rea" in text.lower()]
    expected = [
        t for t, row in enumerate(tiny_corpus.rows) if tiny_corpus.tokens.sentence_index.values[row] in sentences
    ]
    assert found.nonzero()[0].tolist() == expected
    assert expected


@pytest.mark.parametrize("within", ["token", "prefix", "phrase", "lemma"])
@pytest.mark.parametrize("q", ["", "  ", "\x00", "nowhere to be found", "\n", "İ", "(?"])
def test_nothing_is_found_where_nothing_is(tiny_corpus: Corpus, q: str, within: Within) -> None:
    assert hits(tiny_corpus, q, within).rows == ()


@pytest.mark.parametrize("q", ["film", " FILM ", "loved", "."])
def test_a_lemma_selects_the_wordpieces_of_its_words(q: str, bank_corpus: Corpus) -> None:
    words, expected = bank_corpus.words, []
    for sentence in range(bank_corpus.n_sentences):
        table = words.table.isel(word=words.rows(sentence))
        first = int(np.searchsorted(bank_corpus.rows, bank_corpus.sentence_rows(sentence).start))
        for lemma, start, stop in zip(
            table.lemma.values, table.token_start.values, table.token_stop.values, strict=True
        ):
            if words.lemma_names[lemma] == q.strip().lower():
                expected += range(first + start, first + stop)
    assert tokens_of(bank_corpus, q, "lemma") == sorted(expected)
    assert expected


def test_a_corpus_without_words_has_no_lemmas(tiny_corpus: Corpus, client: FlaskClient) -> None:
    assert tokens_of(tiny_corpus, "film", "lemma") == []
    page = client.post("/data/page", data={"pathname": "/head", "search": "?q=film&within=lemma", "snapshot": ""}).json
    assert str(page).count("Ignored an invalid parameter: within=lemma") == 1
    assert "'label': 'lemma'" not in str(page)


def test_a_lemma_can_be_chosen_where_words_are_annotated(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/head", "?q=film&within=lemma")
    assert "'label': 'lemma'" in page
    assert "The search finds" in page


def test_a_whole_review_has_no_lemmas(client: FlaskClient) -> None:
    search = "?material=review-3&q=film&within=lemma"
    page = client.post("/data/page", data={"pathname": "/features", "search": search, "snapshot": ""}).json
    assert str(page).count("Ignored an invalid parameter: within=lemma") == 1


def test_hits_count_the_whole_corpus_and_show_the_first(tiny_corpus: Corpus) -> None:
    shown = hits(tiny_corpus, "a", "prefix", limit=3)
    tokens = tokens_of(tiny_corpus, "a", "prefix")
    sentences = {int(tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows[token]]) for token in tokens}
    assert (shown.tokens, shown.sentences) == (len(tokens), len(sentences))
    assert [row.sentence for row in shown.rows] == sorted(sentences)[:3]


def test_a_hit_names_its_token_and_marks_its_words(tiny_corpus: Corpus) -> None:
    row = hits(tiny_corpus, "film", "token").rows[0]
    assert tiny_corpus.wordpieces(tiny_corpus.rows[[row.token]]) == ["film"]
    assert "".join(part for part, _ in row.parts) == str(tiny_corpus.sentences.text.values[row.sentence])
    assert {part.lower() for part, marked in row.parts if marked} == {"film"}
    assert row.label in ("negative", "positive")


def test_a_phrase_is_marked_letter_by_letter(tiny_corpus: Corpus) -> None:
    row = hits(tiny_corpus, "ea", "phrase").rows[0]
    assert {part.lower() for part, marked in row.parts if marked} == {"ea"}


@pytest.mark.parametrize("text", ["Straße İstanbul", "ΑΣ", "ﬁn"])
def test_lower_case_keeps_the_length(text: str) -> None:
    assert len(folded(text)) == len(text)


def test_sentences_with_a_wordpiece_are_shown_without_the_text_of_all_others(tiny_corpus: Corpus) -> None:
    cache = Cache(BUDGET)
    found = cache.run(hits, tiny_corpus, "film", "token")
    assert cache.find(tiny_corpus, TEXTS_KEY) is None
    cache.run(texts, tiny_corpus)
    assert cache.find(tiny_corpus, TEXTS_KEY) is not None
    assert any(marked for row in found.rows for _, marked in row.parts)


def test_a_match_is_opened_in_its_head_without_the_pairs_marked_in_another_sentence(tiny_corpus: Corpus) -> None:
    state = LinkState("head").with_(token=1, marks="1-2")
    table = str(hit_table(tiny_corpus, state, "film", hits(tiny_corpus, "film", "token")))
    assert "tab=point" in table
    assert "marks=" not in table

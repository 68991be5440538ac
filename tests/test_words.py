"""Words of a corpus, the pattern between them, and which word each attends to most."""

from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import store
from dashboard.points.head_tokens import HeadTokens, columns
from dashboard.points.point_set import values
from store.kernels.attention import merge_words
from store.kernels.relations import strongest_words, word_pattern, word_tokens
from store.repository.errors import NotIngested, StoreError
from tests.published.reference import without_own

# -- kernels --------------------------------------------------------------------------------------


def test_word_patterns_of_a_batch_are_those_of_its_sentences() -> None:
    random = np.random.default_rng(0)
    pattern = random.dirichlet(np.ones(6), size=(2, 1, 6)).astype(np.float32)
    groups = [(1,), (2, 3), (3, 4)]
    start, stop = (np.array([[group[end] for group in groups]]) for end in (0, -1))
    found = word_pattern(pattern, word_tokens(start, stop + 1, 6))[:, 0]
    np.testing.assert_allclose(found, merge_words(pattern, groups, groups)[:, 0], rtol=1e-6)


def test_the_strongest_words_of_a_sentence_by_hand() -> None:
    pattern = np.array([[[[0.9, 0.05, 0.05], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1]]]], np.float32)
    found = strongest_words(pattern, np.ones((1, 3), bool))
    assert found.most_attended.tolist() == [[[1, 0, 1]]]
    assert found.most_attending.tolist() == [[[2, 2, 1]]]


def test_a_word_alone_has_no_strongest() -> None:
    found = strongest_words(np.ones((1, 1, 1, 1), np.float32), np.ones((1, 1), bool))
    assert found.most_attended.tolist() == found.most_attending.tolist() == [[[-1]]]


def test_a_word_that_no_other_gives_attention_has_no_strongest() -> None:
    pattern = np.array([[[[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.3, 0.6, 0.1]]]], np.float32)
    found = strongest_words(pattern, np.ones((1, 3), bool))
    assert found.most_attended.tolist() == [[[-1, 0, 1]]]
    assert found.most_attending.tolist() == [[[1, 2, -1]]]


def test_padding_is_never_strongest() -> None:
    pattern = np.array([[[[0.0, 0.1, 0.9], [0.1, 0.0, 0.9], [0.9, 0.9, 0.0]]]], np.float32)
    found = strongest_words(pattern, np.array([[True, True, False]]))
    assert found.most_attended.tolist() == found.most_attending.tolist() == [[[1, 0, -1]]]


@given(words=st.integers(2, 7), seed=st.integers(0, 99))
def test_the_strongest_word_is_never_the_word_itself(words: int, seed: int) -> None:
    pattern = np.random.default_rng(seed).random((3, 2, words, words), np.float32)
    for found in strongest_words(pattern, np.ones((2, words), bool)):
        assert (found != np.arange(words)).all()
        assert ((found >= 0) & (found < words)).all()


# -- the store ------------------------------------------------------------------------------------


def test_words_are_those_of_the_treebank(bank_corpus: store.Corpus) -> None:
    spelled = [bank_corpus.words.texts(bank_corpus.words.rows(sentence)) for sentence in range(bank_corpus.n_sentences)]
    texts = ["".join(text.split()) for text in bank_corpus.sentences.text.values]
    assert ["".join(words) for words in spelled] == texts


def test_annotation_of_the_data_is_called_gold(bank_corpus: store.Corpus) -> None:
    assert (bank_corpus.words.kind, bank_corpus.words.source) == ("gold", "gold annotation of the data")


def test_wordpieces_of_a_word_spell_it(bank_corpus: store.Corpus) -> None:
    for sentence in range(bank_corpus.n_sentences):
        rows, start = bank_corpus.words.rows(sentence), bank_corpus.sentence_rows(sentence).start
        table = bank_corpus.words.table.isel(word=rows)
        bounds = zip(table.token_start.values, table.token_stop.values, strict=True)
        pieces = ["".join(bank_corpus.wordpieces(slice(start + a, start + b))).replace("##", "") for a, b in bounds]
        words = bank_corpus.words.texts(rows)
        assert [piece for piece in pieces if "[UNK]" not in piece] == [
            word.lower() for word, piece in zip(words, pieces, strict=True) if "[UNK]" not in piece
        ]


def test_the_strongest_words_are_those_of_the_word_pattern(bank_corpus: store.Corpus) -> None:
    stored = bank_corpus.strongest_words
    for sentence in range(bank_corpus.n_sentences):
        rows = bank_corpus.words.rows(sentence)
        pattern = without_own(bank_corpus.word_pattern(sentence).values)
        np.testing.assert_array_equal(stored.most_attended.isel(word=rows), pattern.argmax(axis=-1))
        np.testing.assert_array_equal(stored.most_attending.isel(word=rows), pattern.argmax(axis=-2))


def test_a_row_of_a_word_pattern_is_what_special_tokens_leave(bank_corpus: store.Corpus) -> None:
    pattern, words = bank_corpus.pattern(0), bank_corpus.word_pattern(0)
    left = 1 - pattern[..., [0, -1]].sum("key_token")
    bounds = bank_corpus.words.table.isel(word=bank_corpus.words.rows(0))
    expected = [
        left[..., int(a) : int(b)].mean("query_token")
        for a, b in zip(bounds.token_start, bounds.token_stop, strict=True)
    ]
    np.testing.assert_allclose(words.sum("key_word"), np.stack(expected, axis=-1), rtol=1e-5)


def test_a_label_names_its_pairs(bank_corpus: store.Corpus) -> None:
    pairs = bank_corpus.words.find_pairs("det")
    assert set(bank_corpus.words.texts(pairs.source)) <= {"the", "a", "The", "A"}
    assert (np.abs(pairs.source - pairs.target) < 10).all()


def test_a_pattern_joins_a_dependent_and_its_governor_both_ways(bank_corpus: store.Corpus) -> None:
    up, down = bank_corpus.words.find_pairs("DET -> NOUN"), bank_corpus.words.find_pairs("NOUN -> DET")
    assert sorted(zip(up.source, up.target, strict=True)) == sorted(zip(down.target, down.source, strict=True))
    assert len(up.source)


def test_a_star_stands_for_any_word(bank_corpus: store.Corpus) -> None:
    words = bank_corpus.words
    assert len(words.find_pairs("* -> *").source) == 2 * len(words.dependencies.source)


def test_a_lemma_is_an_end_of_a_pattern(bank_corpus: store.Corpus) -> None:
    pairs = bank_corpus.words.find_pairs("the -> *")
    assert {word.lower() for word in bank_corpus.words.texts(pairs.source)} == {"the"}


def test_punctuation_and_roots_are_in_no_pair(bank_corpus: store.Corpus) -> None:
    assert not {"punct", "root"} & set(bank_corpus.words.relations)


@pytest.mark.parametrize("pattern", ["nothing", "", "-> NOUN", "nothing -> NOUN"])
def test_an_unknown_pattern_says_what_there_is(pattern: str, bank_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"Choose one of|Give a part of speech"):
        bank_corpus.words.find_pairs(pattern)


def test_sentences_without_annotation_have_no_words(tiny_corpus: store.Corpus) -> None:
    with pytest.raises(NotIngested, match="Run `headscape ingest`"):
        _ = tiny_corpus.words


def test_a_token_belongs_to_the_word_around_it(bank_corpus: store.Corpus) -> None:
    words, table = bank_corpus.token_words, bank_corpus.words.table
    for row in bank_corpus.rows.tolist():
        sentence, position = int(bank_corpus.tokens.sentence_index[row]), int(bank_corpus.tokens.position[row])
        rows = bank_corpus.words.rows(sentence)
        bounds = zip(table.token_start.values[rows], table.token_stop.values[rows], strict=True)
        around = [rows.start + word for word, (start, stop) in enumerate(bounds) if start <= position < stop]
        assert words[row] == (around or [-1])[0]


def test_points_have_the_grammar_of_their_words(bank_corpus: store.Corpus) -> None:
    drawn = HeadTokens(bank_corpus, bank_corpus.n_tokens, 0, 0)
    column = columns(bank_corpus)["part_of_speech"]
    codes = values(column, drawn)[0, :, 0]
    pieces = bank_corpus.wordpieces(bank_corpus.rows)
    kinds = {piece: column.category(code) for piece, code in zip(pieces, codes, strict=True) if code >= 0}
    assert (kinds["the"], kinds["film"], kinds["loved"]) == ("DET", "NOUN", "VERB")
    assert all(code == -1 for piece, code in zip(pieces, codes, strict=True) if piece in ("[CLS]", "[SEP]"))
    assert column.title == "part of speech (gold)"


def test_a_corpus_without_words_has_no_columns_of_them(tiny_corpus: store.Corpus) -> None:
    assert not {"part_of_speech", "relation", "lemma"} & set(columns(tiny_corpus))


def test_a_pattern_that_is_no_text_is_refused(bank_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"^A pattern is a text, not 5\. Give a relation, or a pattern such as ADJ"):
        bank_corpus.words.find_pairs(cast(str, 5))


@pytest.mark.parametrize("sentence", [-1, 10**6])
def test_a_sentence_that_is_not_there_has_no_words(sentence: int, bank_corpus: store.Corpus) -> None:
    words = bank_corpus.words
    for read in (words.text, words.rows):
        with pytest.raises(
            StoreError, match=rf"^sentence={sentence} is out of range\. Choose 0 to {len(words.size) - 1}"
        ):
            read(sentence)

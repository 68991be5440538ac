"""Words of a corpus, the pattern between them, and which word each attends to most."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import store
from dashboard.points.columns import columns, values
from dashboard.points.drawn import Drawn
from store.kernels.attention import merge_words
from store.kernels.words import strongest_words, word_pattern, word_tokens
from store.repository.errors import NotIngested, StoreError
from tests.published.reference import without_own


@pytest.fixture(scope="module")
def corpus(bank_store: str) -> Iterator[store.Corpus]:
    return store.open_corpus(bank_store)


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


def test_words_are_those_of_the_treebank(corpus: store.Corpus) -> None:
    spelled = [corpus.words.texts(corpus.words.rows(sentence)) for sentence in range(corpus.n_sentences)]
    texts = ["".join(text.split()) for text in corpus.sentences.text.values]
    assert ["".join(words) for words in spelled] == texts


def test_annotation_of_the_data_is_called_gold(corpus: store.Corpus) -> None:
    assert (corpus.words.kind, corpus.words.source) == ("gold", "gold annotation of the data")


def test_wordpieces_of_a_word_spell_it(corpus: store.Corpus) -> None:
    for sentence in range(corpus.n_sentences):
        rows, start = corpus.words.rows(sentence), corpus.sentence_rows(sentence).start
        table = corpus.words.table.isel(word=rows)
        bounds = zip(table.token_start.values, table.token_stop.values, strict=True)
        pieces = ["".join(corpus.wordpieces(slice(start + a, start + b))).replace("##", "") for a, b in bounds]
        words = corpus.words.texts(rows)
        assert [piece for piece in pieces if "[UNK]" not in piece] == [
            word.lower() for word, piece in zip(words, pieces, strict=True) if "[UNK]" not in piece
        ]


def test_the_strongest_words_are_those_of_the_word_pattern(corpus: store.Corpus) -> None:
    stored = corpus.strongest_words
    for sentence in range(corpus.n_sentences):
        rows = corpus.words.rows(sentence)
        pattern = without_own(corpus.word_pattern(sentence).values)
        np.testing.assert_array_equal(stored.most_attended.isel(word=rows), pattern.argmax(axis=-1))
        np.testing.assert_array_equal(stored.most_attending.isel(word=rows), pattern.argmax(axis=-2))


def test_a_row_of_a_word_pattern_is_what_special_tokens_leave(corpus: store.Corpus) -> None:
    pattern, words = corpus.pattern(0), corpus.word_pattern(0)
    left = 1 - pattern[..., [0, -1]].sum("key_token")
    bounds = corpus.words.table.isel(word=corpus.words.rows(0))
    expected = [
        left[..., int(a) : int(b)].mean("query_token")
        for a, b in zip(bounds.token_start, bounds.token_stop, strict=True)
    ]
    np.testing.assert_allclose(words.sum("key_word"), np.stack(expected, axis=-1), rtol=1e-5)


def test_a_label_names_its_pairs(corpus: store.Corpus) -> None:
    pairs = corpus.words.find_pairs("det")
    assert set(corpus.words.texts(pairs.source)) <= {"the", "a", "The", "A"}
    assert (np.abs(pairs.source - pairs.target) < 10).all()


def test_a_pattern_joins_a_dependent_and_its_governor_both_ways(corpus: store.Corpus) -> None:
    up, down = corpus.words.find_pairs("DET -> NOUN"), corpus.words.find_pairs("NOUN -> DET")
    assert sorted(zip(up.source, up.target, strict=True)) == sorted(zip(down.target, down.source, strict=True))
    assert len(up.source)


def test_a_star_stands_for_any_word(corpus: store.Corpus) -> None:
    words = corpus.words
    assert len(words.find_pairs("* -> *").source) == 2 * len(words.dependencies.source)


def test_a_lemma_is_an_end_of_a_pattern(corpus: store.Corpus) -> None:
    pairs = corpus.words.find_pairs("the -> *")
    assert {word.lower() for word in corpus.words.texts(pairs.source)} == {"the"}


def test_punctuation_and_roots_are_in_no_pair(corpus: store.Corpus) -> None:
    assert not {"punct", "root"} & set(corpus.words.relations)


@pytest.mark.parametrize("pattern", ["nothing", "", "-> NOUN", "nothing -> NOUN"])
def test_an_unknown_pattern_says_what_there_is(pattern: str, corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"Choose one of|Give a part of speech"):
        corpus.words.find_pairs(pattern)


def test_sentences_without_annotation_have_no_words(tiny_corpus: store.Corpus) -> None:
    with pytest.raises(NotIngested, match="Run `headscape ingest`"):
        _ = tiny_corpus.words


def test_a_token_belongs_to_the_word_around_it(corpus: store.Corpus) -> None:
    words, table = corpus.token_words, corpus.words.table
    for row in corpus.rows.tolist():
        sentence, position = int(corpus.tokens.sentence_index[row]), int(corpus.tokens.position[row])
        rows = corpus.words.rows(sentence)
        bounds = zip(table.token_start.values[rows], table.token_stop.values[rows], strict=True)
        around = [rows.start + word for word, (start, stop) in enumerate(bounds) if start <= position < stop]
        assert words[row] == (around or [-1])[0]


def test_points_have_the_grammar_of_their_words(corpus: store.Corpus) -> None:
    drawn = Drawn(corpus, corpus.n_tokens, 0, 0)
    column = columns(corpus)["part_of_speech"]
    codes = values(column, drawn)[0, :, 0]
    pieces = corpus.wordpieces(corpus.rows)
    kinds = {piece: column.category(code) for piece, code in zip(pieces, codes, strict=True) if code >= 0}
    assert (kinds["the"], kinds["film"], kinds["loved"]) == ("DET", "NOUN", "VERB")
    assert all(code == -1 for piece, code in zip(pieces, codes, strict=True) if piece in ("[CLS]", "[SEP]"))
    assert column.title == "part of speech (gold)"


def test_a_corpus_without_words_has_no_columns_of_them(tiny_corpus: store.Corpus) -> None:
    assert not {"part_of_speech", "relation", "lemma"} & set(columns(tiny_corpus))

"""A store of a model with a SentencePiece tokenizer, and one of texts with special tokens: their pages and words."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import store
from dashboard.app import create_app
from dashboard.points.clicked_point import point_card
from dashboard.points.search import matching_tokens
from dashboard.points.similar import excerpt
from dashboard.sentence.sentence import PatternOptions, shown_units, stored_sentence
from dashboard.web.served_store import ServedStore
from store.describe import describe
from store.schema.corpus import CONTINUATION, NO_WORD
from tests.client import shown
from tests.made_once import made_once
from tests.stores import Ingest
from tests.treebanks import write_treebank

MARKED = ["the film [SEP] was good", "a [MASK] plot", "[PAD] bad acting", "[UNK] music", "we loved it"]


@pytest.fixture(scope="module")
def pieces_store(ingest: Ingest, piece_model: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    bank = made_once(tmp_path_factory, "bank-of-pieces.conllu", write_treebank)
    make = partial(ingest, data=bank, model=piece_model, annotate="auto")
    return str(made_once(tmp_path_factory, "pieces", make))


@pytest.fixture(scope="module")
def pieces_corpus(pieces_store: str) -> store.Corpus:
    return store.open_corpus(pieces_store)


@pytest.fixture(scope="module")
def marked_store(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of sentences of which three have a special token in their text."""

    def make(place: Path) -> None:
        data = tmp_path_factory.mktemp("marked") / "marked.csv"
        data.write_text("text\n" + "\n".join(MARKED) + "\n", "utf-8")
        ingest(place, data=data, label="none")

    return str(made_once(tmp_path_factory, "marked", make))


def sentence_with(corpus: store.Corpus, text: str) -> int:
    return list(corpus.sentences.text.values).index(text)


def test_wordpieces_of_a_word_stand_for_its_text(pieces_corpus: store.Corpus) -> None:
    words = pieces_corpus.words
    for sentence in range(pieces_corpus.n_sentences):
        table = words.table.isel(word=words.rows(sentence))
        pieces = pieces_corpus.sentence_pieces(sentence)
        bounds = zip(table.token_start.values, table.token_stop.values, strict=True)
        assert ["".join(piece.text for piece in pieces[a:b]) for a, b in bounds] == words.texts(words.rows(sentence))


def test_an_excerpt_reads_like_the_text(pieces_corpus: store.Corpus) -> None:
    for sentence in range(pieces_corpus.n_sentences):
        parts = excerpt(pieces_corpus.sentence_pieces(sentence), {1: "query"}, around=99)
        text = "".join(part if isinstance(part, str) else str(part.children) for part in parts)
        assert str(pieces_corpus.sentences.text.values[sentence]).startswith(text)


def test_a_card_has_the_sentence_as_it_is_read(pieces_corpus: store.Corpus) -> None:
    card = point_card(pieces_corpus, layer=0, head=0, role="query", token=1)
    assert "".join(card.texts).strip() == f"<s> {pieces_corpus.sentences.text.values[0]} </s>"


def test_a_word_is_found_by_its_text(pieces_corpus: store.Corpus) -> None:
    found = matching_tokens(pieces_corpus, "film", "token")
    assert found.any()
    assert set(np.array(pieces_corpus.wordpieces(pieces_corpus.rows))[found]) == {"▁film"}


def test_a_phrase_covers_words_with_their_marks(ingest: Ingest, piece_model: Path, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest(tmp_path / "store", model=piece_model, sentences=5))
    text = str(corpus.sentences.text.values[0])
    before, after = text.split()[0], text.split()[1:]
    found = matching_tokens(corpus, " ".join(after), "phrase")[: int(corpus.sentences.row_size.values[0])]
    words = corpus.tokens.word_index.values[corpus.sentence_rows(0)]
    assert (before.isalpha(), after[-1].isalpha()) == (True, False)
    assert found.tolist() == (words >= 1).tolist()


def test_whole_words_of_a_sentence_are_its_texts(pieces_corpus: store.Corpus) -> None:
    units, _ = shown_units(stored_sentence(pieces_corpus, 0), PatternOptions(words=True))
    assert [unit.name for unit in units] == ["<s>", *str(pieces_corpus.sentences.text.values[0]).split(), "</s>"]


def test_a_store_made_before_shows_texts_by_the_mark_of_bert(tiny_store: str) -> None:
    corpus, older = store.open_corpus(tiny_store), store.open_corpus(tiny_store)
    older._text = older._text.drop_vars("vocab_text")
    assert list(older.piece_texts) == list(corpus.piece_texts)
    assert older.sentence_pieces(3) == corpus.sentence_pieces(3)


def test_the_ingest_counts_sentences_with_a_special_token(marked_store: str) -> None:
    [corpus] = describe(store.open_snapshot(marked_store)).corpora
    assert (corpus.sentences, corpus.marked) == (5, 3)


def test_page_store_says_how_many_sentences_have_a_special_token(marked_store: str) -> None:
    client = create_app(ServedStore(marked_store)).server.test_client()
    assert "in the text of 3 sentences" in shown(client, "above", "/store")


def test_a_special_token_is_hidden_with_the_others(marked_store: str) -> None:
    corpus = store.open_corpus(marked_store)
    sentence = stored_sentence(corpus, sentence_with(corpus, "a [MASK] plot"))
    units, _ = shown_units(sentence, PatternOptions(special=False))
    assert [unit.name for unit in units] == ["a", "plot"]


def test_a_special_token_is_no_query_of_words(marked_store: str) -> None:
    """The text `[PAD] bad acting` has two words, not three."""
    corpus = store.open_corpus(marked_store)
    rows = corpus.sentence_rows(sentence_with(corpus, "[PAD] bad acting"))
    flags, words = corpus.tokens.token_flags.values[rows], corpus.tokens.word_index.values[rows]
    assert (flags & NO_WORD != 0).tolist() == [True, True, False, False, True]
    assert words.tolist() == [-1, -1, 0, 1, -1]
    assert not (flags & CONTINUATION).any()

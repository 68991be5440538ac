"""A stored sentence against transformers' own eager attentions, and against other numbers of the store."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dashboard.sentence.sentence import stored_sentence
from store import Corpus, StoreError
from store.schema.corpus import PAD


@pytest.mark.parametrize("index", [0, 5, 17])
def test_its_pattern_is_what_transformers_attends_to(
    tiny_corpus: Corpus, tiny_model: Path, eager: Callable[[Path], Any], index: int
) -> None:
    ids = tiny_corpus.tokens.token_id.values[tiny_corpus.sentence_rows(index)]
    with torch.inference_mode():
        attentions = eager(tiny_model)(torch.from_numpy(ids[None].astype(np.int64)), output_attentions=True).attentions
    expected = np.stack([layer[0].numpy() for layer in attentions])
    np.testing.assert_allclose(stored_sentence(tiny_corpus, index).pattern, expected, atol=3e-3)


def test_the_pattern_of_one_layer_is_that_of_all(tiny_corpus: Corpus) -> None:
    alone = stored_sentence(tiny_corpus, 3).layer_pattern(1)
    np.testing.assert_allclose(alone, tiny_corpus.pattern(3, layer=1).values, atol=1e-6)


def test_a_stored_sentence_has_the_text_label_and_wordpieces_of_the_corpus(tiny_corpus: Corpus) -> None:
    sentence = stored_sentence(tiny_corpus, 4)
    assert (sentence.text, sentence.second) == (str(tiny_corpus.sentences.text.values[4]), "")
    assert sentence.label == tiny_corpus.label_name(4) != ""
    assert list(sentence.wordpieces) == tiny_corpus.wordpieces(tiny_corpus.sentence_rows(4))


def test_every_array_has_its_tokens(tiny_corpus: Corpus) -> None:
    sentence, tokens = stored_sentence(tiny_corpus, 4), len(tiny_corpus.wordpieces(tiny_corpus.sentence_rows(4)))
    assert sentence.query.shape == sentence.key.shape == (2, 2, tokens, 8)
    assert sentence.value_norm.shape == (2, 2, tokens)
    assert {len(array) for array in (sentence.flags, sentence.word_index, sentence.segment)} == {tokens}


def test_its_mixing_is_what_the_store_has(tiny_corpus: Corpus) -> None:
    rows = tiny_corpus.sentence_rows(4)
    np.testing.assert_array_equal(stored_sentence(tiny_corpus, 4).mixing, tiny_corpus.token_mixing.values[:, :, rows])


def test_a_stored_sentence_has_no_padding(tiny_corpus: Corpus) -> None:
    assert not (stored_sentence(tiny_corpus, 4).flags & PAD).any()


def test_no_sentence_of_a_corpus_that_cut_none_is_cut(tiny_corpus: Corpus) -> None:
    assert tiny_corpus.corpus_attributes["truncated"] == 0
    assert not any(stored_sentence(tiny_corpus, index).cut for index in range(tiny_corpus.n_sentences))


def test_a_sentence_that_fills_the_model_is_cut(ingest: Callable[..., str], tmp_path: Path) -> None:
    from store import open_corpus

    corpus = open_corpus(ingest(tmp_path / "store", max_length=6, sentences=12))
    sizes = corpus.sentences.row_size.values
    assert [stored_sentence(corpus, index).cut for index in range(12)] == (sizes == 6).tolist()


def test_a_stored_sentence_is_cached(tiny_corpus: Corpus) -> None:
    assert stored_sentence(tiny_corpus, 2) is stored_sentence(tiny_corpus, 2)


@pytest.mark.parametrize("index", [-1, 40, 10**30])
def test_an_unknown_sentence_is_refused(tiny_corpus: Corpus, index: int) -> None:
    with pytest.raises(StoreError, match=r"out of range\. Choose 0 to 39\."):
        stored_sentence(tiny_corpus, index)

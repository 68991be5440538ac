"""The embedded model on the embedded reviews: what a person gets who asks for nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import store
from dashboard.sentence.typed import TypedSentences
from ingest.bert import find_device
from ingest.checkpoint import EMBEDDED_SHA256, find_checkpoint
from store.verification import verify
from tests.stores import DEFAULT_SENTENCES

JUDGED = range(0, DEFAULT_SENTENCES, 5)


@pytest.fixture(scope="module")
def corpus(default_store: str) -> store.Corpus:
    return store.open_corpus(default_store)


@pytest.fixture(scope="module")
def patterns(corpus: store.Corpus, eager: Callable[[Path], Any]) -> dict[int, np.ndarray]:
    """What transformers' slow attention gives for some of the sentences, in float64."""
    model = eager(find_checkpoint("embedded").folder)
    rows = {sentence: corpus.sentence_rows(sentence) for sentence in JUDGED}
    with torch.no_grad():
        token_ids = {one: torch.tensor(corpus.tokens.token_id.values[span])[None] for one, span in rows.items()}
        return {
            one: torch.cat(model(ids.long(), output_attentions=True).attentions).numpy()
            for one, ids in token_ids.items()
        }


def test_the_embedded_model_is_the_published_one(corpus: store.Corpus) -> None:
    assert corpus.attributes["weights_sha256"] == EMBEDDED_SHA256
    assert (corpus.layers, corpus.heads, corpus.query.sizes["channel"]) == (6, 12, 32)
    assert find_device("auto").type in corpus.attributes["provenance"]["device"]


def test_sentences_are_those_of_labelled_reviews(corpus: store.Corpus) -> None:
    assert corpus.n_sentences == DEFAULT_SENTENCES
    assert corpus.corpus_attributes["label_names"] == ["negative", "positive"]
    assert set(corpus.sentences.label.values) == {0, 1}
    assert not any("<br" in text for text in corpus.sentences.text.values)


def test_patterns_are_those_of_transformers(corpus: store.Corpus, patterns: dict[int, np.ndarray]) -> None:
    differences = [abs(corpus.pattern(one).values - expected) for one, expected in patterns.items()]
    assert max(difference.max() for difference in differences) <= 3e-3
    assert np.mean(np.concatenate([0.5 * one.sum(axis=-1).ravel() for one in differences])) <= 2e-4


def test_typed_sentences_have_the_patterns_of_transformers(
    corpus: store.Corpus, patterns: dict[int, np.ndarray]
) -> None:
    typed = TypedSentences()
    for sentence, expected in patterns.items():
        found = typed.encode(corpus, str(corpus.sentences.text.values[sentence])).pattern
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_attention_to_sep_is_that_of_transformers(corpus: store.Corpus, patterns: dict[int, np.ndarray]) -> None:
    stored = corpus.token_statistic.sel(statistic="to_sep").values
    for sentence, pattern in patterns.items():
        np.testing.assert_allclose(stored[..., corpus.sentence_rows(sentence)], pattern[..., -1], rtol=1e-3, atol=1e-5)


def test_the_default_store_is_sound(default_store: str) -> None:
    assert list(verify(store.open_snapshot(default_store))) == []


def test_nearness_in_the_default_picture_tells_attention(corpus: store.Corpus) -> None:
    """-1 is perfect and 0 is chance; two axes keep only a part."""
    fidelity = corpus.view(corpus.views[0]).fidelity
    assert float(fidelity.sel(measure="spearman", judged="held_out").mean()) < -0.2


def test_the_stored_numbers_of_exact_mode_are_those_of_a_perfect_picture(corpus: store.Corpus) -> None:
    spearman = corpus.normalizations.spearman.sel(normalization="exact")
    np.testing.assert_allclose(spearman, -1, atol=1e-3)

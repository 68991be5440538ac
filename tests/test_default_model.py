"""The embedded model on the embedded reviews: the store of a person who gives no settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.special import expit
from scipy.stats import rankdata

import store
from dashboard.sentence.encoder import TypedSentences
from ingest.encode.loading import find_device
from ingest.projections.attention_projection import train_layer
from ingest.run.checkpoint import EMBEDDED_SHA256, find_checkpoint
from ingest.run.settings import USUAL
from store.verify import verify
from tests.stores import DEFAULT_SENTENCES

JUDGED = range(0, DEFAULT_SENTENCES, 5)
#: Heads of layer 0, hard to draw: L0 H2 attends to the previous token, and its weak keys repeat along the sentence.
HARD = slice(0, 4)


@pytest.fixture(scope="module")
def corpus(default_store: str) -> store.Corpus:
    return store.open_corpus(default_store)


Patterns = dict[int, np.ndarray]


@pytest.fixture(scope="module")
def attend(corpus: store.Corpus, eager: Callable[[Path], Any]) -> Callable[[range], Patterns]:
    """A function that gives patterns (layer, head, query_token, key_token) of sentences, by transformers' eager attention."""
    model = eager(find_checkpoint("embedded").folder)

    def attend(sentences: range) -> Patterns:
        rows = {sentence: corpus.sentence_rows(sentence) for sentence in sentences}
        with torch.no_grad():
            token_ids = {
                sentence: torch.tensor(corpus.tokens.token_id.values[span])[None] for sentence, span in rows.items()
            }
            return {
                sentence: torch.cat(model(ids.long(), output_attentions=True).attentions).numpy()
                for sentence, ids in token_ids.items()
            }

    return attend


@pytest.fixture(scope="module")
def patterns(attend: Callable[[range], Patterns]) -> Patterns:
    return attend(JUDGED)


@pytest.fixture(scope="module")
def held_out(corpus: store.Corpus, attend: Callable[[range], Patterns]) -> Patterns:
    """Patterns of the sentences that the pictures were not fitted on."""
    return attend(range(corpus.view(corpus.views[0]).attrs["sample_sentences"], corpus.n_sentences))


def test_the_embedded_model_is_the_published_one(corpus: store.Corpus) -> None:
    assert corpus.attributes["weights_sha256"] == EMBEDDED_SHA256
    assert (corpus.layers, corpus.heads, corpus.query.sizes["channel"]) == (6, 12, 32)
    assert find_device("auto").type in corpus.attributes["provenance"]["device"]


def test_sentences_are_those_of_labelled_reviews(corpus: store.Corpus) -> None:
    assert corpus.n_sentences == DEFAULT_SENTENCES
    assert corpus.corpus_attributes["label_names"] == ["negative", "positive"]
    assert set(corpus.sentences.label.values) == {0, 1}
    assert not any("<br" in text for text in corpus.sentences.text.values)


def test_patterns_are_those_of_transformers(corpus: store.Corpus, patterns: Patterns) -> None:
    differences = [abs(corpus.pattern(sentence).values - expected) for sentence, expected in patterns.items()]
    assert max(difference.max() for difference in differences) <= 1.5e-3
    assert np.mean(np.concatenate([0.5 * difference.sum(axis=-1).ravel() for difference in differences])) <= 2e-4


def test_typed_sentences_have_the_patterns_of_transformers(
    corpus: store.Corpus, patterns: dict[int, np.ndarray]
) -> None:
    typed = TypedSentences()
    for sentence, expected in patterns.items():
        encoded = typed.encode(corpus, str(corpus.sentences.text.values[sentence])).pattern
        np.testing.assert_allclose(encoded, expected, atol=1e-4)


def test_attention_to_sep_is_that_of_transformers(corpus: store.Corpus, patterns: Patterns) -> None:
    stored = corpus.token_statistic.sel(statistic="to_sep").values
    for sentence, pattern in patterns.items():
        np.testing.assert_allclose(stored[..., corpus.sentence_rows(sentence)], pattern[..., -1], rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_the_default_store_is_sound(default_store: str) -> None:
    assert list(verify(store.open_snapshot(default_store))) == []


def agreement(pattern: np.ndarray, places: np.ndarray) -> tuple[float, float]:
    """Spearman and recall of the 3 most attended keys of a head, mean over queries; places are (role, token, component)."""
    distance = cdist(*places)
    nearest = [
        set(np.argsort(-weights)[:3]) & set(np.argsort(away)[:3])
        for weights, away in zip(pattern, distance, strict=True)
    ]
    ranks = [rankdata(measure, axis=-1) for measure in (pattern, distance)]
    weighted, away = (rank - rank.mean(axis=-1, keepdims=True) for rank in ranks)
    spearman = (weighted * away).sum(-1) / np.sqrt((weighted**2).sum(-1) * (away**2).sum(-1))
    return float(spearman.mean()), float(np.mean([len(keys) / 3 for keys in nearest]))


def test_distances_in_the_default_store_order_keys_as_attention_of_transformers(
    corpus: store.Corpus, held_out: Patterns
) -> None:
    """The principal components were not fitted on these sentences."""
    coordinates = corpus.view("pca-exact-2d").coordinates.values.astype(np.float64)
    agreements = [
        agreement(pattern[layer, head], coordinates[layer, head, :, corpus.sentence_rows(sentence)])
        for sentence, pattern in held_out.items()
        for layer, head in np.ndindex(pattern.shape[:2])
    ]
    means = np.mean(agreements, axis=0)
    assert len(held_out) == DEFAULT_SENTENCES // 5
    assert means[0] < -0.62
    assert means[1] > 0.58


def test_a_trained_picture_orders_keys_as_attention_of_transformers(corpus: store.Corpus, held_out: Patterns) -> None:
    """The picture of heads that are hard to draw is trained on the sentences before the judged ones."""
    rows = np.concatenate(
        [np.arange(corpus.n_tokens)[corpus.sentence_rows(sentence)] for sentence in range(min(held_out))]
    )
    sizes = corpus.sentences.row_size.values[: min(held_out)].astype(np.int64)
    both = [array[0, HARD].values.astype(np.float32) for array in (corpus.query, corpus.key)]
    sample = (0, both[0][:, rows], both[1][:, rows], None)
    trained = train_layer(sample, sizes=sizes, components=2, seed=0, steps=USUAL.attention_steps)
    agreements = []
    for sentence, pattern in held_out.items():
        own = [vectors[:, corpus.sentence_rows(sentence)] for vectors in both]
        places = [network(own[role], {name: array[:, role] for name, array in trained.items()}) for role in (0, 1)]
        agreements += [
            agreement(head_pattern, np.stack([queries, keys]))
            for head_pattern, queries, keys in zip(pattern[0, HARD], *places, strict=True)
        ]
    means = np.mean(agreements, axis=0)
    assert means[0] < -0.6
    assert means[1] > 0.5


def network(vectors: np.ndarray, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Places (head, token, component) by three layers with swish between them."""
    for name in ("in", "middle"):
        vectors = vectors @ weights[f"weight_{name}"] + weights[f"bias_{name}"][:, None]
        vectors = vectors * expit(vectors)
    return vectors @ weights["weight_out"] + weights["bias_out"][:, None]


def test_the_stored_numbers_of_exact_mode_are_those_of_a_perfect_picture(corpus: store.Corpus) -> None:
    spearman = corpus.normalizations.spearman.sel(normalization="exact")
    np.testing.assert_allclose(spearman, -1, atol=1e-3)

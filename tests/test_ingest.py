"""The numbers that the real ingest stores, against transformers' own slow attention in float64."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import transformers

import store
from store.schema import CLS, PUNCTUATION, SEP, SOURCES, STATISTICS, SYMBOL

Ingest = Callable[..., str]


@pytest.fixture(scope="module")
def corpus(any_model: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """Once of the tiny model, once of the one with odd shapes."""
    return store.open_corpus(ingest(tmp_path_factory.mktemp("store") / any_model.name, model=str(any_model)))


@pytest.fixture(scope="module")
def reference(any_model: Path, eager: Callable[[Path], Any]) -> Any:
    return eager(any_model)


@pytest.fixture(scope="module")
def outputs(corpus: store.Corpus, reference: Any, any_model: Path) -> list[Any]:
    """What transformers says of every sentence, read from its text alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(any_model)
    texts = [str(text) for text in corpus.sentences.text.values]
    length = corpus.corpus_attributes["max_length"]
    encoded = [tokenizer(text, truncation=True, max_length=length, return_tensors="pt") for text in texts]
    with torch.no_grad():
        return [reference(**inputs, output_attentions=True, output_hidden_states=True) for inputs in encoded]


@pytest.fixture(scope="module")
def patterns(outputs: list[Any]) -> list[np.ndarray]:
    """(layer, head, query_token, key_token) of every sentence."""
    return [torch.cat(output.attentions).numpy() for output in outputs]


def flags_of(corpus: store.Corpus, sentence: int) -> np.ndarray:
    return corpus.tokens.token_flags.values[corpus.sentence_rows(sentence)]


def by_hand(pattern: np.ndarray, flags: np.ndarray) -> dict[str, np.ndarray]:
    """Every statistic of one sentence, by its definition: (layer, head, token)."""
    place = np.arange(len(flags))
    to = {offset: place[None, :] - place[:, None] == offset for offset in (-1, 0, 1)}
    return {
        "to_cls": pattern[..., (flags & CLS) > 0].sum(-1),
        "to_sep": pattern[..., (flags & SEP) > 0].sum(-1),
        "to_punctuation": pattern[..., (flags & PUNCTUATION) > 0].sum(-1),
        "to_previous": np.where(to[-1], pattern, 0).sum(-1),
        "to_next": np.where(to[1], pattern, 0).sum(-1),
        "to_self": np.where(to[0], pattern, 0).sum(-1),
        "entropy": scipy.stats.entropy(pattern, axis=-1),
        "attended_keys": np.count_nonzero(pattern > 0.05, axis=-1),
        "distance": np.einsum("lhij,ij->lhi", pattern, abs(place[:, None] - place[None, :])),
        "received": pattern.sum(-2),
    }


def rows_by_hand(flags: np.ndarray) -> dict[str, np.ndarray]:
    special = CLS | SEP | PUNCTUATION | SYMBOL
    return {
        "all": flags >= 0,
        "cls": (flags & CLS) > 0,
        "sep": (flags & SEP) > 0,
        "punctuation": (flags & PUNCTUATION) > 0,
        "word": (flags & special) == 0,
    }


def test_attention_of_the_random_models_is_worth_testing(patterns: list[np.ndarray]) -> None:
    """Were it uniform (here 0.1), most mistakes would not show."""
    assert np.mean([pattern.max(axis=-1).mean() for pattern in patterns]) > 0.2


def test_stored_patterns_are_those_of_transformers(corpus: store.Corpus, patterns: list[np.ndarray]) -> None:
    for sentence, expected in enumerate(patterns):
        np.testing.assert_allclose(corpus.pattern(sentence).values, expected, atol=3e-3)


def test_stored_patterns_differ_by_little_in_total_variation(corpus: store.Corpus, patterns: list[np.ndarray]) -> None:
    differences = [abs(corpus.pattern(sentence).values - expected) for sentence, expected in enumerate(patterns)]
    assert np.mean(np.concatenate([0.5 * difference.sum(axis=-1).ravel() for difference in differences])) <= 2e-4


@pytest.mark.parametrize("name", list(STATISTICS))
def test_token_statistics_are_those_of_transformers_patterns(
    name: str, corpus: store.Corpus, patterns: list[np.ndarray]
) -> None:
    """Stored in float16, so to half a unit in its last place: 5e-4 of the value, 3e-8 near 0."""
    stored = corpus.token_statistic.sel(statistic=name).values.astype(np.float64)
    for sentence, pattern in enumerate(patterns):
        expected = by_hand(pattern, flags_of(corpus, sentence))[name]
        np.testing.assert_allclose(stored[..., corpus.sentence_rows(sentence)], expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("source", SOURCES)
def test_head_statistics_are_means_over_sentences_of_means_over_rows(
    source: str, corpus: store.Corpus, patterns: list[np.ndarray]
) -> None:
    """Against float64 all the way: what is left is the float32 of the forward pass."""
    means: dict[str, list[np.ndarray]] = {name: [] for name in STATISTICS}
    for sentence, pattern in enumerate(patterns):
        flags = flags_of(corpus, sentence)
        rows = rows_by_hand(flags)[source]
        if rows.any():
            for name, values in by_hand(pattern, flags).items():
                means[name].append(values[..., rows].mean(axis=-1))
    expected = np.stack([np.mean(means[name], axis=0) for name in STATISTICS])
    stored = corpus.head_statistic.sel(source=source)
    np.testing.assert_allclose(stored.sel(statistic=list(STATISTICS)).values, expected, rtol=5e-6)


def test_value_norms_are_the_lengths_of_the_explicitly_transformed_tokens(
    corpus: store.Corpus, reference: Any, outputs: list[Any]
) -> None:
    stored = corpus.value_norm.values
    for layer, module in enumerate(reference.encoder.layer):
        value, output = module.attention.self.value, module.attention.output.dense
        for sentence, said in enumerate(outputs):
            handed_on = value(said.hidden_states[layer][0]).detach().unflatten(-1, (corpus.heads, -1))
            weight = output.weight.detach().T.unflatten(0, (corpus.heads, -1))
            expected = torch.einsum("thc,hcf->htf", handed_on, weight).norm(dim=-1)
            np.testing.assert_allclose(stored[layer][:, corpus.sentence_rows(sentence)], expected, rtol=1e-3)


@pytest.mark.parametrize("name", ["query", "key"])
def test_stored_vectors_are_those_of_transformers(
    name: str, corpus: store.Corpus, reference: Any, outputs: list[Any]
) -> None:
    stored = getattr(corpus, name).values
    for layer, module in enumerate(reference.encoder.layer):
        for sentence, said in enumerate(outputs):
            expected = getattr(module.attention.self, name)(said.hidden_states[layer][0]).detach()
            expected = expected.unflatten(-1, (corpus.heads, -1)).transpose(0, 1)
            found = stored[layer][:, corpus.sentence_rows(sentence)]
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["query", "key", "value_norm", "token_statistic"])
def test_padding_has_no_numbers_and_every_real_token_has(name: str, corpus: store.Corpus) -> None:
    array = getattr(corpus, name)
    missing = np.isnan(array.values).any(axis=tuple(axis for axis, dim in enumerate(array.dims) if dim != "token"))
    np.testing.assert_array_equal(np.flatnonzero(~missing), corpus.rows)


def test_tokens_of_every_sentence_are_those_of_its_text(corpus: store.Corpus, any_model: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(any_model)
    for sentence, text in enumerate(corpus.sentences.text.values):
        encoded = tokenizer(str(text), truncation=True, max_length=corpus.corpus_attributes["max_length"])
        assert corpus.wordpieces(corpus.sentence_rows(sentence)) == encoded.tokens()


def test_low_precision_statistics_agree_roughly(ingest: Ingest, tmp_path: Path, tiny_store: str) -> None:
    exact = store.open_corpus(tiny_store)
    low = store.open_corpus(ingest(tmp_path / "low", dtype="bfloat16"))
    assert low.attributes["dtype"] == "bfloat16"
    difference = abs(low.head_statistic - exact.head_statistic).sel(source="all", statistic="to_sep")
    assert 0 < float(difference.max()) < 0.02

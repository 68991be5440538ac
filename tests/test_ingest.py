"""The numbers that the real ingest stores, against transformers' own slow attention in float64."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import store
from dashboard.statistics.parts import part_of, uniform_entropy
from store.schema.model import RATIOS, SOURCES, STATISTICS
from tests import definitions

Ingest = Callable[..., str]
SENTENCES = 50


@pytest.fixture(scope="module")
def corpus(any_family: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """A corpus: once of the tiny model, once of the model with odd shapes."""
    place = tmp_path_factory.mktemp("store") / any_family.name
    return store.open_corpus(ingest(place, model=str(any_family), sentences=SENTENCES))


@pytest.fixture(scope="module")
def reference(any_family: Path, eager: Callable[[Path], Any]) -> Any:
    return eager(any_family)


@pytest.fixture(scope="module")
def outputs(corpus: store.Corpus, reference: Any, any_family: Path) -> list[Any]:
    """Output of transformers for every sentence, from its text alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(any_family)
    texts = [str(text) for text in corpus.sentences.text.values]
    length = corpus.corpus_attributes["max_length"]
    encoded = [tokenizer(text, truncation=True, max_length=length, return_tensors="pt") for text in texts]
    with torch.no_grad():
        return [reference(**inputs, output_attentions=True, output_hidden_states=True) for inputs in encoded]


@pytest.fixture(scope="module")
def patterns(outputs: list[Any]) -> list[np.ndarray]:
    """Patterns (layer, head, query_token, key_token) of every sentence."""
    return [torch.cat(output.attentions).numpy() for output in outputs]


def flags_of(corpus: store.Corpus, sentence: int) -> np.ndarray:
    return corpus.tokens.token_flags.values[corpus.sentence_rows(sentence)]


@pytest.fixture(scope="module")
def layers(reference: Any, outputs: list[Any]) -> list[list[definitions.LayerOfSentence]]:
    """Arrays of transformers for every sentence and each of its layers."""
    return [definitions.layers_of(reference, output) for output in outputs]


Statistics = list[dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def defined(corpus: store.Corpus, layers: list[list[definitions.LayerOfSentence]]) -> Statistics:
    """Every statistic of every sentence by its definition: (layer, head, token)."""
    return [
        stacked(definitions.statistics(layer, flags_of(corpus, sentence)) for layer in layers_of_sentence)
        for sentence, layers_of_sentence in enumerate(layers)
    ]


@pytest.fixture(scope="module")
def mixed(layers: list[list[definitions.LayerOfSentence]]) -> Statistics:
    """Every mixing ratio of every sentence by its definition: (layer, token)."""
    return [stacked(map(definitions.mixing, layers_of_sentence)) for layers_of_sentence in layers]


def stacked(of_layers: Iterable[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    every_layer = list(of_layers)
    return {name: np.stack([layer[name] for layer in every_layer]) for name in every_layer[0]}


def over_sentences(corpus: store.Corpus, source: str, values: Statistics) -> np.ndarray:
    """Means (name, ...) over the sentences that have rows of the source, of the means over these rows."""
    means = []
    for sentence, of_sentence in enumerate(values):
        rows = definitions.rows_of(flags_of(corpus, sentence))[source]
        if rows.any():
            means.append([array[..., rows].mean(axis=-1) for array in of_sentence.values()])
    return np.mean(means, axis=0)


def test_attention_of_the_random_models_is_worth_testing(patterns: list[np.ndarray]) -> None:
    """With uniform attention (here 0.1), most mistakes would not show."""
    assert np.mean([pattern.max(axis=-1).mean() for pattern in patterns]) > 0.2


def test_some_rows_attend_to_sinks_and_some_do_not(defined: Statistics) -> None:
    some = np.concatenate([values["to_sink"].ravel() > 0 for values in defined])
    assert 0.1 < some.mean() < 0.9


def test_stored_patterns_are_those_of_transformers(corpus: store.Corpus, patterns: list[np.ndarray]) -> None:
    for sentence, expected in enumerate(patterns):
        np.testing.assert_allclose(corpus.pattern(sentence).values, expected, atol=3e-3)


def test_stored_patterns_differ_by_little_in_total_variation(corpus: store.Corpus, patterns: list[np.ndarray]) -> None:
    differences = [abs(corpus.pattern(sentence).values - expected) for sentence, expected in enumerate(patterns)]
    assert np.mean(np.concatenate([0.5 * difference.sum(axis=-1).ravel() for difference in differences])) <= 2e-4


def test_every_source_of_attention_is_looked_at(corpus: store.Corpus) -> None:
    assert corpus.n_sentences == SENTENCES
    assert set(definitions.rows_of(corpus.tokens.token_flags.values)) == set(SOURCES)


@pytest.mark.parametrize("name", list(STATISTICS))
def test_token_statistics_are_those_of_transformers_patterns(
    name: str, corpus: store.Corpus, defined: Statistics
) -> None:
    """Stored in float16, so to half a unit in its last place: 5e-4 of the value, 3e-8 near 0."""
    stored = corpus.token_statistic.sel(statistic=name).values.astype(np.float64)
    for sentence, expected in enumerate(defined):
        rows = corpus.sentence_rows(sentence)
        np.testing.assert_allclose(stored[..., rows], expected[name], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("source", SOURCES)
def test_head_statistics_are_means_over_sentences_of_means_over_rows(
    source: str, corpus: store.Corpus, defined: Statistics
) -> None:
    """Reference means are float64 throughout: the difference is half a unit of float16, as stored means are of stored rows."""
    expected = over_sentences(corpus, source, defined)
    stored = corpus.head_statistic.sel(source=source, statistic=list(defined[0]))
    np.testing.assert_allclose(stored.values, expected, rtol=5e-4, atol=3e-8)


@pytest.mark.parametrize("name", list(RATIOS))
def test_mixing_ratios_are_those_of_the_vectors_of_every_pair(
    name: str, corpus: store.Corpus, mixed: Statistics
) -> None:
    stored = corpus.token_mixing.sel(ratio=name).values.astype(np.float64)
    for sentence, expected in enumerate(mixed):
        np.testing.assert_allclose(stored[:, corpus.sentence_rows(sentence)], expected[name], rtol=1e-3)


@pytest.mark.parametrize("source", SOURCES)
def test_mixing_of_a_layer_is_the_mean_over_sentences_of_means_over_tokens(
    source: str, corpus: store.Corpus, mixed: Statistics
) -> None:
    stored = corpus.layer_mixing.sel(source=source, ratio=list(mixed[0]))
    np.testing.assert_allclose(stored.values, over_sentences(corpus, source, mixed), rtol=5e-4, atol=3e-8)


def test_profiles_are_means_over_sentences_of_the_weight_at_every_offset(
    corpus: store.Corpus, patterns: list[np.ndarray]
) -> None:
    every = [[[definitions.offsets(head) for head in layer] for layer in pattern] for pattern in patterns]
    expected = np.moveaxis(np.mean(every, axis=0), -1, 0)
    np.testing.assert_allclose(corpus.head_profile.values, expected, rtol=1e-5)


def test_weights_by_position_are_means_over_the_sentences_that_have_it(
    corpus: store.Corpus, patterns: list[np.ndarray]
) -> None:
    for position, received in enumerate(corpus.received_at):
        there = [pattern[..., position].mean(axis=-1) for pattern in patterns if pattern.shape[-1] > position]
        assert received["count"] == len(there)
        expected = np.mean(there, axis=0) if there else np.full(received.shape, np.nan)
        np.testing.assert_allclose(received.values, expected, rtol=1e-5)


def test_expansion_rates_are_those_of_the_authors_script(corpus: store.Corpus, reference: Any) -> None:
    """The bias of the output projection is one more column of its matrix."""
    for stored, layer in zip(corpus.expansion_rate.values, reference.encoder.layer, strict=True):
        value, output = layer.attention.self.value, layer.attention.output.dense
        weight, bias, onward, last = (
            part.detach().numpy() for part in (value.weight, value.bias, output.weight, output.bias)
        )
        size = len(bias)
        first = np.block([[weight.T, np.zeros((size, 1))], [bias, np.ones(1)]])
        second = np.block([[onward.T, last[:, None]], [np.zeros((1, size)), np.ones((1, 1))]])
        singular = np.linalg.svd(first @ second, compute_uv=False)
        np.testing.assert_allclose(stored, np.sqrt(np.mean(singular**2)), rtol=1e-6)


def test_uniform_entropy_is_the_mean_logarithm_of_the_lengths(corpus: store.Corpus, patterns: list[np.ndarray]) -> None:
    expected = np.mean([np.log(pattern.shape[-1]) for pattern in patterns])
    np.testing.assert_allclose(uniform_entropy(corpus, part_of(corpus, None)), expected)


def test_value_norms_are_the_lengths_of_the_explicitly_transformed_tokens(
    corpus: store.Corpus, reference: Any, outputs: list[Any]
) -> None:
    stored = corpus.value_norm.values
    for layer, module in enumerate(reference.encoder.layer):
        value, output = module.attention.self.value, module.attention.output.dense
        for sentence, forward_pass in enumerate(outputs):
            handed_on = value(forward_pass.hidden_states[layer][0]).detach().unflatten(-1, (corpus.heads, -1))
            weight = output.weight.detach().T.unflatten(0, (corpus.heads, -1))
            expected = torch.einsum("thc,hcf->htf", handed_on, weight).norm(dim=-1)
            np.testing.assert_allclose(stored[layer][:, corpus.sentence_rows(sentence)], expected, rtol=1e-3)


@pytest.mark.parametrize("name", ["query", "key"])
def test_stored_vectors_are_those_of_transformers(
    name: str, corpus: store.Corpus, reference: Any, outputs: list[Any]
) -> None:
    stored = getattr(corpus, name).values
    rounded = {"query": 1e-4, "key": 1e-3}[name]  # of a key, its distance from the constant is rounded
    for layer, module in enumerate(reference.encoder.layer):
        for sentence, forward_pass in enumerate(outputs):
            expected = getattr(module.attention.self, name)(forward_pass.hidden_states[layer][0]).detach()
            expected = expected.unflatten(-1, (corpus.heads, -1)).transpose(0, 1)
            stored_vectors = stored[layer][:, corpus.sentence_rows(sentence)]
            np.testing.assert_allclose(stored_vectors, expected, rtol=1e-3, atol=rounded)


@pytest.mark.parametrize("name", ["query", "key", "value_norm", "token_statistic", "token_mixing"])
def test_padding_has_no_numbers_and_every_real_token_has(name: str, corpus: store.Corpus) -> None:
    array = getattr(corpus, name)
    missing = np.isnan(array.values).any(axis=tuple(axis for axis, dim in enumerate(array.dims) if dim != "token"))
    np.testing.assert_array_equal(np.flatnonzero(~missing), corpus.rows)


def test_tokens_of_every_sentence_are_those_of_its_text(corpus: store.Corpus, any_family: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(any_family)
    for sentence, text in enumerate(corpus.sentences.text.values):
        encoded = tokenizer(str(text), truncation=True, max_length=corpus.corpus_attributes["max_length"])
        assert corpus.wordpieces(corpus.sentence_rows(sentence)) == encoded.tokens()


def test_low_precision_statistics_agree_roughly(ingest: Ingest, tmp_path: Path, tiny_store: str) -> None:
    exact = store.open_corpus(tiny_store)
    low = store.open_corpus(ingest(tmp_path / "low", dtype="bfloat16"))
    assert low.attributes["dtype"] == "bfloat16"
    difference = abs(low.head_statistic - exact.head_statistic).sel(source="all", statistic="to_sep")
    assert 0 < float(difference.max()) < 0.02


def test_torch_has_all_its_threads_after_the_tensors(ingest: Ingest, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ingest(tmp_path / "store", sentences=5)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

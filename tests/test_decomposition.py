"""ALTI, Value Zeroing and DecompX of one sentence, against plain implementations in float64."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscape
import store
from dashboard.sentence.methods import FAMILIES as DECOMPOSED_FAMILIES
from ingest.encode.decomposition import (
    Answer,
    TracedLayer,
    alti,
    decompose,
    decompose_answer,
    shares_by,
    trace,
    value_zeroing,
)
from ingest.encode.hooked_model import HookedModel
from ingest.family import FAMILIES
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from tests.family_models import BY_TYPE, save_family
from tests.plain_decomposition import plain_alti, plain_decompx, plain_zeroing

TOKEN_IDS = torch.arange(5, 14)
#: A sentence of 36 tokens; the pairs of 28 of them are in memory at once.
LONG_IDS = TOKEN_IDS.repeat(4)
#: Families whose layers are those of a BERT.
LIKE_BERT = (
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "electra",
    "ernie",
    "data2vec-text",
    "layoutlm",
    "distilbert",
    "albert",
    "mpnet",
    "deberta-v2",
)


def hooked(folder: Path) -> HookedModel:
    """The hooked model of a checkpoint, in float64."""
    model = HookedModel(find_checkpoint(str(folder)), device=torch.device("cpu"), dtype=torch.float32)
    model.parts.module.double()
    return model


@pytest.fixture(scope="module")
def layers(odd_model: Path) -> list[TracedLayer]:
    return trace(hooked(odd_model), TOKEN_IDS)


@pytest.fixture(scope="module")
def plain(odd_model: Path) -> Any:
    """Transformers' own model, in float64."""
    return transformers.BertModel.from_pretrained(odd_model, attn_implementation="eager", dtype=torch.float64).eval()


@pytest.fixture(scope="module")
def hidden(plain: Any) -> list[torch.Tensor]:
    """Vectors (token, feature) before the first layer, and after each."""
    with torch.no_grad():
        return [vectors[0] for vectors in plain(TOKEN_IDS[None], output_hidden_states=True).hidden_states]


def test_parts_of_all_input_tokens_sum_to_the_vectors_of_the_model(
    layers: list[TracedLayer], hidden: list[torch.Tensor]
) -> None:
    for parts, expected in zip(decompose(layers), hidden[1:], strict=True):
        torch.testing.assert_close(parts.sum(1), expected, atol=1e-6, rtol=1e-6)


def test_the_parts_are_those_of_loops_over_the_tokens(layers: list[TracedLayer], plain: Any) -> None:
    for parts, expected in zip(decompose(layers), plain_decompx(plain, TOKEN_IDS), strict=True):
        np.testing.assert_allclose(parts.numpy(), expected, atol=1e-6)


def test_value_zeroing_is_what_zeroed_values_change(
    layers: list[TracedLayer], plain: Any, hidden: list[torch.Tensor]
) -> None:
    for number, layer in enumerate(plain.encoder.layer):
        expected = plain_zeroing(layer, hidden[number])
        np.testing.assert_allclose(value_zeroing(layers[number]).numpy(), expected, atol=1e-6, rtol=1e-5)


def test_alti_is_its_definition_token_by_token(
    layers: list[TracedLayer], plain: Any, hidden: list[torch.Tensor]
) -> None:
    for number, layer in enumerate(plain.encoder.layer):
        expected = plain_alti(layer, layers[number].pattern, hidden[number])
        np.testing.assert_allclose(alti(layers[number]).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("family", LIKE_BERT)
def test_the_decomposition_of_a_family_sums_to_its_vectors(family: str, tmp_path: Path) -> None:
    checkpoint = find_checkpoint(str(save_family(tmp_path / family, family)))
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32)
    model.listen_at_points([f"L{model.layers - 1:02d}.feedforward"])
    *_, last = decompose(trace(model, TOKEN_IDS))
    expected = model.run(TOKEN_IDS[None], None).points[f"L{model.layers - 1:02d}.feedforward"][0]
    torch.testing.assert_close(last.sum(1), expected, atol=1e-4, rtol=1e-4)


def test_pages_know_the_families_that_are_decomposed() -> None:
    assert set(LIKE_BERT) == DECOMPOSED_FAMILIES


@pytest.mark.parametrize("family", sorted({family.model_type for family in FAMILIES} - set(LIKE_BERT)))
def test_another_family_is_refused_in_one_sentence(family: str, tmp_path: Path) -> None:
    model = hooked(save_family(tmp_path / family, family))
    with pytest.raises(IngestError, match="cannot be decomposed: its layers are not those of a BERT"):
        trace(model, TOKEN_IDS)


def test_the_refusal_of_another_family_ends_with_what_its_caller_can_do(tmp_path: Path) -> None:
    model = hooked(save_family(tmp_path / "model", "modernbert"))
    with pytest.raises(IngestError, match=r"not those of a BERT\. Give a model with BERT's layers\.$"):
        trace(model, TOKEN_IDS, instead="Give a model with BERT's layers.")


def test_a_sentence_whose_parts_do_not_fit_into_memory_is_refused_in_one_sentence(layers: list[TracedLayer]) -> None:
    long = replace(layers[0], layer_input=torch.zeros(1, 64, dtype=torch.float64).expand(100_000, 64))
    with pytest.raises(IngestError, match=r"at most 1,448 tokens fit, and the text has 100,000\. Choose alti, or"):
        next(decompose([long]))


@pytest.fixture(scope="module")
def long_layers(odd_model: Path) -> list[TracedLayer]:
    return trace(hooked(odd_model), LONG_IDS)


def test_parts_of_a_sentence_give_the_same_as_all_of_it(long_layers: list[TracedLayer], plain: Any) -> None:
    with torch.no_grad():
        hidden = [vectors[0] for vectors in plain(LONG_IDS[None], output_hidden_states=True).hidden_states]
    for number, own in enumerate(plain.encoder.layer):
        expected = plain_alti(own, long_layers[number].pattern, hidden[number])
        np.testing.assert_allclose(alti(long_layers[number]).numpy(), expected, atol=1e-12)
        zeroed = plain_zeroing(own, hidden[number])
        np.testing.assert_allclose(value_zeroing(long_layers[number]).numpy(), zeroed, atol=1e-9)
    for parts, expected in zip(decompose(long_layers), plain_decompx(plain, LONG_IDS), strict=True):
        np.testing.assert_allclose(parts.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("method", ["alti", "value_zeroing", "decompx"])
def test_each_part_of_each_layer_is_told(odd_model: Path, method: str) -> None:
    layers = trace(hooked(odd_model), TOKEN_IDS.repeat(8))  # pairs of 14 of 72 tokens are in memory at once
    told: list[int] = []
    shares_by(layers, method, tell=told.append)
    assert sorted(set(told)) == list(range(len(layers)))
    assert told == sorted(told)
    assert told.count(0) >= 5


def test_value_zeroing_is_exact_in_32_bits_where_hardly_anything_changes(odd_model: Path) -> None:
    exact = hooked(odd_model)
    model = HookedModel(find_checkpoint(str(odd_model)), device=torch.device("cpu"), dtype=torch.float32)
    for each in (exact, model):
        for parts in each.parts.layers:  # attention adds a thousandth of the residual
            parts.output_map[0].data.mul_(1e-3)
    for own, expected in zip(trace(model, TOKEN_IDS), trace(exact, TOKEN_IDS), strict=True):
        np.testing.assert_allclose(value_zeroing(own).numpy(), value_zeroing(expected).numpy(), atol=2e-4)


@pytest.mark.parametrize("family", LIKE_BERT)
def test_the_logits_of_a_classifier_are_sums_over_input_tokens(family: str, tmp_path: Path) -> None:
    checkpoint = find_checkpoint(str(save_family(tmp_path / family, family, "classification")))
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32, classifies=True)
    *_, last = decompose(trace(model, TOKEN_IDS))
    found = decompose_answer(Answer.of(model, last.sum(1)), last)
    assert found is not None
    expected = getattr(transformers, BY_TYPE[family].architectures["classification"]).from_pretrained(tmp_path / family)
    with torch.no_grad():
        torch.testing.assert_close(found.sum(0), expected.eval()(TOKEN_IDS[None]).logits[0], atol=1e-4, rtol=1e-4)


def test_a_classifier_of_something_else_than_tokens_is_not_decomposed(tmp_path: Path) -> None:
    checkpoint = find_checkpoint(str(save_family(tmp_path / "bert", "bert", "classification")))
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32, classifies=True)
    *_, last = decompose(trace(model, TOKEN_IDS))
    pooler: Any = model.parts.module.pooler
    pooler.dense.register_forward_pre_hook(lambda _module, given: (2 * given[0],))
    assert decompose_answer(Answer.of(model, last.sum(1)), last) is None


@pytest.mark.parametrize("method", ["attention", "rollout", "norm", "globenc", "alti", "value_zeroing", "decompx"])
def test_rows_of_a_method_sum_to_one(tiny_model: Path, method: str) -> None:
    found = headscape.context_mixing(str(tiny_model), None, "the film was good", method=method)
    assert found.dims == ("layer", "query_token", "key_token")
    np.testing.assert_allclose(found.sum("key_token").values, 1, atol=1e-5)


def test_globenc_of_a_text_is_that_of_the_stored_sentence(tiny_store: str, tiny_model: Path) -> None:
    corpus = store.open_corpus(tiny_store)
    found = headscape.context_mixing(str(tiny_model), None, str(corpus.sentences.text.values[3]), rolled_out=True)
    np.testing.assert_allclose(found.values, corpus.context_mixing(3, rolled_out=True).values, atol=5e-4)


def test_pairs_of_tokens_sum_to_the_cosine_of_two_texts(tiny_model: Path) -> None:
    first, second = "the film was good", "a bad film"
    found = headscape.alike(str(tiny_model), None, first, second)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    model: Any = transformers.BertModel.from_pretrained(tiny_model).eval()
    with torch.no_grad():
        a, b = (model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0) for text in (first, second))
    assert float(found.sum()) == pytest.approx(float(torch.cosine_similarity(a, b, dim=0)), abs=1e-5)
    assert found.first_wordpiece.values[0] == "[CLS]"


@pytest.mark.parametrize("method", ["alti", "value_zeroing", "decompx"])
def test_a_method_of_a_stored_sentence_is_that_of_its_text(tiny_store: str, tiny_model: Path, method: str) -> None:
    corpus = headscape.open(tiny_store)
    text = str(corpus.sentences.text.values[3])
    expected = headscape.context_mixing(str(tiny_model), None, text, method=method, rolled_out=True)
    found = corpus.context_mixing(3, method, rolled_out=True)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-5)
    assert found.dims == expected.dims


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_model_object_of_16_bits_is_read_in_float32(tiny_model: Path, tmp_path: Path, dtype: torch.dtype) -> None:
    transformers.AutoModel.from_pretrained(tiny_model, dtype=dtype).save_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    own, exact = (transformers.AutoModel.from_pretrained(tmp_path, dtype=each) for each in (dtype, torch.float32))
    text, other = "the film was good", "a scene"
    np.testing.assert_allclose(
        headscape.alike(own, tokenizer, text, other), headscape.alike(exact, tokenizer, text, other), atol=1e-6
    )
    for method in ("globenc", "alti", "value_zeroing", "decompx"):
        found, expected = (
            headscape.context_mixing(model, tokenizer, text, method=method).values for model in (own, exact)
        )
        np.testing.assert_allclose(found, expected, atol=1e-6)
        np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    assert own.dtype == dtype


def test_an_unknown_method_of_a_text_is_told_with_the_known_ones(tiny_model: Path) -> None:
    with pytest.raises(IngestError, match=r"'saliency'\. Choose one of: attention, .*decompx\."):
        headscape.context_mixing(str(tiny_model), None, "the film", method="saliency")

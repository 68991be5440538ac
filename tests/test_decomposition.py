"""ALTI, Value Zeroing and DecompX of one sentence, against plain implementations in float64."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscape
import store
from ingest.encode.decomposition import LONGEST, TracedLayer, alti, decompose, trace, value_zeroing
from ingest.encode.hooked_model import HookedModel
from ingest.family import FAMILIES
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from tests.family_models import save_family

TOKEN_IDS = torch.arange(5, 14)
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
    """In float64."""
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


def test_value_zeroing_is_what_zeroed_values_change(
    layers: list[TracedLayer], plain: Any, hidden: list[torch.Tensor]
) -> None:
    for number, layer in enumerate(plain.encoder.layer):
        distances = torch.stack([_zeroed(layer, hidden[number], key) for key in range(len(TOKEN_IDS))], dim=1)
        expected = distances / distances.sum(dim=1, keepdim=True)
        torch.testing.assert_close(value_zeroing(layers[number]), expected, atol=1e-6, rtol=1e-5)


def _zeroed(layer: Any, vectors: torch.Tensor, key: int) -> torch.Tensor:
    """By how much the output of each token changes where a token has no value: (token,)."""

    def without(_module: Any, _inputs: Any, value: torch.Tensor) -> torch.Tensor:
        changed = value.clone()
        changed[:, key] = 0
        return changed

    with torch.no_grad():
        whole = layer(vectors[None])[0]
        hook = layer.attention.self.value.register_forward_hook(without)
        changed = layer(vectors[None])[0]
        hook.remove()
    whole, changed = (each.reshape(len(vectors), -1) for each in (whole, changed))
    return 1 - torch.cosine_similarity(whole, changed, dim=-1)


def test_alti_is_its_definition_token_by_token(
    layers: list[TracedLayer], plain: Any, hidden: list[torch.Tensor]
) -> None:
    for number, layer in enumerate(plain.encoder.layer):
        with torch.no_grad():
            expected = _alti(layer, layers[number].pattern, hidden[number])
        np.testing.assert_allclose(alti(layers[number]).numpy(), expected, atol=1e-6)


def _alti(layer: Any, pattern: torch.Tensor, vectors: torch.Tensor) -> np.ndarray:
    """Ferrando et al. 2022, equations 6 to 10, in loops."""
    output = layer.attention.output
    value = layer.attention.self.value(vectors).unflatten(-1, (len(pattern), -1))
    lengths = np.zeros((len(vectors), len(vectors)))
    for i in range(len(vectors)):
        mixed = [torch.cat([pattern[h, i, j] * value[j, h] for h in range(len(pattern))]) for j in range(len(vectors))]
        parts = [each @ output.dense.weight.T + (vectors[i] if i == j else 0) for j, each in enumerate(mixed)]
        whole = sum(parts) + output.dense.bias
        after = output.LayerNorm(whole)
        deviation = (whole.var(unbiased=False) + output.LayerNorm.eps).sqrt()
        for j, part in enumerate(parts):
            own = (part - part.mean()) / deviation * output.LayerNorm.weight
            lengths[i, j] = max(0.0, float(after.abs().sum() - (after - own).abs().sum()))
    shares: np.ndarray = lengths / lengths.sum(axis=1, keepdims=True)
    return shares


@pytest.mark.parametrize("family", LIKE_BERT)
def test_the_decomposition_of_a_family_sums_to_its_vectors(family: str, tmp_path: Path) -> None:
    checkpoint = find_checkpoint(str(save_family(tmp_path / family, family)))
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32)
    model.listen_at_points([f"L{model.layers - 1:02d}.feedforward"])
    *_, last = decompose(trace(model, TOKEN_IDS))
    expected = model.run(TOKEN_IDS[None], None).points[f"L{model.layers - 1:02d}.feedforward"][0]
    torch.testing.assert_close(last.sum(1), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", sorted({family.model_type for family in FAMILIES} - set(LIKE_BERT)))
def test_another_family_is_refused_in_one_sentence(family: str, tmp_path: Path) -> None:
    model = hooked(save_family(tmp_path / family, family))
    with pytest.raises(IngestError, match="cannot be decomposed: its layers are not those of a BERT"):
        trace(model, TOKEN_IDS)


def test_a_long_sentence_is_refused_in_one_sentence(odd_model: Path) -> None:
    with pytest.raises(IngestError, match=r"too long to be decomposed\. Give one of at most 128"):
        trace(hooked(odd_model), torch.ones(LONGEST + 1, dtype=torch.long))


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


def test_an_unknown_method_of_a_text_is_told_with_the_known_ones(tiny_model: Path) -> None:
    with pytest.raises(IngestError, match=r"'saliency'\. Choose one of: attention, .*decompx\."):
        headscape.context_mixing(str(tiny_model), None, "the film", method="saliency")

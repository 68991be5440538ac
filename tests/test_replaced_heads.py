"""Heads whose patterns are replaced, in `ingest.encode.hooked_model`: against transformers with attention written here, in float64."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ingest.encode.capture import Replaced
from ingest.encode.hooked_model import SentenceModel, Vectors
from ingest.run.checkpoint import find_checkpoint
from store.kernels.attention import attention_pattern
from tests.broken_model import change_config
from tests.edited_model import replace_heads
from tests.tiny_models import save_model

FIRST, SECOND = "The film was not very good.", "We loved the music."


@pytest.fixture(scope="module")
def model(any_family: Path) -> SentenceModel:
    return SentenceModel(find_checkpoint(str(any_family)), max_length=24, dtype="float32")


@pytest.fixture
def reference(any_family: Path, model: SentenceModel, eager: Callable[[Path], Any]) -> Callable[[Replaced], Any]:
    """Queries, keys (layer, head, token, channel) and last vectors (token, feature) of the pair."""

    def run(replaced: Replaced) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        whole, pair = eager(any_family), model.tokenize(FIRST, SECOND)
        replace_heads(whole, replaced)
        inputs = {"input_ids": pair.tokens.token_id, "token_type_ids": pair.token_type}
        with torch.no_grad():
            rows = {name: torch.from_numpy(row.astype(np.int64))[None] for name, row in inputs.items()}
            last = whole.base_model(**rows).last_hidden_state[0]
        own_layers = [layer.attention.self for layer in whole.base_model.encoder.layer]
        query, key = (torch.stack([getattr(own, role) for own in own_layers]) for role in ("query", "key"))
        return query.numpy(), key.numpy(), last.numpy()

    return run


def run(model: SentenceModel, replaced: Replaced) -> Vectors:
    pair = model.tokenize(FIRST, SECOND)
    return model.run(pair.tokens, pair.token_type, replaced, products=True)


def replacements(model: SentenceModel) -> dict[str, Replaced]:
    """Replacements by name: zero, even and random weights of some heads."""
    tokens = len(model.tokenize(FIRST, SECOND).tokens.token_id)
    chance = np.random.default_rng(0).dirichlet(np.ones(tokens), size=tokens)
    off, even = np.zeros((tokens, tokens)), np.full((tokens, tokens), 1 / tokens)
    return {
        "nothing": {},
        "off": {(0, 1): off},
        "even": {(0, 0): even, (1, 1): even},
        "chance": {(0, 0): chance, (0, 1): off, (1, 0): chance},
    }


@pytest.mark.parametrize("name", ["nothing", "off", "even", "chance"])
def test_a_pass_with_other_patterns_is_an_edited_pass_of_transformers(
    name: str, model: SentenceModel, reference: Callable[[Replaced], Any]
) -> None:
    replaced = replacements(model)[name]
    found = run(model, replaced)
    for array, expected in zip((found.query, found.key, found.last), reference(replaced), strict=True):
        np.testing.assert_allclose(array, expected, atol=1e-5)


def test_own_patterns_put_back_change_nothing(model: SentenceModel) -> None:
    own = run(model, {})
    pattern = attention_pattern(own.query.astype(np.float64), own.key.astype(np.float64))
    back = run(model, {head: pattern[head] for head in np.ndindex(pattern.shape[:2])})
    for name, array in vars(own).items():
        rounding = 2e-6 * np.abs(array, dtype=np.float64).max(initial=0)
        np.testing.assert_allclose(getattr(back, name), array, atol=rounding, rtol=0, err_msg=name)


def test_only_what_comes_later_changes(model: SentenceModel) -> None:
    own, changed = run(model, {}), run(model, replacements(model)["off"])
    np.testing.assert_array_equal(changed.query[0], own.query[0])
    assert np.abs(changed.query[1] - own.query[1]).max() > 1e-3


def test_a_head_attends_again_after_it_was_off(model: SentenceModel) -> None:
    own = run(model, {})
    run(model, replacements(model)["off"])
    np.testing.assert_array_equal(run(model, {}).last, own.last)


def test_a_classifier_with_other_answers_than_its_config_names_encodes_sentences(tmp_path: Path) -> None:
    """Old checkpoints are like this: their config.json has only the number of labels."""
    folder = save_model(
        tmp_path / "model", architecture="BertForSequenceClassification", labels=("bad", "good", "neither")
    )
    change_config(folder, id2label=None, label2id=None, num_labels=3)
    odd = SentenceModel(find_checkpoint(str(folder)), max_length=24, dtype="float32")
    assert odd.class_names == ()
    assert run(odd, {}).answer.size == 0

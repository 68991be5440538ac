"""The loss that pictures are trained for: against scipy, query by query, and its gradient against torch's own."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from scipy.stats import pearsonr, rankdata
from torch import Tensor

from ingest.projections import attention_loss
from ingest.projections.attention_loss import Target, across_sentences, gradient, in_sentence, squared_distance
from store.kernels.bias import AttentionBias, LayerBias, Mask

TOKENS, CHANNELS = 7, 5
#: Two heads, three sentences, and the mask of their tokens without padding.
HEADS, SENTENCES = 2, 3
REAL = np.arange(TOKENS) < np.array([[7], [4], [2]])


@pytest.fixture
def vectors() -> np.ndarray:
    """Queries and keys (role, token, channel)."""
    return np.random.default_rng(0).standard_normal((2, TOKENS, CHANNELS)).astype(np.float32) * 2


@pytest.fixture
def places() -> np.ndarray:
    """Random places (role, token, component)."""
    return np.random.default_rng(1).standard_normal((2, TOKENS, 2)).astype(np.float32)


def loss(target: Target, query: Tensor, key: Tensor) -> Tensor:
    """The loss of places (..., token, component) by torch: the module computes its gradient."""
    square = squared_distance(query, key)
    hidden = torch.zeros_like(square, dtype=torch.bool) if target.hidden is None else target.hidden
    shown = torch.log_softmax((-square).masked_fill(hidden, -1e9), -1)
    losses = -(target.shares * shown.clamp(min=math.log(attention_loss.FAINTEST))).sum(-1)
    if target.order is not None:
        distance = (square.clamp(min=0) + attention_loss.SMALLEST_SQUARE).sqrt()
        real = (~hidden).to(distance.dtype)
        centred = (distance - (distance * real).sum(-1, keepdim=True) / real.sum(-1, keepdim=True)) * real
        length = ((centred * centred).sum(-1, keepdim=True) + attention_loss.SMALLEST_SPREAD).sqrt()
        losses = losses + attention_loss.ORDER * (1 - (target.order * centred / length).sum(-1))
    return (losses * target.weight[..., 0]).sum()


def weights_by_hand(logits: np.ndarray) -> np.ndarray:
    return 0.5 * softmax(logits, axis=-1) + 0.5 * softmax(logits / attention_loss.TEMPERATURE, axis=-1)


def loss_by_hand(query: np.ndarray, key: np.ndarray, query_place: np.ndarray, key_place: np.ndarray) -> np.ndarray:
    """The loss of every query, from its three parts written out."""
    logits = query.astype(np.float64) @ key.T / np.sqrt(CHANNELS)
    shown = log_softmax(-(cdist(query_place, key_place) ** 2), axis=-1)
    nearest = (rankdata(-logits, axis=-1) <= 3) / 3
    order = [
        pearsonr(rankdata(-row), away).statistic
        for row, away in zip(logits, cdist(query_place, key_place), strict=True)
    ]
    target = attention_loss.WEIGHTS * weights_by_hand(logits) + attention_loss.NEAREST * nearest
    return -(target * shown).sum(axis=-1) + attention_loss.ORDER * (1 - np.array(order))


def tensors_of(arrays: np.ndarray) -> list[Tensor]:
    """Tensors with two leading dims of size 1: head and sentence."""
    return [torch.from_numpy(array)[None, None] for array in arrays]


def random_places(*shape: int, seed: int, spread: float = 1) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) * spread for _ in range(2)]


def test_the_loss_in_a_sentence_is_order_nearest_keys_and_weights(vectors: np.ndarray, places: np.ndarray) -> None:
    target = in_sentence(*tensors_of(vectors), torch.ones((1, TOKENS), dtype=torch.bool))
    expected = loss_by_hand(*vectors, *places).mean()
    assert float(loss(target, *tensors_of(places))) == pytest.approx(expected, rel=1e-4)


def test_padding_changes_no_query(vectors: np.ndarray, places: np.ndarray) -> None:
    """The last two tokens are padding: the loss is that of the others alone."""
    target = in_sentence(*tensors_of(vectors), torch.arange(TOKENS)[None] < TOKENS - 2)
    expected = loss_by_hand(*vectors[:, : TOKENS - 2], *places[:, : TOKENS - 2]).mean()
    assert float(loss(target, *tensors_of(places))) == pytest.approx(expected, rel=1e-4)


def test_keys_in_the_order_of_attention_have_less_loss_than_in_the_reverse(vectors: np.ndarray) -> None:
    """Keys on a line, the most attended nearest to a query at 0; then the farthest."""
    query, key = vectors
    order = rankdata(-(query[0] @ key.T)).astype(np.float32) / 3
    line = np.stack([order, 0 * order], axis=-1)
    logits = query[:1] @ key.T
    target = Target(
        shares=torch.zeros(1, TOKENS),
        order=torch.from_numpy(rankdata(-logits) - 4)[None] / np.sqrt(28),
        hidden=None,
        weight=torch.ones(1, 1),
    )
    at_zero = torch.zeros(1, 2)
    ordered, reverse = (float(loss(target, at_zero, torch.from_numpy(place))) for place in (line, line.max() - line))
    assert ordered < reverse - attention_loss.ORDER


def test_the_loss_across_sentences_is_of_the_weights_alone(vectors: np.ndarray, places: np.ndarray) -> None:
    logits = vectors[0].astype(np.float64) @ vectors[1].T / np.sqrt(CHANNELS)
    expected = -(weights_by_hand(logits) * log_softmax(-(cdist(*places) ** 2), axis=-1)).sum(axis=-1).mean()
    target = across_sentences(*tensors_of(vectors), weight=0.3)
    assert float(loss(target, *tensors_of(places))) == pytest.approx(0.3 * expected, rel=1e-4)


@pytest.mark.parametrize("spread", [1, 30])
@pytest.mark.parametrize("real", [REAL, np.ones_like(REAL)])
def test_the_gradient_in_sentences_is_that_of_autograd(real: np.ndarray, spread: float) -> None:
    """Places 30 times as far: some keys are too far to pull."""
    query, key = random_places(HEADS, SENTENCES, TOKENS, CHANNELS, seed=0)
    target = in_sentence(query, key, torch.from_numpy(real))
    places = random_places(HEADS, SENTENCES, TOKENS, 3, seed=1, spread=spread)
    expected = torch.autograd.grad(loss(target, *(place.requires_grad_() for place in places)), places)
    for computed, own in zip(gradient(target, *(place.detach() for place in places)), expected, strict=True):
        torch.testing.assert_close(computed, own)


def test_the_gradient_across_sentences_is_that_of_autograd() -> None:
    target = across_sentences(*random_places(HEADS, TOKENS, CHANNELS, seed=0), weight=0.3)
    places = random_places(HEADS, TOKENS, 2, seed=1)
    expected = torch.autograd.grad(loss(target, *(place.requires_grad_() for place in places)), places)
    for computed, own in zip(gradient(target, *(place.detach() for place in places)), expected, strict=True):
        torch.testing.assert_close(computed, own)


@pytest.mark.parametrize("real", [1, 2])
def test_a_sentence_with_fewer_keys_than_recall_looks_for_has_a_finite_gradient(
    real: int, vectors: np.ndarray, places: np.ndarray
) -> None:
    target = in_sentence(*tensors_of(vectors), torch.arange(TOKENS)[None] < real)
    assert all(torch.isfinite(slope).all() for slope in gradient(target, *tensors_of(places)))


def test_padding_has_no_gradient(vectors: np.ndarray, places: np.ndarray) -> None:
    target = in_sentence(*tensors_of(vectors), torch.arange(TOKENS)[None] < 4)
    assert not any(slope[..., 4:, :].any() for slope in gradient(target, *tensors_of(places)))


def test_keys_that_a_query_does_not_see_are_no_part_of_its_target(vectors: np.ndarray) -> None:
    query, key = torch.from_numpy(vectors)[:, None, None]
    bias = AttentionBias([LayerBias(Mask(causal=True))])
    shares = in_sentence(query, key, torch.ones(1, TOKENS, dtype=torch.bool), bias).shares[0, 0].numpy()
    np.testing.assert_array_equal(np.triu(shares, 1), 0)
    np.testing.assert_allclose(shares.sum(axis=-1), attention_loss.WEIGHTS + attention_loss.NEAREST, rtol=1e-6)


@pytest.mark.parametrize("bias", [LayerBias(Mask(causal=True)), LayerBias(Mask(window=1))])
def test_keys_that_a_query_does_not_see_share_the_mean_of_the_last_ranks(bias: LayerBias, vectors: np.ndarray) -> None:
    """Sentences have padding or none; padding has no rank."""
    query, key = (torch.from_numpy(np.stack([each] * SENTENCES))[None] for each in vectors)
    order = in_sentence(query, key, torch.from_numpy(REAL), AttentionBias([bias])).order
    assert order is not None
    logits = np.where(bias.mask.pairs(TOKENS), vectors[0] @ vectors[1].T / np.sqrt(CHANNELS), -np.inf)
    for own, tokens in zip(order[0].numpy(), REAL.sum(axis=-1), strict=True):
        ranks = rankdata(-logits[:tokens, :tokens], axis=-1)
        centred = ranks - ranks.mean(axis=-1, keepdims=True)
        expected = centred / np.linalg.norm(centred, axis=-1, keepdims=True)
        np.testing.assert_allclose(own[:tokens, :tokens], expected, atol=1e-5)
        np.testing.assert_array_equal(own[:tokens, tokens:], 0)

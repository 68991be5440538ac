"""Projection `attention`: reproducible, the same for raw vectors as for standardised ones, and worth its training."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import spearmanr

from ingest.projections import attention_projection
from ingest.projections.attention_loss import Batches, Lessons
from ingest.projections.attention_projection import AttentionProjection, Networks, train
from ingest.projections.normalizations import LayerVectors
from ingest.run.parallel import fits_on
from store.kernels.projection import fit_pca, place, place_by_network
from store.schema.pictures import ViewName

pytestmark = pytest.mark.slow

HEADS, CHANNELS = 2, 6
SIZES = np.array([7, 12, 9, 7, 15, 10] * 8)
Trained = dict[str, np.ndarray]


@pytest.fixture(autouse=True)
def fits_in_a_thread() -> Iterator[None]:
    """Fits run in a thread: a new process would need seconds for its imports."""
    with ThreadPoolExecutor(1) as fits, fits_on(fits, workers=1):
        yield


def random_vectors(seed: int = 0) -> np.ndarray:
    """Queries and keys (role, head, token, channel), far from standardised."""
    shape = (2, HEADS, int(SIZES.sum()), CHANNELS)
    return (2 * np.random.default_rng(seed).standard_normal(shape) + 1).astype(np.float32)


def trained(vectors: np.ndarray, *, steps: int, seed: int = 0, components: int = 2, **settings: int) -> Trained:
    query, key = map(torch.from_numpy, vectors)
    settings |= {"components": components, "seed": seed, "steps": steps}
    return dict(train(query, key, SIZES, advance=lambda: None, **settings))


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return random_vectors()


@pytest.fixture(scope="module")
def network(vectors: np.ndarray) -> Trained:
    return trained(vectors, steps=300)


def random_networks(components: int) -> Networks:
    networks = Networks(
        HEADS, CHANNELS, components, generator=torch.Generator().manual_seed(0), device=torch.device("cpu")
    )
    networks.parameters += 0.1  # no bias is 0
    return networks


def places_of(network: Trained, vectors: np.ndarray) -> np.ndarray:
    """Places by a network (role, head, token, component)."""
    own = [{name: array[:, role] for name, array in network.items()} for role in range(2)]
    return np.stack([place_by_network(both_roles, **weights) for both_roles, weights in zip(vectors, own, strict=True)])


def faithfulness(vectors: np.ndarray, places: np.ndarray) -> float:
    """Spearman correlation of attention and distance, mean over queries, sentences and heads; -1 is perfect."""
    correlations = []
    for stop, size in zip(np.cumsum(SIZES), SIZES, strict=True):
        rows = slice(stop - size, stop)
        for head in range(HEADS):
            query, key = vectors[:, head, rows]
            pattern = softmax(query @ key.T / np.sqrt(CHANNELS), axis=-1)
            distance = cdist(*places[:, head, rows])
            correlations += [spearmanr(*both).statistic for both in zip(pattern, distance, strict=True)]
    return float(np.mean(correlations))


def test_networks_of_a_single_token_place_it_somewhere(vectors: np.ndarray) -> None:
    query, key = map(torch.from_numpy, vectors[:, :, :1])
    found = dict(train(query, key, np.array([1]), components=2, seed=0, steps=2, advance=lambda: None))
    assert np.isfinite(places_of(found, vectors[:, :, :1])).all()


def test_the_same_seed_gives_the_same_network_bit_for_bit(vectors: np.ndarray) -> None:
    first, other = (trained(vectors, steps=20, seed=3) for _ in range(2))
    for name, array in first.items():
        np.testing.assert_array_equal(array, other[name])


def test_another_seed_gives_another_network(vectors: np.ndarray) -> None:
    first, other = (trained(vectors, steps=20, seed=seed) for seed in (3, 4))
    assert not np.array_equal(first["weight_in"], other["weight_in"])


def test_training_beats_principal_components_and_a_random_start(vectors: np.ndarray, network: Trained) -> None:
    axes = [fit_pca(np.concatenate(list(vectors[:, head])), components=2)[:2] for head in range(HEADS)]
    by_pca = np.stack(
        [np.stack([place(head_vectors[head], *axes[head]) for head in range(HEADS)]) for head_vectors in vectors]
    )
    start = places_of(trained(vectors, steps=1), vectors)
    by_training = faithfulness(vectors, places_of(network, vectors))
    assert by_training < min(faithfulness(vectors, by_pca), faithfulness(vectors, start)) - 0.1


def test_what_was_trained_holds_for_tokens_it_has_not_seen(network: Trained) -> None:
    """The network was trained on noise: what holds for other noise was learnt from dot products."""
    unseen = random_vectors(seed=1)
    assert faithfulness(unseen, places_of(network, unseen)) < -0.4


@pytest.mark.parametrize("components", [2, 3])
def test_the_first_layer_takes_over_the_standardisation(components: int, vectors: np.ndarray) -> None:
    """A network for raw vectors places them where the network for standardised vectors does."""
    tensors = torch.from_numpy(vectors).transpose(0, 1)
    mean, spread = tensors.mean(dim=2, keepdim=True), tensors.std(dim=2, keepdim=True)
    weights = random_networks(components).weights
    expected = place_by_network((tensors - mean) / spread, **weights).numpy()
    folded = attention_projection._for_raw_vectors(weights, mean, spread)
    placed = place_by_network(np.swapaxes(vectors, 0, 1), **folded)
    np.testing.assert_allclose(placed, expected, atol=1e-4)


def test_a_network_gives_the_same_places_in_numpy_and_torch(vectors: np.ndarray, network: Trained) -> None:
    tensors = {name: torch.from_numpy(array) for name, array in network.items()}
    both = np.swapaxes(vectors, 0, 1).copy()
    placed = place_by_network(torch.from_numpy(both), **tensors).numpy()
    np.testing.assert_allclose(placed, place_by_network(both, **network), rtol=1e-4, atol=1e-4)


def swish(value: float) -> float:
    return value / (1 + np.exp(-value))


def test_a_network_by_hand() -> None:
    """A network of one channel and one unit a layer: 3 x + 1, swish, times 4 minus 2, swish, times 2 minus 5."""
    first, second = (np.array(array) for array in ([[3.0]], [1.0])), (np.array(array) for array in ([[2.0]], [-5.0]))
    middle = {"weight_middle": np.array([[4.0]]), "bias_middle": np.array([-2.0])}
    expected = 2 * swish(4 * swish(3 * 0.5 + 1) - 2) - 5
    assert place_by_network(np.array([[0.5]]), *first, *second, **middle) == pytest.approx(expected)


def test_a_network_of_an_earlier_version_by_hand() -> None:
    """A network with a single hidden layer: 3 x + 1, swish, times 2 minus 5."""
    placed = place_by_network(np.array([[0.5]]), *(np.array(array) for array in ([[3.0]], [1.0], [[2.0]], [-5.0])))
    assert placed == pytest.approx(2 * swish(3 * 0.5 + 1) - 5)


def test_the_networks_place_as_the_kernel(vectors: np.ndarray) -> None:
    networks, both = random_networks(2), torch.from_numpy(vectors).transpose(0, 1)
    torch.testing.assert_close(networks.place(both), place_by_network(both, **networks.weights))


def test_the_gradient_of_the_networks_is_that_of_autograd(vectors: np.ndarray) -> None:
    networks, both = random_networks(2), torch.from_numpy(vectors).transpose(0, 1)
    slopes = torch.randn(networks.place(both).shape, generator=torch.Generator().manual_seed(1)) / 100
    networks.set_gradient(slopes)
    weights = {name: weight.clone().requires_grad_() for name, weight in networks.weights.items()}
    place_by_network(both, **weights).backward(slopes)
    for name, weight in weights.items():
        torch.testing.assert_close(networks.gradients[name], weight.grad, rtol=1e-4, atol=1e-4)


def test_a_batch_is_whole_sentences_of_the_sample_and_says_what_is_padding() -> None:
    batches, stops = Batches.of(SIZES), np.cumsum(SIZES)
    spans = {(stop - size, stop) for stop, size in zip(stops, SIZES, strict=True)}
    for places, real in zip(batches.rows, batches.real, strict=True):
        assert {(int(row[0]), int(row[0]) + int(own.sum())) for row, own in zip(places, real, strict=True)} <= spans
        for row, own in zip(places, real, strict=True):
            np.testing.assert_array_equal(row[own], np.arange(int(row[0]), int(row[0]) + int(own.sum())))


def test_every_token_is_in_one_batch() -> None:
    batches = Batches.of(SIZES)
    rows = np.concatenate([rows[real] for rows, real in zip(batches.rows, batches.real, strict=True)])
    assert sorted(rows.tolist()) == list(range(SIZES.sum()))


def test_a_batch_is_as_likely_as_it_has_sentences() -> None:
    batches = Batches.of(SIZES)
    assert torch.bincount(batches.of_sentence).tolist() == [len(rows) for rows in batches.rows]


def test_lessons_that_are_not_kept_are_the_same_when_they_are_drawn_again(vectors: np.ndarray) -> None:
    kept, drawn_again = trained(vectors, steps=40), trained(vectors, steps=40, most_kept=0)
    np.testing.assert_array_equal(kept["weight_in"], drawn_again["weight_in"])


def test_no_more_numbers_are_kept_than_allowed(vectors: np.ndarray) -> None:
    points, generator = torch.from_numpy(vectors).transpose(0, 1).contiguous(), torch.Generator().manual_seed(0)
    lessons = Lessons(points, SIZES, generator, most_kept=50_000)
    drawn = [lessons.draw() for _ in range(50)]
    targets = {id(lesson.target): lesson.target for lesson in lessons._kept.values()}
    assert len(drawn) > len(targets) > 0
    numbers = [target.shares.numel() * (1 if target.order is None else 2) for target in targets.values()]
    assert sum(numbers) <= 50_000


def test_layers_are_fitted_one_by_one_in_order_with_a_seed_each(vectors: np.ndarray) -> None:
    projection = AttentionProjection(ViewName("attention", "raw", 2), SIZES, seed=7, device="cpu", steps=5)
    fits = list(projection.begin([2, 0], lambda _: (vectors[0], vectors[1]))(lambda _: None))
    assert [layer for layer, *_ in fits] == [2, 0]
    for layer, parameters, _ in fits:
        expected = trained(vectors, steps=5, seed=7 + layer)
        np.testing.assert_array_equal(parameters["weight_in"], expected["weight_in"])


def test_progress_of_a_layer_adds_up_to_one(vectors: np.ndarray) -> None:
    parts: list[float] = []
    advance: Callable[[float], Any] = parts.append
    projection = AttentionProjection(ViewName("attention", "raw", 3), SIZES, seed=0, device="cpu", steps=5)
    list(projection.begin([0, 1], lambda _: (vectors[0], vectors[1]))(advance))
    assert sum(parts) == pytest.approx(2)


def test_torch_has_all_its_threads_after_the_training(vectors: np.ndarray) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        projection = AttentionProjection(ViewName("attention", "raw", 2), SIZES, seed=0, device="cpu", steps=1)
        list(projection.begin([0, 1], lambda _: (vectors[0], vectors[1]))(lambda _: None))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_places_of_a_layer_are_those_of_its_two_networks(vectors: np.ndarray, network: Trained) -> None:
    projection = AttentionProjection(ViewName("attention", "raw", 2), SIZES, seed=0, device="cpu")
    placed = projection.place(0, network, LayerVectors(*vectors), 0)
    np.testing.assert_array_equal(placed, np.swapaxes(places_of(network, vectors), 0, 1))

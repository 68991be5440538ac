"""Projection `attention`: a small network per head, trained so that distance in the picture stands for attention.

Queries and keys go through a network each, with two hidden layers, into the same plane or space. The loss
(`attention_loss.py`) is taken over the keys of a sentence, and over keys from anywhere in the corpus so that sentences
keep their place to each other. All heads are trained at once, each with its own weights; a new token is placed by the
formula.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.projections.attention_loss import loss_across_sentences, loss_in_sentence
from ingest.projections.methods import Advance, Parameters, Read
from ingest.run.parallel import one_thread_each
from store.kernels.projection import place_by_network
from store.schema.pictures import PARAMETERS, ViewName

#: Units of the two hidden layers.
HIDDEN, MIDDLE = 32, 32
STEPS = 1000
#: Tokens of a step: sentences of like length, one after the other in their order by length. Three times as many took two and
#: a half times as long, and no measure of a picture differed by more than 0.003.
TOKENS = 128
LEARNING_RATE = 0.02
#: Weight of the loss over keys from anywhere, and how many queries and keys it takes a step.
ACROSS, ANYWHERE = 0.3, 96

Floats = NDArray[np.floating]


class AttentionProjection:
    """Trains all heads of a layer together; on a GPU all layers at once, on a CPU one layer per core."""

    placed = "by the same formula: a network with two hidden layers for queries and another for keys"

    def __init__(self, name: ViewName, sizes: NDArray[np.int64], *, seed: int, device: str) -> None:
        self.components, self.sizes, self.seed, self.device = name.components, sizes, seed, torch.device(device)

    def fits(self, layers: list[int], read: Read, advance: Advance) -> Iterator[tuple[int, Parameters]]:
        """The parameters of every layer."""
        together = len(layers) if self.device.type != "cpu" else 1
        groups = [layers[start : start + together] for start in range(0, len(layers), together)]
        workers = cpu_count() if len(groups) > 1 else 1
        with one_thread_each(workers), ThreadPoolExecutor(workers, "train") as pool:
            for group, parameters in zip(
                groups, pool.map(lambda group: self._fit(group, read, advance), groups), strict=True
            ):
                heads = len(next(iter(parameters.values()))) // len(group)
                for place, layer in enumerate(group):
                    own = slice(place * heads, (place + 1) * heads)
                    yield layer, {name: array[own] for name, array in parameters.items()}

    def _fit(self, layers: list[int], read: Read, advance: Advance) -> Parameters:
        both = [read(layer) for layer in layers]
        query, key = (
            torch.from_numpy(np.concatenate(each).astype(np.float32)).to(self.device)
            for each in zip(*both, strict=True)
        )
        part = len(layers) / STEPS
        return train(
            query,
            key,
            self.sizes,
            components=self.components,
            seed=self.seed + layers[0],
            advance=lambda: advance(part),
        )

    def place(self, layer: int, parameters: Parameters, query: Floats, key: Floats, first: int) -> Floats:  # noqa: ARG002
        """Places (head, role, token, component)."""
        own = [{name: parameters[name][:, role] for name in PARAMETERS["attention"]} for role in range(2)]
        return np.stack(
            [place_by_network(vectors, **parameters) for vectors, parameters in zip((query, key), own, strict=True)],
            axis=1,
        )


@dataclass(frozen=True)
class Sentences:
    """First token and length of the sentences of the training sample: (sentence,) each, shortest first."""

    start: Tensor
    size: Tensor

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> "Sentences":
        """Sentences of these lengths, one after the other."""
        order = np.argsort(sizes, kind="stable")
        start = np.cumsum(sizes) - sizes
        return cls(torch.from_numpy(start[order]), torch.from_numpy(sizes[order]))

    def draw(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """A batch of like length: places in the sample and which are real, (sentence, token) each."""
        first = int(torch.randint(len(self.size), (1,), generator=generator))
        count = max(1, TOKENS // int(self.size[first]))
        start, size = self.start[first : first + count], self.size[first : first + count]
        offset = torch.arange(int(size.max()))
        return start[:, None] + torch.minimum(offset, size[:, None] - 1), offset < size[:, None]


def train(
    query: Tensor,
    key: Tensor,
    sizes: NDArray[np.int64],
    *,
    components: int,
    seed: int,
    advance: Callable[[], object],
) -> Parameters:
    """Train the networks of all heads on queries and keys (head, token, channel) of sentences of these sizes.

    Returns
    -------
    The arrays `store.schema.pictures.PARAMETERS["attention"]` of these heads, for raw queries and keys.
    """
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.stack([query, key], dim=1)
    mean, spread = vectors.mean(dim=2, keepdim=True), vectors.std(dim=2, keepdim=True) + 1e-6
    weights = _start(len(query), query.shape[-1], components, generator, query.device)
    sentences = Sentences.of(sizes)
    optimizer = torch.optim.Adam(weights.values(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=STEPS)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = _within(vectors, mean, spread, weights, *sentences.draw(generator))
        loss = loss + ACROSS * _across(vectors, mean, spread, weights, generator)
        loss.backward()
        optimizer.step()
        schedule.step()
        advance()
    return _for_raw_vectors(weights, mean, spread)


def _start(
    heads: int, channels: int, components: int, generator: torch.Generator, device: torch.device
) -> dict[str, Tensor]:
    def normal(*shape: int) -> Tensor:
        values = torch.randn((heads, 2, *shape), generator=generator) * shape[0] ** -0.5
        return values.to(device).requires_grad_()

    def zeros(size: int) -> Tensor:
        return torch.zeros((heads, 2, size), device=device, requires_grad=True)

    return {
        "weight_in": normal(channels, HIDDEN),
        "bias_in": zeros(HIDDEN),
        "weight_middle": normal(HIDDEN, MIDDLE),
        "bias_middle": zeros(MIDDLE),
        "weight_out": normal(MIDDLE, components),
        "bias_out": zeros(components),
    }


def _within(
    vectors: Tensor, mean: Tensor, spread: Tensor, weights: dict[str, Tensor], places: Tensor, real: Tensor
) -> Tensor:
    """Loss over the keys of each query's sentence, mean over queries."""
    device = vectors.device
    both = vectors[:, :, places.flatten().to(device)]
    located = place_by_network((both - mean) / spread, **weights).unflatten(2, places.shape)
    query, key = both.unflatten(2, places.shape).unbind(1)
    hidden = ~real.to(device)[None, :, None, :]
    losses = loss_in_sentence(query, key, located[:, 0], located[:, 1], hidden)
    return (losses * real.to(device)).sum() / real.sum()


def _across(
    vectors: Tensor, mean: Tensor, spread: Tensor, weights: dict[str, Tensor], generator: torch.Generator
) -> Tensor:
    """Loss over keys from anywhere, mean over queries."""
    tokens = vectors.shape[2]
    drawn = torch.randint(tokens, (2 * min(ANYWHERE, tokens),), generator=generator).to(vectors.device)
    both = vectors[:, :, drawn]
    located = place_by_network((both - mean) / spread, **weights)
    half = len(drawn) // 2
    losses = loss_across_sentences(both[:, 0, :half], both[:, 1, half:], located[:, 0, :half], located[:, 1, half:])
    return losses.mean(dim=-1).sum()


def _for_raw_vectors(weights: dict[str, Tensor], mean: Tensor, spread: Tensor) -> Parameters:
    """The same networks for vectors that are not standardised: the first layer takes that over."""
    with torch.no_grad():
        weight_in = weights["weight_in"] / spread.transpose(-1, -2)
        bias_in = weights["bias_in"] - (mean @ weight_in)[:, :, 0]
        arrays = {**weights, "weight_in": weight_in, "bias_in": bias_in}
        return {name: array.detach().float().cpu().numpy() for name, array in arrays.items()}

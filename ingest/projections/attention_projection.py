"""Projection `attention`: a small network per head, trained so that distance in the picture stands for attention.

Queries and keys go through a network each, with two hidden layers, into the same plane or space. The loss
(`attention_loss.py`) is taken over the keys of a sentence, and over keys from anywhere in the corpus so that sentences
keep their place to each other. All heads are trained at once, each with its own weights; a new token is placed by the
formula.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import silu

from ingest.projections.attention_loss import loss_across_sentences, loss_in_sentence
from ingest.projections.methods import Advance, Parameters, Read
from ingest.run.parallel import fit_later, one_thread_each
from store.kernels.projection import place_by_network
from store.schema.pictures import PARAMETERS, ViewName

#: Units of the two hidden layers.
HIDDEN, MIDDLE = 32, 32
#: A thousand took longer, and no measure of a picture differed by more than 0.005.
STEPS = 700
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
        if self.device.type == "cpu":
            yield from self._fits_side_by_side(layers, read, advance)
        else:
            yield from self._fits_together(layers, read, advance)

    def _fits_side_by_side(self, layers: list[int], read: Read, advance: Advance) -> Iterator[tuple[int, Parameters]]:
        """One layer a core, in processes: the many small steps of threads would wait for each other's interpreter."""
        fit = partial(train_layer, sizes=self.sizes, components=self.components, seed=self.seed, steps=STEPS)
        futures = [fit_later(fit, partial(_with_layer, read, layer)) for layer in layers]
        for layer, future in zip(layers, futures, strict=True):
            parameters = future.result()
            advance(1)
            yield layer, parameters

    def _fits_together(self, layers: list[int], read: Read, advance: Advance) -> Iterator[tuple[int, Parameters]]:
        """All layers at once on a GPU."""
        both = [read(layer) for layer in layers]
        query, key = (
            torch.from_numpy(np.concatenate(each).astype(np.float32)).to(self.device)
            for each in zip(*both, strict=True)
        )
        part = len(layers) / STEPS
        seed = self.seed + layers[0]
        parameters = train(
            query, key, self.sizes, components=self.components, seed=seed, steps=STEPS, advance=lambda: advance(part)
        )
        heads = len(query) // len(layers)
        for place, layer in enumerate(layers):
            yield layer, {name: array[place * heads :][:heads] for name, array in parameters.items()}

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


def _with_layer(read: Read, layer: int) -> tuple[int, Floats, Floats]:
    query, key = read(layer)
    return layer, query, key


def train_layer(
    vectors: tuple[int, Floats, Floats], *, sizes: NDArray[np.int64], components: int, seed: int, steps: int
) -> Parameters:
    """Train the networks of a layer, given with its queries and keys (head, token, channel), on one core: in any process the same."""
    layer, *both = vectors
    query, key = (torch.from_numpy(each.astype(np.float32)) for each in both)
    with one_thread_each(None):
        return train(query, key, sizes, components=components, seed=seed + layer, steps=steps, advance=lambda: None)


def train(
    query: Tensor,
    key: Tensor,
    sizes: NDArray[np.int64],
    *,
    components: int,
    seed: int,
    steps: int,
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
    tokens = Tokens.of(vectors, (vectors - mean) / spread)
    weights = _start(len(query), query.shape[-1], components, generator, query.device)
    sentences = Sentences.of(sizes)
    optimizer = torch.optim.Adam(weights.values(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = _within(tokens, weights, *sentences.draw(generator))
        loss = loss + ACROSS * _across(tokens, weights, generator)
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


@dataclass(frozen=True)
class Tokens:
    """Vectors (token, head, role, channel) of all tokens, and the same standardised: those of a token lie side by side."""

    raw: Tensor
    standardized: Tensor

    @classmethod
    def of(cls, *both: Tensor) -> "Tokens":
        """From two arrays (head, role, token, channel)."""
        return cls(*(each.permute(2, 0, 1, 3).contiguous() for each in both))

    def at(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of some tokens, and the same standardised: (head, role, token, channel) each."""
        some = tokens.to(self.raw.device)
        raw, standardized = (each.index_select(0, some).permute(1, 2, 0, 3) for each in (self.raw, self.standardized))
        return raw.contiguous(), standardized


def _located(vectors: Tensor, weights: dict[str, Tensor]) -> Tensor:
    """`place_by_network` of vectors (head, role, token, channel), in as few steps of torch as there are."""
    active = vectors.flatten(0, 1)
    for name in ("in", "middle", "out"):
        bias, weight = (weights[f"{part}_{name}"].flatten(0, 1) for part in ("bias", "weight"))
        active = torch.baddbmm(bias[:, None], active, weight)
        active = active if name == "out" else silu(active)
    return active.unflatten(0, vectors.shape[:2])


def _within(tokens: Tokens, weights: dict[str, Tensor], places: Tensor, real: Tensor) -> Tensor:
    """Loss over the keys of each query's sentence, mean over queries."""
    both, standardized = tokens.at(places.flatten())
    device = both.device
    located = _located(standardized, weights).unflatten(2, places.shape)
    query, key = both.unflatten(2, places.shape).unbind(1)
    hidden = ~real.to(device)[None, :, None, :]
    losses = loss_in_sentence(query, key, located[:, 0], located[:, 1], hidden)
    return (losses * real.to(device)).sum() / real.sum()


def _across(tokens: Tokens, weights: dict[str, Tensor], generator: torch.Generator) -> Tensor:
    """Loss over keys from anywhere, mean over queries."""
    count = len(tokens.raw)
    both, standardized = tokens.at(torch.randint(count, (2 * min(ANYWHERE, count),), generator=generator))
    located = _located(standardized, weights)
    half = both.shape[2] // 2
    losses = loss_across_sentences(both[:, 0, :half], both[:, 1, half:], located[:, 0, :half], located[:, 1, half:])
    return losses.mean(dim=-1).sum()


def _for_raw_vectors(weights: dict[str, Tensor], mean: Tensor, spread: Tensor) -> Parameters:
    """The same networks for vectors that are not standardised: the first layer takes that over."""
    with torch.no_grad():
        weight_in = weights["weight_in"] / spread.transpose(-1, -2)
        bias_in = weights["bias_in"] - (mean @ weight_in)[:, :, 0]
        arrays = {**weights, "weight_in": weight_in, "bias_in": bias_in}
        return {name: array.detach().float().cpu().numpy() for name, array in arrays.items()}

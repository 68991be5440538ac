"""Projection `attention`: a small network per head, trained so that distance in the picture stands for attention.

Queries and keys go through a network each, with two hidden layers, into the same plane or space. The loss
(`attention_loss.py`) is taken over the keys of a sentence, and over keys from anywhere in the corpus so that sentences
keep their place to each other. All heads are trained at once, each with its own weights; a new token is placed by the
formula.

Every head has a network for queries and one for keys; their gradient is computed by its formula. All parameters lie in one
array, so that a step of the optimizer is one call.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from math import prod
from time import monotonic

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import silu

from ingest.projections.attention_loss import KEPT, Lesson, Lessons, gradient, vectors_at
from ingest.projections.normalizations import LayerVectors
from ingest.projections.projection import Advance, Fits, LayerFit, Parameters, Read
from ingest.run.parallel import fit_later, one_thread_each, timed
from ingest.run.settings import Limits
from store.kernels.bias import AttentionBias
from store.kernels.projection import place_by_network
from store.schema.pictures import PARAMETERS, ViewName

#: Units of the two hidden layers.
HIDDEN, MIDDLE = 32, 32
#: The layers in order.
LAYERS = ("in", "middle", "out")


class Networks:
    """Networks with two hidden layers, all of one shape.

    Attributes
    ----------
    parameters, gradient
        Parameters of all networks and their gradient, flat.
    weights, gradients
        Views of these by the names `store.schema.pictures.PARAMETERS["attention"]`: (head, role, ...).
    """

    def __init__(
        self, heads: int, channels: int, components: int, *, generator: torch.Generator, device: torch.device
    ) -> None:
        widths = (channels, HIDDEN, MIDDLE, components)
        shapes: dict[str, tuple[int, ...]] = {}
        for name, inputs, outputs in zip(LAYERS, widths, widths[1:], strict=False):
            shapes |= {f"weight_{name}": (inputs, outputs), f"bias_{name}": (outputs,)}
        size = 2 * heads * sum(map(prod, shapes.values()))
        self.parameters, self.gradient = (torch.zeros(size, device=device) for _ in range(2))
        self.weights, self.gradients = (_views(flat, heads, shapes) for flat in (self.parameters, self.gradient))
        for name, shape in shapes.items():
            if name.startswith("weight"):
                values = torch.randn((heads, 2, *shape), generator=generator) * shape[0] ** -0.5
                self.weights[name].copy_(values)
        self._inputs: list[Tensor] = []
        self._sums: list[Tensor] = []

    def place(self, vectors: Tensor) -> Tensor:
        """Places (head, role, token, component) of vectors (head, role, token, channel), as `place_by_network`.

        The vectors of this call that `set_gradient` needs are kept until the next.
        """
        self._inputs, self._sums = [], []
        active = vectors.flatten(0, 1)
        for name in LAYERS:
            self._inputs.append(active)
            active = torch.baddbmm(self._flat(f"bias_{name}")[:, None], active, self._flat(f"weight_{name}"))
            self._sums.append(active)
            active = active if name == "out" else silu(active)
        return active.unflatten(0, vectors.shape[:2])

    def set_gradient(self, by_place: Tensor) -> None:
        """Set the gradient of the parameters, from the gradient by the places of the last call."""
        slope = by_place.flatten(0, 1)
        for name, inputs in zip(reversed(LAYERS), reversed(self._inputs), strict=True):
            if name != "out":
                slope = torch.ops.aten.silu_backward(slope, self._sums[LAYERS.index(name)])
            torch.bmm(inputs.transpose(1, 2), slope, out=self.gradients[f"weight_{name}"].flatten(0, 1))
            torch.sum(slope, 1, out=self.gradients[f"bias_{name}"].flatten(0, 1))
            if name != "in":
                slope = slope @ self._flat(f"weight_{name}").transpose(1, 2)

    def _flat(self, name: str) -> Tensor:
        return self.weights[name].flatten(0, 1)


def _views(flat: Tensor, heads: int, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    parts = flat.split([2 * heads * prod(shape) for shape in shapes.values()])
    return {name: part.view(heads, 2, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


LEARNING_RATE = 0.02
#: Tokens of a head that are placed at a time: outputs of each layer of the network stay in the cache of a core.
PLACED_TOKENS = 2048

Floats = NDArray[np.floating]


class AttentionProjection:
    """Trains all heads of a layer together; on a GPU all layers at once, on a CPU one layer per core."""

    placed = "by the same formula: a network with two hidden layers for queries and another for keys"

    def __init__(
        self,
        name: ViewName,
        sizes: NDArray[np.int64],
        *,
        seed: int,
        device: str,
        steps: int = Limits.attention_steps,
        bias: AttentionBias | None = None,
    ) -> None:
        """`bias`: bias that the model adds to logits within a sentence."""
        self.bias = bias
        self.steps, self.components, self.sizes, self.seed, self.device = (
            steps,
            name.components,
            sizes,
            seed,
            torch.device(device),
        )

    def begin(self, layers: list[int], read: Read) -> Fits:
        """Start the fits on a CPU, one layer a core, in processes: the many small steps of threads would wait for each other's interpreter."""
        if self.device.type != "cpu":
            return partial(self._fits_together, layers, read)
        fit = partial(train_layer, sizes=self.sizes, components=self.components, seed=self.seed, steps=self.steps)
        futures = [fit_later(partial(timed, fit), partial(_with_layer, read, self.bias, layer)) for layer in layers]
        return partial(self._fits, dict(zip(layers, futures, strict=True)))

    def _fits(self, futures: Mapping[int, Future[tuple[Parameters, float]]], advance: Advance) -> Iterator[LayerFit]:
        for layer, future in futures.items():
            parameters, seconds = future.result()
            advance(1)
            yield LayerFit(layer, parameters, seconds)

    def _fits_together(self, layers: list[int], read: Read, advance: Advance) -> Iterator[LayerFit]:
        """Fit all layers at once on a GPU."""
        began = monotonic()
        both = [read(layer) for layer in layers]
        query, key = (
            torch.from_numpy(np.concatenate(each).astype(np.float32)).to(self.device)
            for each in zip(*both, strict=True)
        )
        part = len(layers) / self.steps
        seed = self.seed + layers[0]
        parameters = train(
            query,
            key,
            self.sizes,
            components=self.components,
            seed=seed,
            steps=self.steps,
            advance=lambda: advance(part),
            bias=self.bias and replace(self.bias, layers=[self.bias.layers[layer] for layer in layers]),
        )
        heads, seconds = len(query) // len(layers), (monotonic() - began) / len(layers)
        for place, layer in enumerate(layers):
            yield LayerFit(layer, {name: array[place * heads :][:heads] for name, array in parameters.items()}, seconds)

    def place(self, layer: int, parameters: Parameters, vectors: LayerVectors, first: int) -> Floats:  # noqa: ARG002
        """Places (head, role, token, component)."""
        heads, tokens, _ = vectors.query.shape
        places = np.empty((heads, 2, tokens, self.components), np.float32)
        for head, role in np.ndindex(heads, 2):
            own = {name: parameters[name][head, role] for name in PARAMETERS["attention"]}
            points = vectors.normalized[role][head]
            for start in range(0, tokens, PLACED_TOKENS):
                some = slice(start, start + PLACED_TOKENS)
                places[head, role, some] = place_by_network(points[some], **own)
        return places


#: A layer, its queries and keys (head, token, channel), and the bias of its logits.
OfLayer = tuple[int, Floats, Floats, AttentionBias | None]


def _with_layer(read: Read, bias: AttentionBias | None, layer: int) -> OfLayer:
    query, key = read(layer)
    return layer, query, key, bias and bias.part(layer)


def train_layer(vectors: OfLayer, *, sizes: NDArray[np.int64], components: int, seed: int, steps: int) -> Parameters:
    """Train the networks of a layer, given with its queries and keys (head, token, channel), on one core: in any process the same."""
    layer, *both, bias = vectors
    query, key = (torch.from_numpy(each.astype(np.float32)) for each in both)
    with one_thread_each(None):
        return train(
            query, key, sizes, components=components, seed=seed + layer, steps=steps, advance=lambda: None, bias=bias
        )


def train(
    query: Tensor,
    key: Tensor,
    sizes: NDArray[np.int64],
    *,
    components: int,
    seed: int,
    steps: int,
    advance: Callable[[], object],
    most_kept: int = KEPT,
    bias: AttentionBias | None = None,
) -> Parameters:
    """Train the networks of all heads on queries and keys (head, token, channel) of sentences of these sizes, and on their bias.

    Returns
    -------
    The arrays `store.schema.pictures.PARAMETERS["attention"]` of these heads, for raw queries and keys.
    """
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.stack([query, key], dim=1)
    mean = vectors.mean(dim=2, keepdim=True)
    spread = vectors.std(dim=2, keepdim=True, correction=min(1, vectors.shape[2] - 1)) + 1e-6
    standardized = (vectors - mean) / spread
    networks = Networks(len(query), query.shape[-1], components, generator=generator, device=query.device)
    lessons = Lessons(vectors, sizes, generator, most_kept=most_kept, bias=bias)
    networks.parameters.grad = networks.gradient
    optimizer = torch.optim.Adam([networks.parameters], lr=LEARNING_RATE, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
    for _ in range(steps):
        _set_gradient(networks, standardized, lessons.draw())
        optimizer.step()
        schedule.step()
        advance()
    return _for_raw_vectors(networks.weights, mean, spread)


def _set_gradient(networks: Networks, vectors: Tensor, lessons: list[Lesson]) -> None:
    """Set the gradient of the losses of some lessons together, from the standardised vectors (head, role, token, channel)."""
    rows = torch.cat([lesson.rows for lesson in lessons], dim=1)
    places = networks.place(vectors_at(vectors, rows))
    slopes, first = torch.empty_like(places), 0
    for lesson in lessons:
        some = slice(first, first + lesson.rows.shape[1])
        by_role = gradient(lesson.target, *(places[:, role, some].unflatten(1, lesson.shape) for role in range(2)))
        for role, slope in enumerate(by_role):
            slopes[:, role, some].unflatten(1, lesson.shape).copy_(slope)
        first = some.stop
    networks.set_gradient(slopes)


def _for_raw_vectors(weights: dict[str, Tensor], mean: Tensor, spread: Tensor) -> Parameters:
    """Parameters of the networks for vectors that are not standardised: the first layer standardises them."""
    weight_in = weights["weight_in"] / spread.transpose(-1, -2)
    bias_in = weights["bias_in"] - (mean @ weight_in)[:, :, 0]
    arrays = {**weights, "weight_in": weight_in, "bias_in": bias_in}
    return {name: array.float().cpu().numpy() for name, array in arrays.items()}

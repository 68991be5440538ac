"""Vectors that softmax reads in a pass, through transformers' `AttentionInterface`: queries and keys after any rotation, and values.

Tensors are captured in the order of the calls: some modules do not know the number of their layer, and some are called as
several layers. Modules that do not use that interface are made to use it (`ModelParts.ask`). A pass attends as transformers' sdpa
does, which never returns a pattern; with given patterns of the heads in `Pass.replaced`; or by the function `Pass.instead`.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ingest.family.protocol import Place
from store.schema.features import FIRST_KINDS

#: Weights (query_token, key_token) that replace the pattern of a head, by (layer, head); weights of 0 switch the head off.
Replaced = Mapping[tuple[int, int], NDArray[np.floating]]
NOTHING: Replaced = MappingProxyType({})
#: Outputs of the heads of a layer (token, head, channel), from the layer's number, queries, keys and values of the same dims.
AttendInLayer = Callable[[int, Tensor, Tensor, Tensor], Tensor]
#: Name of this way of attending in transformers.
CAPTURED = "headscape"


@dataclass
class Capture:
    """Tensors captured in one forward pass, one per layer, in the dtype of the pass.

    Attributes
    ----------
    query, key, value
        (sentence, token, head, channel): a logit is q.k / sqrt(channels), and every head has keys and values of its own.
    layer_input, projected
        Input of the layer, and output of the output projection with its bias: (sentence, token, feature).
    last
        Output of the model for each token (sentence, token, feature).
    points
        Vectors (sentence, token, feature) by the name of the feature point; empty unless `HookedModel.listen_at_points`.
    """

    query: list[Tensor] = field(default_factory=list)
    key: list[Tensor] = field(default_factory=list)
    value: list[Tensor] = field(default_factory=list)
    layer_input: list[Tensor] = field(default_factory=list)
    projected: list[Tensor] = field(default_factory=list)
    last: Tensor | None = None
    points: dict[str, Tensor] = field(default_factory=dict)
    #: Number of times that each kind of feature point was passed: the number of the next layer.
    passed: Counter[str] = field(default_factory=Counter)


@dataclass
class Pass:
    """A forward pass: the tensors that it captures, and how its attention differs from transformers'.

    Attributes
    ----------
    replaced
        Patterns that replace those of some heads, in a pass without padding.
    instead
        Function that attends instead of transformers' sdpa, in a pass over one row of tokens.
    """

    capture: Capture = field(default_factory=Capture)
    replaced: Replaced = field(default_factory=dict)
    instead: AttendInLayer | None = None

    def attend(self, module: nn.Module, vectors: "Heads", mask: Tensor | None, **options: Any) -> Tensor:
        """Outputs of the heads of the next layer, (sentence, token, head, channel)."""
        layer = len(self.capture.query)
        for name, tensor in zip(("query", "key", "value"), vectors.captured(), strict=True):
            getattr(self.capture, name).append(tensor)
        if self.instead is not None:
            query, key, value = (
                of_layers[layer][0].contiguous()
                for of_layers in (self.capture.query, self.capture.key, self.capture.value)
            )
            return self.instead(layer, query, key, value)[None]
        context, _ = sdpa_attention_forward(module, vectors.query, vectors.key, vectors.value, mask, **options)
        own = {head: weights for (of, head), weights in self.replaced.items() if of == layer}
        return _with_patterns(context, self.capture.value[layer], own) if own else context


@dataclass(frozen=True)
class Heads:
    """Queries, keys and values from transformers (sentence, head, token, channel); keys and values may have fewer heads."""

    query: Tensor
    key: Tensor
    value: Tensor
    scaling: float | None

    def captured(self) -> Iterator[Tensor]:
        """Queries, keys and values, (sentence, token, head, channel), such that a logit is q.k / sqrt(channels)."""
        factor = 1.0 if self.scaling is None else self.scaling * self.query.shape[-1] ** 0.5
        query = self.query if math.isclose(factor, 1, rel_tol=1e-6) else self.query * factor
        yield query.transpose(1, 2)
        for tensor in (self.key, self.value):
            sharing = query.shape[1] // tensor.shape[1]
            yield (tensor if sharing == 1 else tensor.repeat_interleave(sharing, dim=1)).transpose(1, 2)


class _Running(threading.local):
    """The pass that runs in this thread."""

    passing: Pass | None = None


_RUNNING = _Running()


@contextmanager
def running(passing: Pass) -> Iterator[Capture]:
    """Make `passing` the pass of this thread while a model with the attention `CAPTURED` is called."""
    _RUNNING.passing = passing
    try:
        yield passing.capture
    finally:
        _RUNNING.passing = None


def keep(place: Place, take: Callable[[Capture, Tensor], None]) -> None:
    """Register a hook that hands the vectors at a place to `take`, in every pass that is `running`."""

    def hand(vectors: Tensor) -> None:
        if _RUNNING.passing is not None:
            take(_RUNNING.passing.capture, vectors)

    if place.of_input:
        place.module.register_forward_pre_hook(lambda _module, inputs: hand(inputs[0]))
    else:
        place.module.register_forward_hook(lambda _module, _inputs, output: hand(output))


def keep_point(place: Place, kind: str, points: Container[str], change: Callable[[Tensor], Tensor]) -> None:
    """Register a hook that captures the vectors at a place after `change`, if `points` has its feature point; call n is layer n."""

    def take(capture: Capture, vectors: Tensor) -> None:
        point = kind if kind in FIRST_KINDS else f"L{capture.passed[kind]:02d}.{kind}"
        capture.passed[kind] += 1
        if point in points:
            capture.points[point] = change(vectors)

    keep(place, take)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attend in the pass of this thread; transformers calls this function by its `AttentionInterface`."""
    passing, vectors = _RUNNING.passing or Pass(), Heads(query, key, value, scaling)
    return passing.attend(module, vectors, attention_mask, scaling=scaling, **options), None


def attend_in_pass(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Callable[[], Tensor],
    scaling: float | None = None,
) -> Tensor | None:
    """Attend in the pass of this thread; see `ingest.family.protocol.Attend`."""
    passing = _RUNNING.passing
    if passing is None:
        return None
    added = None if passing.instead is not None else mask().to(query.dtype)
    return passing.attend(module, Heads(query, key, value, scaling), added, scaling=scaling)


AttentionInterface.register(CAPTURED, _attend)
AttentionMaskInterface.register(CAPTURED, sdpa_mask)


def _with_patterns(context: Tensor, value: Tensor, patterns: Mapping[int, NDArray[np.floating]]) -> Tensor:
    """Outputs of heads (sentence, token, head, channel); the given patterns mix the values of their heads anew."""
    changed = context.clone()
    for head, weights in patterns.items():
        changed[..., head, :] = torch.as_tensor(weights, dtype=value.dtype, device=value.device) @ value[..., head, :]
    return changed

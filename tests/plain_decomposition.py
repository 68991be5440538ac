"""ALTI, Value Zeroing and DecompX of a BERT in loops and in float64, as their papers write them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@torch.no_grad()
def plain_zeroing(layer: Any, vectors: torch.Tensor) -> Numbers:
    """Value Zeroing (Mohebbi et al. 2023): how far a layer's output turns where the value of a token is zeroed."""
    whole = layer(vectors[None])[0].reshape(len(vectors), -1)
    distances = np.stack([_distance(layer, vectors, whole, key) for key in range(len(vectors))], axis=1)
    shares: Numbers = distances / distances.sum(axis=1, keepdims=True)
    return shares


def _distance(layer: Any, vectors: torch.Tensor, whole: torch.Tensor, key: int) -> Numbers:
    def without(_module: Any, _inputs: Any, value: torch.Tensor) -> torch.Tensor:
        changed = value.clone()
        changed[:, key] = 0
        return changed

    hook = layer.attention.self.value.register_forward_hook(without)
    changed = layer(vectors[None])[0].reshape(len(vectors), -1)
    hook.remove()
    distance: Numbers = (1 - torch.cosine_similarity(whole, changed, dim=-1)).numpy()
    return distance


@torch.no_grad()
def plain_alti(layer: Any, pattern: torch.Tensor, vectors: torch.Tensor) -> Numbers:
    """ALTI of a layer (Ferrando et al. 2022, equations 6 to 10)."""
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
    shares: Numbers = lengths / lengths.sum(axis=1, keepdims=True)
    return shares


@torch.no_grad()
def plain_decompx(model: Any, token_ids: torch.Tensor) -> Iterator[Numbers]:
    """DecompX (Modarressi et al. 2023): after each layer, the parts of the vectors (token, input_token, feature)."""
    patterns = model(token_ids[None], output_attentions=True).attentions
    vectors = model.embeddings(token_ids[None])[0].numpy()
    tokens = range(len(vectors))
    parts = [[vectors[i] if i == k else np.zeros_like(vectors[i]) for k in tokens] for i in tokens]
    for layer, pattern in zip(model.encoder.layer, patterns, strict=True):
        parts = [_token(layer, pattern[0].numpy(), parts, i) for i in tokens]
        yield np.array(parts)


def _token(layer: Any, pattern: Numbers, parts: list[list[Numbers]], i: int) -> list[Numbers]:
    """Parts of one token after a layer."""
    attention, output = layer.attention.self, layer.attention.output
    weight, out = attention.value.weight.numpy().T, output.dense.weight.numpy().T
    size = len(out) // len(pattern)
    summed = []
    for k in range(len(parts)):
        heads = [
            sum(pattern[h, i, j] * (parts[j][k] @ weight[:, h * size : (h + 1) * size]) for j in range(len(parts)))
            for h in range(len(pattern))
        ]
        summed.append(np.concatenate(heads) @ out)
    shared = _shared(summed, attention.value.bias.numpy() @ out + output.dense.bias.numpy())
    attended = _normed([own + residual for own, residual in zip(shared, parts[i], strict=True)], output.LayerNorm)
    first, second = layer.intermediate.dense, layer.output.dense
    expanded = _shared([part @ first.weight.numpy().T for part in attended], first.bias.numpy())
    whole = sum(expanded)
    slope = torch.nn.functional.gelu(torch.from_numpy(np.asarray(whole))).numpy() / whole
    brought = _shared([part * slope @ second.weight.numpy().T for part in expanded], second.bias.numpy())
    return _normed([own + residual for own, residual in zip(brought, attended, strict=True)], layer.output.LayerNorm)


def _shared(parts: list[Numbers], bias: Numbers) -> list[Numbers]:
    """Parts that share out a bias in proportion to |bias . part|."""
    sizes = [abs(bias @ part) for part in parts]
    return [part + bias * size / sum(sizes) for part, size in zip(parts, sizes, strict=True)]


def _normed(parts: list[Numbers], norm: Any) -> list[Numbers]:
    deviation = np.sqrt(np.var(sum(parts), axis=-1) + norm.eps)
    return _shared([(part - part.mean()) / deviation * norm.weight.numpy() for part in parts], norm.bias.numpy())

"""Transformers' own model with the attention weights of some heads replaced: the reference for replaced heads."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


class WrittenAttention(torch.nn.Module):
    """Attention by its formula, with other weights in some heads; the module keeps its queries and keys."""

    def __init__(self, plain: Any, replaced: Mapping[int, np.ndarray]) -> None:
        super().__init__()
        self._plain, self._replaced = plain, replaced
        self._shape = (plain.num_attention_heads, plain.attention_head_size)

    def forward(self, hidden: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, None]:
        layers = (self._plain.query, self._plain.key, self._plain.value)
        self.query, self.key, value = (layer(hidden)[0].unflatten(-1, self._shape).transpose(0, 1) for layer in layers)
        weights = torch.softmax(self.query @ self.key.transpose(1, 2) / self._shape[1] ** 0.5, dim=-1)
        for head, own in self._replaced.items():
            weights[head] = torch.from_numpy(own)
        return (weights @ value).transpose(0, 1).flatten(1)[None], None


def replace_heads(model: Any, replaced: Mapping[tuple[int, int], np.ndarray]) -> None:
    """Let heads (layer, head) of a model attend with these weights (query_token, key_token)."""
    for number, layer in enumerate(model.base_model.encoder.layer):
        own = {head: weights for (of, head), weights in replaced.items() if of == number}
        layer.attention.self = WrittenAttention(layer.attention.self, own)

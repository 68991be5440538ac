"""BERT written out step by step, from the weights alone: the reference for every feature point. Imports nothing of Headscape."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import erf

Weights = Mapping[str, np.ndarray]


def feature_points(weights: Weights, config: Mapping[str, int | float], token_ids: np.ndarray) -> dict[str, np.ndarray]:
    """Every point of one input, (token, feature) in float64, by name; weights as `BertModel` names them."""
    eps, heads = float(config["layer_norm_eps"]), int(config["num_attention_heads"])
    words = weights["embeddings.word_embeddings.weight"][token_ids]
    positions = weights["embeddings.position_embeddings.weight"][: len(token_ids)]
    segments = weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(words + positions + segments, weights, "embeddings.LayerNorm", eps)
    points = {"embedding": words, "position": x}
    for layer in range(int(config["num_hidden_layers"])):
        at, own = f"L{layer:02d}", f"encoder.layer.{layer}"
        mixed = attention(x, weights, f"{own}.attention.self", heads)
        projected = linear(mixed, weights, f"{own}.attention.output.dense")
        attended = layer_norm(projected + x, weights, f"{own}.attention.output.LayerNorm", eps)
        expanded = linear(gelu(linear(attended, weights, f"{own}.intermediate.dense")), weights, f"{own}.output.dense")
        x = layer_norm(expanded + attended, weights, f"{own}.output.LayerNorm", eps)
        points |= {f"{at}.mixed": mixed, f"{at}.projected": projected, f"{at}.attended": attended}
        points |= {f"{at}.expanded": expanded, f"{at}.feedforward": x}
    return points


def attention(x: np.ndarray, weights: Weights, name: str, heads: int) -> np.ndarray:
    """Outputs of all heads of a layer, concatenated: (token, feature)."""
    query, key, value = (linear(x, weights, f"{name}.{part}") for part in ("query", "key", "value"))
    size = x.shape[-1] // heads
    outputs = []
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        scores = query[:, own] @ key[:, own].T / sqrt(size)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        outputs.append(shares / shares.sum(axis=-1, keepdims=True) @ value[:, own])
    return np.concatenate(outputs, axis=-1)


def values(points: Mapping[str, np.ndarray], weights: Weights, layer: int) -> np.ndarray:
    """Values x W_V + b_V of all heads, concatenated, from the input of the layer: (token, feature)."""
    layer_input = points["position"] if layer == 0 else points[f"L{layer - 1:02d}.feedforward"]
    return linear(layer_input, weights, f"encoder.layer.{layer}.attention.self.value")


def linear(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def layer_norm(x: np.ndarray, weights: Weights, name: str, eps: float) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + erf(x / sqrt(2))) / 2


def of_model(model: Any) -> dict[str, np.ndarray]:
    """Weights of a BertModel in float64."""
    return {name: weight.double().numpy() for name, weight in model.state_dict().items()}

"""The numbers of one sentence by their definitions, in float64, written with loops: nothing is shared with the product."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from store.schema.corpus import CLS, PUNCTUATION, SEP, SYMBOL
from store.schema.model import OFFSETS


@dataclass(frozen=True)
class LayerOfSentence:
    """Arrays of a sentence in a layer of transformers; `handed_on` is f(x) of each head (head, token, feature)."""

    pattern: np.ndarray
    handed_on: np.ndarray
    layer_input: np.ndarray
    attention: Any


def layers_of(model: Any, output: Any) -> list[LayerOfSentence]:
    """Every layer of a sentence, from transformers' attentions and hidden states (one sentence, no padding)."""
    return [
        LayerOfSentence(
            output.attentions[place][0].numpy(),
            _handed_on(layer.attention, output.hidden_states[place][0], output.attentions[place].shape[1]),
            output.hidden_states[place][0].numpy(),
            layer.attention,
        )
        for place, layer in enumerate(model.encoder.layer)
    ]


def _handed_on(attention: Any, layer_input: torch.Tensor, heads: int) -> np.ndarray:
    """(x W_V + b_V) W_O of each head, the output's bias left out."""
    value = attention.self.value
    width = value.out_features // heads
    parts = [slice(head * width, (head + 1) * width) for head in range(heads)]
    with torch.no_grad():
        vectors = [
            (layer_input @ value.weight[part].T + value.bias[part]) @ attention.output.dense.weight[:, part].T
            for part in parts
        ]
    return torch.stack(vectors).numpy()


def statistics(layer: LayerOfSentence, flags: np.ndarray) -> dict[str, np.ndarray]:
    """Every statistic of each row: (head, token)."""
    rows = [
        [_row(pattern, query, flags, np.linalg.norm(vectors, axis=-1)) for query in range(len(flags))]
        for pattern, vectors in zip(layer.pattern, layer.handed_on, strict=True)
    ]
    return {name: np.array([[row[name] for row in head] for head in rows]) for name in rows[0][0]}


def _row(pattern: np.ndarray, query: int, flags: np.ndarray, norms: np.ndarray) -> dict[str, float]:
    row, keys = pattern[query], range(len(flags))
    by_norm = [row[key] * norms[key] for key in keys]

    def to(flag: int, amounts: Any) -> float:
        return float(sum(amounts[key] for key in keys if flags[key] & flag))

    return {
        "to_cls": to(CLS, row),
        "to_sep": to(SEP, row),
        "to_punctuation": to(PUNCTUATION, row),
        "to_previous": row[query - 1] if query > 0 else 0,
        "to_next": row[query + 1] if query + 1 < len(flags) else 0,
        "to_self": row[query],
        "entropy": -sum(weight * math.log(weight) for weight in row if weight > 0),
        "attended_keys": sum(weight > 0.05 for weight in row),
        "distance": sum(row[key] * abs(key - query) for key in keys),
        "received": sum(pattern[other, query] for other in keys),
        "confidence": max(row[key] for key in keys if not flags[key] & SEP),
        "participation": 1 / sum(weight**2 for weight in row),
        "to_sink": sum(row[key] for key in keys if sum(pattern[:, key]) / len(flags) > max(0.3, 1.5 / len(flags))),
        "norm_to_cls": to(CLS, by_norm) / sum(by_norm),
        "norm_to_sep": to(SEP, by_norm) / sum(by_norm),
        "norm_to_punctuation": to(PUNCTUATION, by_norm) / sum(by_norm),
        "norm_to_self": by_norm[query] / sum(by_norm),
    }


def offsets(pattern: np.ndarray) -> np.ndarray:
    """Weight by key - query over the rows of one head: (offset,)."""
    profile = np.zeros(len(OFFSETS))
    for query, row in enumerate(pattern):
        for key, weight in enumerate(row):
            profile[11 + max(-11, min(11, key - query))] += weight / len(pattern)
    return profile


def mixing(layer: LayerOfSentence) -> dict[str, np.ndarray]:
    """The ratios of Kobayashi et al. 2021, section 3, from the vectors that every token gets of every other: (token,)."""
    vectors = np.einsum("hij,hjf->ijf", layer.pattern, layer.handed_on)
    output = layer.attention.output
    bias, gain = (part.detach().numpy() for part in (output.dense.bias, output.LayerNorm.weight))
    ratios: dict[str, list[float]] = {
        name: [] for name in ("attn_w", "attnres_w", "attn_n", "attnres_n", "attnresln_n")
    }
    for token, layer_input in enumerate(layer.layer_input):
        own, mixed = vectors[token, token], sum(np.delete(vectors[token], token, axis=0))
        spread = np.sqrt(np.var(own + mixed + bias + layer_input) + output.LayerNorm.eps)
        scaled = [(part - part.mean()) / spread * gain for part in (mixed, own + layer_input)]
        by_weight = 1 - np.mean([pattern[token, token] for pattern in layer.pattern])
        ratios["attn_w"].append(by_weight)
        ratios["attnres_w"].append(by_weight / 2)
        ratios["attn_n"].append(_share(mixed, own))
        ratios["attnres_n"].append(_share(mixed, own + layer_input))
        ratios["attnresln_n"].append(_share(*scaled))
    return {name: np.array(values) for name, values in ratios.items()}


def _share(mixed: Any, residual: Any) -> float:
    return float(np.linalg.norm(mixed) / (np.linalg.norm(mixed) + np.linalg.norm(residual)))


def rows_of(flags: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of each source: a mask of the tokens by the name of the source."""
    special = CLS | SEP | PUNCTUATION | SYMBOL
    return {
        "all": flags >= 0,
        "cls": (flags & CLS) > 0,
        "sep": (flags & SEP) > 0,
        "punctuation": (flags & PUNCTUATION) > 0,
        "word": (flags & special) == 0,
        "other": (flags & SEP) == 0,
    }

"""A second implementation of rules and roles: in float64, row by row, without the kernels of the store."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]


def rule_weights(features: Sequence[Floats], rows: Sequence[Floats], ridge: float) -> Floats:
    """Weights with the least mean cross entropy of the rows plus ridge / 2 times their squares, by a general minimiser.

    Parameters
    ----------
    features
        Features of each row (rule, key).
    rows
        Attention weights of each row (key,).
    """

    def loss(weights: Floats) -> float:
        total = 0.0
        for feature, row in zip(features, rows, strict=True):
            logits = weights @ feature
            total += np.log(np.exp(logits - logits.max()).sum()) + logits.max() - row @ logits
        return float(total / len(rows) + ridge / 2 * weights @ weights)

    found: Any = minimize(loss, np.zeros(len(features[0])), method="BFGS", options={"gtol": 1e-8})
    return np.asarray(found.x)


def mixture_weights(rules: Sequence[Floats], rows: Sequence[Floats], steps: int) -> Floats:
    """Expectation maximisation: each step shares every weight out among the rules that may have made it.

    Parameters
    ----------
    rules
        Rules of each row (rule, key), which sum to 1 or are 0.
    rows
        Attention between words of each row (key,).
    """
    weights = np.full(len(rules[0]), 1 / len(rules[0]))
    for _ in range(steps):
        made = np.zeros(len(weights))
        for rule, row in zip(rules, rows, strict=True):
            for key, weight in enumerate(row):
                parts = weights * rule[:, key]
                if parts.sum() > 0:
                    made += weight * parts / parts.sum()
        weights = made / made.sum()
    return weights


def sieve_bias(pattern: Floats, sieve: NDArray[np.bool_], words: Sequence[int]) -> float:
    """Mean over queries of the mean weight of keys in the sieve divided by that of all words; NaN without such keys."""
    ratios = []
    for query in words:
        keys = [key for key in words if sieve[query, key]]
        if keys:
            ratios.append(np.mean(pattern[query, keys]) / np.mean(pattern[query, list(words)]))
    return float(np.mean(ratios)) if ratios else float("nan")


def is_discovered(p: Sequence[float], rate: float) -> list[bool]:
    """Benjamini and Hochberg 1995: all tests up to the largest rank k whose p is at most k / tests of the rate."""
    order = sorted(range(len(p)), key=lambda test: p[test])
    last = max((rank for rank, test in enumerate(order, 1) if p[test] <= rate * rank / len(p)), default=0)
    found = set(order[:last])
    return [test in found for test in range(len(p))]


def split_vectors(
    vectors: Floats, token_id: NDArray[np.integer], position: NDArray[np.integer], is_word: NDArray[np.bool_]
) -> tuple[Floats, dict[int, Floats], dict[int, Floats]]:
    """Mean, part of each position and part of each wordpiece of vectors (token, channel), shrunk by 1 and by 3."""
    mean = vectors.mean(axis=0)
    of_position: dict[int, Floats] = {}
    for place in sorted(set(position.tolist())):
        own = vectors[position == place] - mean
        has_words = bool(is_word[position == place].any())
        of_position[place] = own.sum(axis=0) / (len(own) + 1) if has_words else np.zeros(vectors.shape[1])
    rest = vectors - mean - np.array([of_position[place] for place in position.tolist()])
    of_word = {
        piece: rest[token_id == piece].sum(axis=0) / ((token_id == piece).sum() + 3)
        for piece in sorted(set(token_id.tolist()))
    }
    return mean, of_position, of_word

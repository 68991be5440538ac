"""The six metrics of HeadVis by their definitions, in float64, written with loops: nothing is shared with the product."""

import math
from collections.abc import Sequence

import numpy as np

#: A sentence of a head: weights (query, key) and token ids.
Sentence = tuple[np.ndarray, Sequence[int]]


def metrics_of(sentences: Sequence[Sentence]) -> dict[str, float]:
    """The six metrics of one head by name; a mean over no queries is NaN."""
    own, before, entropies, distances, squares, induced = ([] for _ in range(6))  # type: ignore[var-annotated]
    for weights, ids in sentences:
        if len(ids) < 2:
            continue
        for query, row in enumerate(np.asarray(weights, np.float64)):
            own.append(row[query])
            if query:
                before.append(row[query - 1])
            entropies.append(-sum(weight * math.log(weight) for weight in row if weight > 0))
            distances.append(sum(weight * abs(query - key) for key, weight in enumerate(row)))
            squares.append(sum(weight * (query - key) ** 2 for key, weight in enumerate(row)))
            after = [row[place + 1] for place in range(query) if ids[place] == ids[query]]
            if after:
                induced.append(sum(weight for weight in after if weight >= 0.01))
    means = [math.fsum(part) / len(part) if part else math.nan for part in (own, before, entropies, distances, squares)]
    return {
        "self_attention_score": means[0],
        "prev_token_score": means[1],
        "pattern_entropy": means[2],
        "qk_distance": means[3],
        "qk_distance_variance": means[4] - means[3] ** 2,
        "induction_score": math.fsum(induced) / len(induced) if induced else math.nan,
    }

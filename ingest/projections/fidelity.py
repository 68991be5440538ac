"""Fidelity of a picture: how well distance on screen tells attention, per head, on held-out sentences."""

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import Spans, evenly
from ingest.run.parallel import cores
from store.kernels.attention import attention_pattern
from store.kernels.fidelity import recall, screen_distance, spearman, trustworthy
from store.kernels.normalization import unit
from store.schema.pictures import MEASURES, RECALL_KEYS

Floats = NDArray[np.floating]

#: Tokens whose queries and keys trustworthiness compares with each other: it takes the square of their number.
TRUSTED_TOKENS = 300
#: Queries, and keys from anywhere, of measure `across`.
ACROSS_QUERIES, ACROSS_KEYS = 100, 600


def judge_layer(query: Floats, key: Floats, normalized: tuple[Floats, Floats], places: Floats, spans: Spans) -> Floats:
    """Fidelity of a layer's heads by each measure of `store.schema.pictures.MEASURES`: (measure, head).

    `query`, `key` and the normalized ones are (head, token, channel), `places` (head, role, token, component), `spans` the
    sentences' (first row, end) in them. The first two measures are means over sentences.
    """
    with cores() as pool:
        within = list(
            pool.map(lambda rows: _within(query[:, rows], key[:, rows], places[:, :, rows]), map(_rows, spans))
        )
        trust = list(pool.map(_trustworthiness, *normalized, places))
        across = list(pool.map(_across, query, key, places))
    by_name = dict(zip(("spearman", "recall"), np.mean(within, axis=0), strict=True))
    by_name |= {"trustworthiness": np.array(trust), "across": np.array(across)}
    return np.stack([by_name[name] for name in MEASURES])


def _rows(span: NDArray[np.int64]) -> slice:
    return slice(int(span[0]), int(span[1]))


def _within(query: Floats, key: Floats, places: Floats) -> Floats:
    """Spearman and recall in a sentence, all heads at once: (measure, head)."""
    pattern, distance = attention_pattern(query, key), screen_distance(places[:, 0], places[:, 1])
    return np.stack([spearman(pattern, distance), recall(pattern, distance, k=RECALL_KEYS)])


def _trustworthiness(query: Floats, key: Floats, places: Floats) -> float:
    chosen = evenly(len(query), TRUSTED_TOKENS)
    points = unit(np.concatenate([query[chosen], key[chosen]]))
    return trustworthy(points, np.concatenate(list(places[:, chosen])))


def _across(query: Floats, key: Floats, places: Floats) -> Floats:
    some, many = evenly(len(query), ACROSS_QUERIES), evenly(len(key), ACROSS_KEYS)
    return spearman(query[some] @ key[many].T, screen_distance(places[0, some], places[1, many]))

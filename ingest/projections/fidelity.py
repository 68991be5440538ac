"""Fidelity of a picture: how well distance on screen tells attention, per head, on held-out sentences."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import Spans, evenly
from ingest.run.parallel import cores
from store.kernels.attention import attention_pattern
from store.kernels.fidelity import RankedKeys, RankedNeighbours, screen_distance
from store.kernels.normalization import unit
from store.schema.pictures import MEASURES, RECALL_KEYS

Floats = NDArray[np.floating]

#: Tokens whose queries and keys trustworthiness compares with each other: it takes the square of their number.
TRUSTED_TOKENS = 300
#: Queries, and keys from anywhere, of measure `across`.
ACROSS_QUERIES, ACROSS_KEYS = 100, 600


@dataclass(frozen=True)
class Judge:
    """What judges the places of a layer's heads on some sentences, whatever the picture.

    Attributes
    ----------
    spans
        First row and end of each sentence in the arrays that it was made from: (sentence, 2).
    within
        Keys of each query of a sentence, all heads at once: (sentence,).
    across
        Keys from anywhere for some queries: (head,).
    neighbours
        By the name of a normalisation: neighbours of the normalised vectors (head,).
    """

    spans: Spans
    within: list[RankedKeys]
    across: list[RankedKeys]
    neighbours: dict[str, list[RankedNeighbours]]

    @classmethod
    def of(cls, query: Floats, key: Floats, normalized: Mapping[str, tuple[Floats, Floats]], spans: Spans) -> "Judge":
        """From queries and keys (head, token, channel), and those of each normalisation."""
        with cores() as pool:
            within = pool.map(lambda rows: _ranked_within(query[:, rows], key[:, rows]), map(_rows, spans))
            across = pool.map(_ranked_across, query, key)
            neighbours = {name: list(pool.map(_ranked_neighbours, *vectors)) for name, vectors in normalized.items()}
            return cls(spans, list(within), list(across), neighbours)

    def measures(self, places: Floats, normalization: str) -> Floats:
        """Fidelity of places (head, role, token, component) by each of `store.schema.pictures.MEASURES`: (measure, head).

        The first two are means over sentences.
        """
        with cores() as pool:
            of_sentences = pool.map(
                lambda rows, ranked: _within(places[:, :, rows], ranked), map(_rows, self.spans), self.within
            )
            within = np.mean(list(of_sentences), axis=0)
            across = list(pool.map(_across, places, self.across))
            trust = list(pool.map(_trustworthiness, places, self.neighbours[normalization]))
        by_name = dict(zip(("spearman", "recall"), within, strict=True))
        by_name |= {"trustworthiness": np.array(trust), "across": np.array(across)}
        return np.stack([by_name[name] for name in MEASURES])


def _rows(span: NDArray[np.int64]) -> slice:
    return slice(int(span[0]), int(span[1]))


def _ranked_within(query: Floats, key: Floats) -> RankedKeys:
    return RankedKeys.of(attention_pattern(query, key), k=RECALL_KEYS)


def _within(places: Floats, ranked: RankedKeys) -> Floats:
    """Spearman and recall in a sentence, all heads at once: (measure, head)."""
    return np.stack(ranked.agreement(screen_distance(places[:, 0], places[:, 1])))


def _ranked_neighbours(query: Floats, key: Floats) -> RankedNeighbours:
    chosen = evenly(len(query), TRUSTED_TOKENS)
    return RankedNeighbours.of(unit(np.concatenate([query[chosen], key[chosen]])))


def _trustworthiness(places: Floats, neighbours: RankedNeighbours) -> float:
    return neighbours.trustworthiness(np.concatenate(list(places[:, evenly(places.shape[1], TRUSTED_TOKENS)])))


def _ranked_across(query: Floats, key: Floats) -> RankedKeys:
    some, many = _anywhere(len(query))
    return RankedKeys.of(query[some] @ key[many].T)


def _across(places: Floats, ranked: RankedKeys) -> Floats:
    some, many = _anywhere(places.shape[1])
    return ranked.agreement(screen_distance(places[0, some], places[1, many]))[0]


def _anywhere(tokens: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return evenly(tokens, ACROSS_QUERIES), evenly(tokens, ACROSS_KEYS)

"""Fidelity of a picture: how well distance on screen tells attention, per head, on held-out sentences.

The measures are those of `store.kernels.fidelity`, of all rows of a head at once (`compiled_places.py`). What does not
depend on the picture is ranked once for all pictures.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import Spans, evenly, lengths
from ingest.projections.normalizations import LayerVectors
from ingest.run.parallel import side_by_side
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias
from store.kernels.fidelity import compared_neighbours, trust_of_excess
from store.kernels.projection import unit
from store.schema.pictures import MEASURES, RECALL_KEYS

Floats = NDArray[np.floating]
Numbers = NDArray[np.int64]

#: Tokens whose queries and keys trustworthiness compares with each other: it takes the square of their number.
TRUSTED_TOKENS = 300
#: Queries, and keys from anywhere, of measure `across`.
ACROSS_QUERIES, ACROSS_KEYS = 100, 600


@dataclass(frozen=True)
class Rows:
    """The keys of some queries of each head, ranked by attention; a row is of one query.

    Attributes
    ----------
    first
        Number of the first key of each row: (query,).
    starts
        Where each row begins among the values of all rows, and where the last one ends: (query + 1,).
    ranks
        For each head, centred ranks (value,) and the keys with the largest weights (query, rank), see `ranks.ranked_rows`.
    """

    first: Numbers
    starts: Numbers
    ranks: list[tuple[NDArray[np.float64], Numbers]]

    @classmethod
    def of(cls, values: Floats, first: Numbers, counts: Numbers, *, most: int) -> "Rows":
        """From weights or logits (head, value) of rows with so many keys."""
        from ingest.projections.compiled_places import ranked_rows

        starts = np.append(0, np.cumsum(counts))
        return cls(first, starts, side_by_side(lambda head: ranked_rows(head, starts, most), values.astype(np.float32)))

    def agreement(self, query: Floats, key: Floats) -> Floats:
        """Spearman correlation and recall of every row (head, measure, query) of places (head, token, component)."""
        from ingest.projections.compiled_places import agreement

        def of_head(
            places: Floats, others: Floats, ranks: tuple[NDArray[np.float64], Numbers]
        ) -> tuple[Floats, Floats]:
            return agreement(places, others, self.first, self.starts, ranks[0], ranks[1])

        heads = zip(query, key, self.ranks, strict=True)
        return np.array(side_by_side(lambda head: of_head(*head), heads))


@dataclass(frozen=True)
class Judge:
    """What judges the places of a layer's heads on some sentences, whatever the picture.

    Attributes
    ----------
    spans
        First row and end of each sentence in the arrays that it was made from, which hold nothing else: (sentence, 2).
    within
        Each query with the keys of its sentence.
    across
        Some queries with keys from anywhere.
    similarity
        By the name of a normalisation: cosines of normalised vectors (point, point) of each head, infinite of a vector with itself.
    """

    spans: Spans
    within: Rows
    across: Rows
    similarity: dict[str, list[Floats]]

    @classmethod
    def of(cls, vectors: Mapping[str, LayerVectors], spans: Spans, bias: AttentionBias | None = None) -> "Judge":
        """From the same vectors in one normalisation or several; `bias` is what the model adds to logits within a sentence."""
        stored = next(iter(vectors.values()))
        query, key = stored.query, stored.key
        some, many = _anywhere(query.shape[1])
        anywhere = side_by_side(lambda head: (head[0][some] @ head[1][many].T).ravel(), zip(query, key, strict=True))
        return cls(
            spans,
            _within(query, key, spans, bias),
            Rows.of(np.stack(anywhere), np.zeros_like(some), np.full_like(some, len(many)), most=0),
            {name: side_by_side(_similarity, zip(*own.normalized, strict=True)) for name, own in vectors.items()},
        )

    def measures(self, places: Floats, normalization: str) -> Floats:
        """Fidelity of places (head, role, token, component) by each of `store.schema.pictures.MEASURES`: (measure, head).

        The first two are means over sentences.
        """
        query, key = places[:, 0], places[:, 1]
        some, many = _anywhere(places.shape[2])
        of_queries = self.within.agreement(query, key)
        within = (np.add.reduceat(of_queries, self.spans[:, 0], axis=-1) / lengths(self.spans)).mean(axis=-1)
        across = self.across.agreement(query[:, some], key[:, many])[:, 0].mean(axis=-1)
        trust = side_by_side(_trustworthiness, zip(places, self.similarity[normalization], strict=True))
        by_name = {"spearman": within[:, 0], "recall": within[:, 1], "trustworthiness": trust, "across": across}
        return np.stack([by_name[name] for name in MEASURES])


def _within(query: Floats, key: Floats, spans: Spans, bias: AttentionBias | None) -> Rows:
    """Each query with the keys of its sentence."""
    patterns = side_by_side(
        lambda span: attention_pattern(query[:, slice(*span)], key[:, slice(*span)], bias=bias).reshape(len(query), -1),
        spans,
    )
    sizes = lengths(spans)
    each = np.repeat(sizes, sizes)
    return Rows.of(np.concatenate(patterns, axis=1), np.repeat(spans[:, 0], sizes), each, most=RECALL_KEYS)


def _similarity(head: tuple[Floats, Floats]) -> Floats:
    """Cosines (point, point) of some of a head's queries and keys."""
    chosen = evenly(len(head[0]), TRUSTED_TOKENS)
    points = unit(np.concatenate([vectors[chosen] for vectors in head])).astype(np.float32)
    similarity = points @ points.T
    np.fill_diagonal(similarity, np.inf)
    return similarity


def _trustworthiness(head: tuple[Floats, Floats]) -> float:
    """Of places (role, token, component), with the similarity of their vectors."""
    from ingest.projections.compiled_places import excess_ranks

    places, similarity = head
    points = np.concatenate(list(places[:, evenly(places.shape[1], TRUSTED_TOKENS)]))
    count = compared_neighbours(len(points))
    return trust_of_excess(excess_ranks(similarity, points, count), points=len(points)) if count else float("nan")


def _anywhere(tokens: int) -> tuple[Numbers, Numbers]:
    return evenly(tokens, ACROSS_QUERIES), evenly(tokens, ACROSS_KEYS)

"""Terms that are added to logits: masks of the keys that a query sees, and biases by the distance of a key. A BERT has none.

By the mask of its layer, a query sees all keys of its sentence, no later keys, or only near keys.
A mask and every bias depend on the distance of a key, its position minus the query's. Distances are put in buckets. A bucket
has a number for each head (MPNet, after Raffel et al. 2020), or vectors that are multiplied with queries and keys (DeBERTa, He et
al. 2021). In a long sentence, terms are never in memory for all queries at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from store.kernels import AnyArray, as_float, namespace

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]
#: Most numbers that are added at once: they fit into the cache of a core.
ROOM = 1 << 20


@dataclass(frozen=True)
class Mask:
    """The keys that a query sees. A query always sees itself.

    Attributes
    ----------
    causal
        Whether a query sees no later key.
    window
        Largest distance in tokens of a key that a query sees; None for no limit.
    """

    causal: bool = False
    window: int | None = None

    @property
    def hides(self) -> bool:
        """Whether the mask hides a key from a query in a sentence that is long enough."""
        return self.causal or self.window is not None

    def seen(self, distance: AnyArray) -> AnyArray:
        """Whether a query sees a key at each distance, the key's position minus the query's: (..., key_token), bool."""
        near = abs(distance) <= self.window if self.window is not None else distance == distance
        return near & (distance <= 0) if self.causal else near

    def pairs(self, tokens: int) -> NDArray[np.bool_]:
        """Whether each query sees each key in a sentence of `tokens` tokens: (query_token, key_token)."""
        position = np.arange(tokens)
        pairs: NDArray[np.bool_] = self.seen(position - position[:, None])
        return pairs

    def seen_keys(self, tokens: int) -> NDArray[np.int64]:
        """Number of keys that each query sees in a sentence of `tokens` tokens: (query_token,)."""
        before = np.arange(tokens)
        after = np.zeros_like(before) if self.causal else before[::-1]
        farthest = tokens if self.window is None else self.window
        keys: NDArray[np.int64] = np.minimum(before, farthest) + np.minimum(after, farthest) + 1
        return keys

    def even(self, tokens: int) -> NDArray[np.float64]:
        """Even attention of each query to the keys that it sees: (query_token, key_token)."""
        even: NDArray[np.float64] = self.pairs(tokens) / self.seen_keys(tokens)[:, None]
        return even

    def within(self, tokens: int) -> "Mask":
        """The mask with the same effect in sentences of at most `tokens` tokens: without a window at least as long as the sentence."""
        return Mask(self.causal) if self.window is not None and self.window >= tokens - 1 else self


#: The mask of a BERT: every query sees every key.
EVERY_KEY = Mask()


@dataclass(frozen=True, eq=False)
class LayerBias:
    """Mask and biases of the logits of a layer.

    Attributes
    ----------
    mask
        The keys that a query sees.
    by_bucket
        Number that is added to the logit of a key in a bucket: (head, bucket); None for none.
    of_query, of_key
        Vectors (head, bucket, channel); None for none. The product of the query, or the key, and the vector of the key's
        bucket, over sqrt(channels), is added.
    """

    mask: Mask = EVERY_KEY
    by_bucket: Floats | None = None
    of_query: Floats | None = None
    of_key: Floats | None = None

    def of_heads(self, heads: slice) -> "LayerBias":
        """The bias of some heads."""
        return self._of_tables(lambda table: table[heads])

    def of_buckets(self, buckets: NDArray[np.integer]) -> "LayerBias":
        """The bias with only some buckets."""
        return self._of_tables(lambda table: table[:, buckets])

    def _of_tables(self, part: Callable[[Floats], Floats]) -> "LayerBias":
        tables = (None if table is None else part(table) for table in (self.by_bucket, self.of_query, self.of_key))
        return LayerBias(self.mask, *tables)

    def is_linear(self) -> bool:
        """Whether the bias depends on queries or keys."""
        return self.of_query is not None or self.of_key is not None

    def parts(self, query: AnyArray, key: AnyArray, distance: AnyArray, buckets: Positions) -> Iterator[AnyArray]:
        """Added terms, one by one, for queries and keys (head, ..., token, channel) at distances (query_token, key_token)."""
        xp = namespace(query)
        if self.mask.hides:
            zero, nothing = (as_float(np.float32(value), like=query) for value in (0, -np.inf))
            yield xp.where(self.mask.seen(distance), zero, nothing)
        if self.by_bucket is None and not self.is_linear():
            return
        reach = len(buckets) // 2
        bucket = _index(buckets, query)[xp.clip(distance, -reach, reach) + reach]
        if self.by_bucket is not None:
            yield _spread(as_float(self.by_bucket, like=query)[:, bucket], query)
        rows, columns = (_index(np.arange(size), query) for size in distance.shape)
        if self.of_query is not None:
            yield _products(query, self.of_query)[..., rows[:, None], bucket]
        if self.of_key is not None:
            yield _products(key, self.of_key)[..., columns, bucket]


def _index(positions: ArrayLike, like: AnyArray) -> AnyArray:
    """Integer indices for arrays of the type, and on the device, of `like`."""
    xp = namespace(like)
    return xp.as_tensor(positions, device=like.device) if hasattr(xp, "as_tensor") else np.asarray(positions)


def _spread(table: AnyArray, vectors: AnyArray) -> AnyArray:
    """A table (head, any, any) with as many axes as vectors (head, ..., token, channel)."""
    return table.reshape(len(table), *[1] * (vectors.ndim - 3), *table.shape[1:])


def _products(vectors: AnyArray, table: Floats) -> AnyArray:
    """Products of vectors with the vector of every bucket, over sqrt(channels): (head, ..., token, bucket)."""
    xp = namespace(vectors)
    turned = xp.swapaxes(_spread(as_float(table, like=vectors), vectors), -1, -2)
    return xp.matmul(vectors, turned) * vectors.shape[-1] ** -0.5


@dataclass(frozen=True, eq=False)
class AttentionBias:
    """Masks and biases of some layers; the first axis of vectors has the heads of all these layers, layer after layer.

    Attributes
    ----------
    layers
        Bias of each layer.
    buckets
        Bucket of each distance (distance,), from the farthest key before a query to the farthest after it. The ends stand for all
        farther keys.
    positions
        Positions of the queries and of the keys in their sentence; None: all positions, from 0 on.
    """

    layers: Sequence[LayerBias]
    buckets: Positions = field(default_factory=lambda: np.zeros(1, np.int64))
    positions: tuple[Positions, Positions] | None = None

    def of_heads(self, heads: slice) -> "AttentionBias":
        """The bias of some heads of each layer."""
        return replace(self, layers=tuple(layer.of_heads(heads) for layer in self.layers))

    def part(self, layer: int | None = None, head: int | None = None) -> "AttentionBias":
        """The bias of one layer and one head; None for all."""
        of_layers = self if layer is None else replace(self, layers=(self.layers[layer],))
        return of_layers if head is None else of_layers.of_heads(slice(head, head + 1))

    def at(self, queries: ArrayLike, keys: ArrayLike) -> "AttentionBias":
        """The bias for queries and keys at these positions of the sentence, (query_token,) and (key_token,)."""
        return replace(self, positions=(np.asarray(queries, np.int64), np.asarray(keys, np.int64)))

    def tables_of_vectors(self) -> "AttentionBias":
        """Only the terms that depend on queries or keys."""
        return replace(
            self, layers=tuple(LayerBias(of_query=each.of_query, of_key=each.of_key) for each in self.layers)
        )

    def within(self, tokens: int) -> "AttentionBias":
        """The bias for a sentence of `tokens` tokens: tables have only buckets of its distances."""
        middle, reach = len(self.buckets) // 2, min(len(self.buckets) // 2, tokens - 1)
        used, buckets = np.unique(self.buckets[middle - reach : middle + reach + 1], return_inverse=True)
        return replace(self, layers=tuple(layer.of_buckets(used) for layer in self.layers), buckets=buckets)

    @property
    def causal(self) -> bool:
        """Whether queries see no later key."""
        return self.layers[0].mask.causal

    @property
    def adds(self) -> bool:
        """Whether a term other than a mask is added to q.k / sqrt(channels)."""
        return any(layer.by_bucket is not None for layer in self.layers) or self.is_linear()

    def seen(self, tokens: int) -> NDArray[np.bool_]:
        """Whether each query sees each key in a sentence of `tokens` tokens: (layer, query_token, key_token)."""
        return np.stack([layer.mask.pairs(tokens) for layer in self.layers])

    @property
    def reach(self) -> int:
        """The distance in tokens beyond which the bias is constant."""
        return max(len(self.buckets) // 2, *(layer.mask.window or 0 for layer in self.layers))

    def is_linear(self) -> bool:
        """Whether the bias depends on queries or keys, so that it changes where they are translated or scaled."""
        return any(layer.is_linear() for layer in self.layers)

    def added(self, query: AnyArray, key: AnyArray, rows: slice = slice(None)) -> AnyArray:
        """Sum of the terms that are added to the logits of some queries, or of all.

        Parameters
        ----------
        query, key
            (head, ..., token, channel), with the heads of all layers, before the 1/sqrt(channels) scale.
        rows
            Slice of the queries.

        Returns
        -------
        (head, ..., query_token, key_token), minus infinity where a query does not see a key.
        """
        shape = (*query.shape[:-2], query[..., rows, :].shape[-2], key.shape[-2])
        added = as_float(np.zeros(shape), like=query)
        for own, part in self._parts(query, key, rows):
            added[own] += part
        return added

    def add_to(self, logits: AnyArray, query: AnyArray, key: AnyArray, *, room: int = ROOM) -> AnyArray:
        """Add the terms to logits (head, ..., query_token, key_token) in place; returns them. See `added`."""
        queries = logits.shape[-2]
        at_once = max(1, room * queries * len(self.layers) // max(1, int(np.prod(logits.shape))))
        for first in range(0, queries, at_once):
            rows = slice(first, first + at_once)
            for own, part in self._parts(query, key, rows):
                logits[own][..., rows, :] += part
        return logits

    def _parts(self, query: AnyArray, key: AnyArray, rows: slice) -> Iterator[tuple[slice, AnyArray]]:
        """The added terms of every layer, each with the slice of its heads."""
        of_queries, of_keys = self.positions or (np.arange(query.shape[-2]), np.arange(key.shape[-2]))
        distance = _index(of_keys, query) - _index(of_queries[rows], query)[:, None]
        heads = len(query) // len(self.layers)
        for place, layer in enumerate(self.layers):
            own = slice(place * heads, (place + 1) * heads)
            for part in layer.parts(query[own][..., rows, :], key[own], distance, self.buckets):
                yield own, part


def masks_of(bias: AttentionBias | None, layers: int) -> tuple[Mask, ...]:
    """Mask of each layer; `EVERY_KEY` without a bias."""
    return (EVERY_KEY,) * layers if bias is None else tuple(layer.mask for layer in bias.layers)

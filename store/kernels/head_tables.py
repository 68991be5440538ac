"""Position, word and context in the attention of a head: its two tables, the parts of its logits, and its dictionary.

Every query and key is a mean + the part of its position + the part of its wordpiece + a rest, its context (after Song and
Zhong 2023, arXiv 2310.04861, who decompose hidden states). The position's part is the mean of the vectors at the position, minus
the mean of all; the wordpiece's part is the mean of the remainder at its occurrences. Both are shrunk towards 0, and are 0 without
occurrences. Positions with only special tokens have part 0: the part of the special token as a wordpiece covers them.

The parts give two rules of a head, its tables, and a model without context: position and word.

The dictionary of a head lists pairs of wordpieces, positions and distances with the largest logits by its tables. A logit is compared with
the logit of the same query and an average key: the softmax ignores a term that all keys of a query share. The parts are those of
`logit_parts`, without the context: word (m + T).T, position (m + P).P, and position and word, T.P and P.T.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.attention import Vectors
from store.kernels.bias import AttentionBias

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Numbers that are added to the occurrences of a position, and of a wordpiece, before sums are divided by them.
POSITION_SHRINKAGE, WORD_SHRINKAGE = 1, 3
#: Parts of a logit, whose sum is the logit. The constants are equal for all keys of a query: the softmax ignores them.
PARTS = ("position", "word", "position and word", "context", "constants")
Floats = NDArray[np.float32]
#: Most entries of one wordpiece, or one position, in a list, as query and as key.
MOST_OF_ONE = 2
#: Largest distance in tokens, on both sides.
FARTHEST = 10


class TokenRows(NamedTuple):
    """Tokens of whole sentences, one after the other: (token,); number of tokens of each sentence: (sentence,)."""

    token_id: NDArray[np.integer]
    position: NDArray[np.integer]
    is_word: NDArray[np.bool_]
    lengths: NDArray[np.integer]


@dataclass(frozen=True)
class HeadTables:
    """Parts of the queries and keys of some heads. The last row of a table is 0, for positions and wordpieces that were not seen.

    Attributes
    ----------
    token_ids
        Wordpieces that have a row, ascending: (type,).
    mean
        (role, head, channel), queries first.
    position
        (role, head, position, channel).
    word
        (role, head, type, channel).
    sink
        Sink score (head, type): mean logit of a wordpiece under the mean query of its sentence, minus the mean logit there.
    """

    token_ids: NDArray[np.int64]
    mean: Floats
    position: Floats
    word: Floats
    sink: Floats

    def only(self, heads: slice) -> "HeadTables":
        """The tables of some heads."""
        return HeadTables(
            self.token_ids, self.mean[:, heads], self.position[:, heads], self.word[:, heads], self.sink[heads]
        )

    def of_types(self, token_ids: NDArray[np.integer]) -> "HeadTables":
        """The tables with rows of only these wordpieces, ascending: (type,)."""
        rows = self.types(token_ids)
        known = rows[rows < len(self.token_ids)]
        kept = np.append(known, len(self.token_ids))
        return HeadTables(self.token_ids[known], self.mean, self.position, self.word[:, :, kept], self.sink[:, kept])

    @classmethod
    def joined(cls, tables: Sequence["HeadTables"]) -> "HeadTables":
        """The tables of several heads with the same wordpieces and positions, one after the other; at least one."""
        return cls(
            tables[0].token_ids,
            np.concatenate([each.mean for each in tables], axis=1),
            np.concatenate([each.position for each in tables], axis=1),
            np.concatenate([each.word for each in tables], axis=1),
            np.concatenate([each.sink for each in tables]),
        )

    def types(self, token_id: NDArray[np.integer]) -> NDArray[np.intp]:
        """Row of each token's wordpiece: (token,)."""
        place = np.searchsorted(self.token_ids, token_id)
        found = np.append(self.token_ids, -1)[place] == token_id
        return np.where(found, place, len(self.token_ids))

    def parts(self, token_id: NDArray[np.integer], position: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Part of the position and part of the wordpiece of each token: (role, head, token, channel) each."""
        places = np.minimum(position, self.position.shape[2] - 1)
        return self.position[:, :, places], self.word[:, :, self.types(token_id)]


class TableSums:
    """Sums of queries and keys, to which whole sentences are added; their size depends only on the number of wordpieces.

    Parameters
    ----------
    token_ids
        Wordpieces whose parts are wanted, ascending: (type,).
    positions
        Number of positions.
    heads, channels
        Sizes of the vectors that are added.
    """

    def __init__(self, token_ids: NDArray[np.integer], positions: int, heads: int, channels: int) -> None:
        self.token_ids = np.asarray(token_ids, np.int64)
        self._shape = heads, channels
        width = 2 * heads * channels
        self._by_position = np.zeros((positions, width))
        self._by_type = np.zeros((len(self.token_ids), width))
        self._sink = np.zeros((len(self.token_ids), heads))
        self._met = np.zeros((len(self.token_ids), positions))
        self._seen = np.zeros(positions)
        self._words = np.zeros(positions)

    def add(self, query: Floats, key: Floats, tokens: TokenRows) -> None:
        """Add queries and keys (head, token, channel) of whole sentences."""
        heads, length, channels = query.shape
        both = np.empty((length, 2 * heads, channels), np.float32)  # each token's vectors side by side
        both[:, :heads], both[:, heads:] = query.transpose(1, 0, 2), key.transpose(1, 0, 2)
        vectors = both.reshape(length, -1)
        place = np.minimum(np.searchsorted(self.token_ids, tokens.token_id), len(self.token_ids) - 1)
        wanted = np.flatnonzero(self.token_ids[place] == tokens.token_id)
        types = _indicator(place[wanted], wanted, (len(self.token_ids), len(vectors)))
        positions = _indicator(tokens.position, np.arange(len(vectors)), (len(self._seen), len(vectors)))
        self._by_type += types @ vectors
        self._by_position += positions @ vectors
        self._met += (types @ positions.T).toarray()
        sentence = np.repeat(np.arange(len(tokens.lengths)), tokens.lengths)
        sentences = _indicator(sentence, np.arange(len(vectors)), (len(tokens.lengths), len(vectors)))
        means = (sentences @ vectors / tokens.lengths[:, None].astype(np.float32)).reshape(-1, *both.shape[1:])
        self._sink += types @ self._more_than_others(both, means, sentence)
        self._seen += np.bincount(tokens.position, minlength=len(self._seen))
        self._words += np.bincount(tokens.position[tokens.is_word], minlength=len(self._words))

    def _more_than_others(self, vectors: Floats, means: Floats, sentence: NDArray[np.intp]) -> Floats:
        """Logit (token, head) of every key under the mean query of its sentence, minus the sentence's mean logit.

        `vectors` (token, query and key, channel); `means` are their means in each sentence (sentence, query and key, channel).
        """
        heads, channels = self._shape
        mean_query, mean_key = means[:, :heads], means[:, heads:]
        logits = np.einsum("thc,thc->th", mean_query[sentence], vectors[:, heads:])
        average = np.einsum("shc,shc->sh", mean_query, mean_key)
        return (logits - average[sentence]) / np.float32(channels**0.5)

    def tables(self) -> HeadTables:
        """The tables from all added sentences."""
        heads, channels = self._shape
        tokens = max(1.0, self._seen.sum())
        mean = self._by_position.sum(axis=0) / tokens
        position = (self._by_position - self._seen[:, None] * mean) / (self._seen[:, None] + POSITION_SHRINKAGE)
        position[self._words == 0] = 0
        counts = self._met.sum(axis=1, keepdims=True)
        word = (self._by_type - counts * mean - self._met @ position) / (counts + WORD_SHRINKAGE)
        sink = (self._sink / (counts + WORD_SHRINKAGE)).T.astype(np.float32)
        split = (2, heads, channels)
        by_position, by_word = (
            np.moveaxis(np.pad(table, ((0, 1), (0, 0))).reshape(-1, *split), 0, 2).astype(np.float32)
            for table in (position, word)
        )
        return HeadTables(
            self.token_ids,
            mean.reshape(split).astype(np.float32),
            by_position,
            by_word,
            np.pad(sink, ((0, 0), (0, 1))),
        )


def _indicator(groups: NDArray[np.integer], tokens: NDArray[np.integer], shape: tuple[int, int]) -> "csr_matrix":
    """Sparse matrix (group, token), 1 where a token is in a group; its product with vectors sums them by group."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(groups), np.float32), (groups, tokens)), shape=shape)


def table_logits(tables: HeadTables, token_id: NDArray[np.integer]) -> Floats:
    """Logits of the two tables in a sentence: (head, table, query_token, key_token), sink scores first, then word to word."""
    types, (mean_query, mean_key) = tables.types(token_id), tables.mean[:, :, None]
    query, key = mean_query + tables.word[0][:, types], mean_key + tables.word[1][:, types]
    words = _scaled(query, key)
    return np.stack([np.broadcast_to(tables.sink[:, None, types], words.shape), words], axis=1)


def static_logits(
    tables: HeadTables, token_id: NDArray[np.integer], position: NDArray[np.integer], bias: AttentionBias | None = None
) -> Floats:
    """Logits of position and word, with the model's bias, without context: (head, query_token, key_token)."""
    of_position, of_word = tables.parts(token_id, position)
    query, key = tables.mean[:, :, None] + of_position + of_word
    logits = _scaled(query, key)
    return logits if bias is None else bias.add_to(logits, query, key)


def logit_parts(
    query: Floats,
    key: Floats,
    tables: HeadTables,
    token_id: NDArray[np.integer],
    position: NDArray[np.integer],
    bias: AttentionBias | None = None,
    rows: NDArray[np.integer] | None = None,
) -> Floats:
    """Parts of the logits of a sentence, in the order of `PARTS`; they sum to q.k / sqrt(channels) + bias.

    With m, P, T and R the mean, the parts of position and word, and the rest, of queries (left) and keys (right):
    position (m + P).P, word (m + T).T, position and word P.T + T.P, context (m + P + T).R + R.(P + T + R), and
    constants (m + P + T + R).m, which are equal for all keys of a query. A bias by distance belongs to part position; its
    products with m + P belong to position too, its products with T to position and word, and with R to context.

    Parameters
    ----------
    query, key
        (head, token, channel) of the heads of `tables`.
    token_id, position
        (token,).
    bias
        Bias that the model adds to the logits of these heads.
    rows
        Positions of the queries in the sentence; None for all.

    Returns
    -------
    (part, head, query_token, key_token); minus infinity in part `position` where a query does not see a key.
    """
    of_position, of_word = tables.parts(token_id, position)
    mean = tables.mean[:, :, None]
    rest_query, rest_key = np.stack([query, key]) - mean - of_position - of_word
    (mean_query, mean_key), (position_query, position_key), (word_query, word_key) = mean, of_position, of_word
    if rows is not None:
        query, rest_query, position_query, word_query = (
            each[:, rows] for each in (query, rest_query, position_query, word_query)
        )
        bias = bias and bias.at(rows, np.arange(key.shape[-2]))
    known = mean_query + position_query + word_query
    parts: Floats = np.stack(
        [
            _scaled(mean_query + position_query, position_key),
            _scaled(mean_query + word_query, word_key),
            _scaled(position_query, word_key) + _scaled(word_query, position_key),
            _scaled(known, rest_key) + _scaled(rest_query, position_key + word_key + rest_key),
            _scaled(query, np.broadcast_to(mean_key, key.shape)),
        ]
    )
    if bias is not None:
        bias.add_to(parts[0], mean_query + position_query, mean_key + position_key)
        if bias.is_linear():
            bias.tables_of_vectors().add_to(parts[2], word_query, word_key)
            bias.tables_of_vectors().add_to(parts[3], rest_query, rest_key)
    return parts


def _scaled(query: Floats, key: Floats) -> Floats:
    logits: Floats = query @ key.swapaxes(-1, -2) * np.float32(query.shape[-1] ** -0.5)
    return logits


@dataclass
class VarianceShares:
    """Share of each part in the variance of a head's logits within rows, over added sentences.

    The share of a part is the sum of (part - its mean in the row) (logit - its mean in the row) over the same sum of the logit with
    itself. The shares of all parts sum to 1; the share of the constants is 0, and shares may be negative.
    """

    heads: int
    _sums: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self._sums = np.zeros((len(PARTS), self.heads))

    def add(self, parts: Floats) -> None:
        """Add the parts (part, head, query_token, key_token) of a sentence; keys that a query does not see do not count."""
        seen = np.isfinite(parts).all(axis=0)
        if seen.all():
            centred = parts - parts.mean(axis=-1, keepdims=True)
        else:
            shown = np.where(seen, parts, np.float32(0))
            centred = np.where(seen, shown - shown.sum(axis=-1, keepdims=True) / seen.sum(axis=-1, keepdims=True), 0)
        self._sums += np.einsum("phij,hij->ph", centred, centred.sum(axis=0), dtype=np.float64)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shares (part, head); NaN where all keys have the same logit."""
        total = self._sums.sum(axis=0)
        return np.divide(self._sums, total, out=np.full(self._sums.shape, np.nan), where=total > 0)


class Strongest(NamedTuple):
    """Pairs of parts (pair,) with the largest logits, the largest first: row of the query and of the key, logit, number of sentences with both."""

    query: NDArray[np.int64]
    key: NDArray[np.int64]
    logit: NDArray[np.float64]
    sentences: NDArray[np.int64]


def strongest_parts(
    query: Vectors, key: Vectors, key_count: NDArray[np.integer], sentences: "csr_matrix", *, least: int, listed: int
) -> Strongest:
    """Pairs of parts with the largest logits above an average key's, among pairs in enough sentences; only positive differences.

    Parameters
    ----------
    query, key
        Parts of queries (query, channel) and of keys (key, channel).
    key_count
        Number of occurrences of each key: (key,).
    sentences
        Number of sentences with both: (query, key).
    least, listed
        Least sentences of a pair, and most pairs.
    """
    pairs = sentences.tocoo()
    enough = pairs.data >= least
    rows, columns, counts = pairs.row[enough], pairs.col[enough], pairs.data[enough]
    average = key_count @ key / max(1, key_count.sum())
    logits = np.einsum("pc,pc->p", query[rows], (key - average)[columns], dtype=np.float64) / query.shape[-1] ** 0.5
    found: list[int] = []
    of_query, of_key = Counter[int](), Counter[int]()
    for pair in np.argsort(-logits, kind="stable").tolist():
        row, column = int(rows[pair]), int(columns[pair])
        if len(found) == listed or logits[pair] <= 0:
            break
        if of_query[row] < MOST_OF_ONE and of_key[column] < MOST_OF_ONE:
            found.append(pair)
            of_query[row] += 1
            of_key[column] += 1
    return Strongest(
        rows[found].astype(np.int64), columns[found].astype(np.int64), logits[found], counts[found].astype(np.int64)
    )


def offset_logits(
    query: Vectors, key: Vectors, words: NDArray[np.integer], added: Vectors | None = None
) -> NDArray[np.float64]:
    """Mean logit of a key at each distance minus an average word's in the sentence: (offset,) from -10 to 10; NaN without such keys.

    Parameters
    ----------
    query, key
        Parts of queries and keys by position: (position, channel); position 0 is a special token.
    words
        Number of words of each sentence, at positions 1, 2, ...: (sentence,).
    added
        Bias that the model adds to logits between positions: (query_position, key_position).
    """
    last = query.shape[0] - 1
    logits = (query @ key.T).astype(np.float64) / query.shape[-1] ** 0.5
    if added is not None:
        logits = np.where(np.isfinite(added), logits + added, np.nan)
    sums, counts = np.zeros((2, 2 * FARTHEST + 1))
    for size, repeats in zip(*np.unique(np.minimum(words, last), return_counts=True), strict=True):
        own = logits[1 : size + 1, 1 : size + 1]
        mean = np.mean if added is None else np.nanmean
        above = own - mean(own, axis=1, keepdims=True) if size else own
        for place, offset in enumerate(range(-FARTHEST, FARTHEST + 1)):
            diagonal = np.diagonal(above, offset) if abs(offset) < size else np.zeros(0)
            sums[place] += repeats * diagonal.sum()
            counts[place] += repeats * len(diagonal)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)

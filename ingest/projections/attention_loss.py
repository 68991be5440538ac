"""The training loss of a picture and its gradient: smooth versions of the measures that judge it, over the keys of each query.

The order of all keys (Spearman): the correlation of their ranks by attention with their distances. The nearest keys
(recall): a cross entropy between the most attended keys and a softmax of minus the squared distance. The weights
themselves: the same cross entropy with attention, half of it at a higher temperature, which orders the many weak keys.
The target, which depends on queries and keys alone, is computed once for all steps, and the gradient by its formula: torch's
autograd takes three times as long, as the tensors are small.

A picture is trained on batches of sentences, and on sets of queries and keys from anywhere in the corpus. Each batch or set
has a target, which depends on nothing that is trained: it is computed at the first draw and kept for the next.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from store.kernels.attention import attention_logits
from store.kernels.bias import AttentionBias
from store.schema.pictures import RECALL_KEYS

#: Tokens of a batch: sentences of like length, one after the other in their order by length. Three times as many took two and
#: a half times as long, and no measure of a picture differed by more than 0.003.
TOKENS = 128
#: Weight of the loss over keys from anywhere, number of its queries and keys in a step, and number of such sets.
ACROSS, ANYWHERE, SETS = 0.3, 96, 128
#: Numbers that all kept targets hold together, at most; further targets are computed at every draw.
KEPT = 1 << 27
TEMPERATURE = 2.0
#: Logit in place of minus infinity, which has no gradient.
LEAST = -1e9
#: Weights of the three parts. Order against nearest keys is what heads differ in: where the weak keys of a head that looks
#: at the previous token repeat along the sentence, a picture that puts order first loses its nearest keys, and conversely.
ORDER, NEAREST, WEIGHTS = 2.0, 1.3, 0.3
#: Added to squared distances, so that the distance of equal places has a gradient.
SMALLEST_SQUARE = 1e-4
#: Added to the sum of squares of centred distances, which may all be equal.
SMALLEST_SPREAD = 1e-6
#: Below this share of the softmax a key no longer pulls: the pull grows with distance, and a few keys would outweigh all.
FAINTEST = math.exp(-60)


@dataclass(frozen=True)
class Target:
    """Training target of the places of some queries and keys.

    Attributes
    ----------
    shares
        Target of the softmax of minus the squared distance, 0 on padding: (..., query_token, key_token).
    order
        Ranks by attention, the most attended first, with mean 0 and length 1; 0 on padding. Keys that a query does not see share
        the mean of the last ranks. None where order does not count.
    hidden
        Mask of the keys that are padding (..., 1, key_token); None without padding.
    weight
        Weight of each query in the loss, 0 for padding: (..., query_token, 1).
    """

    shares: Tensor
    order: Tensor | None
    hidden: Tensor | None
    weight: Tensor


def in_sentence(query: Tensor, key: Tensor, real: Tensor, bias: AttentionBias | None = None) -> Target:
    """The target of queries over the keys of their sentence; the loss is their mean.

    Parameters
    ----------
    query, key
        (head, sentence, token, channel).
    real
        False for padding: (sentence, token).
    bias
        Bias that the model adds to logits. Keys that a query does not see rank last, all equal.
    """
    hidden = None if bool(real.all()) else ~real[None, :, None, :]
    logits = _masked(attention_logits(query, key, bias=bias), hidden, LEAST)
    logits = logits if bias is None else logits.clamp(min=LEAST)
    shares = _masked(WEIGHTS * _attention(logits) + NEAREST * _most_attended(logits), hidden, 0)
    weight = real[..., None].to(query.dtype) / real.sum()
    ranks = _ranks(logits)
    if bias is not None:
        ranks = _with_unseen_tied(ranks, logits > LEAST, real.sum(-1)[:, None, None])
    return Target(shares, _standardized(ranks, hidden), hidden, weight)


def across_sentences(query: Tensor, key: Tensor, *, weight: float) -> Target:
    """Target of queries over keys from anywhere (head, token, channel): weights alone, without bias; the loss is `weight` x their mean."""
    of_query = query.new_full((query.shape[-2], 1), weight / query.shape[-2])
    return Target(_attention(attention_logits(query, key)), None, None, of_query)


def gradient(target: Target, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of the loss by the places of queries and by those of keys: (..., token, component) each.

    The loss of a query: the cross entropy of `shares` and a softmax of minus the squared distance, where keys below
    `FAINTEST` are a constant, and `ORDER` x (1 - correlation of `order` and distance).
    """
    square = squared_distance(query, key)
    shown = torch.softmax(_masked(-square, target.hidden, LEAST), -1)
    by_square = target.shares.masked_fill(shown < FAINTEST, 0)
    by_square -= shown.mul_(by_square.sum(-1, keepdim=True))
    if target.order is not None:
        by_square += _order_gradient(square, target.order, target.hidden)
    by_square *= target.weight
    return (
        2 * (query * by_square.sum(-1)[..., None] - by_square @ key),
        2 * (key * by_square.sum(-2)[..., None] - by_square.transpose(-1, -2) @ query),
    )


def _order_gradient(square: Tensor, order: Tensor, hidden: Tensor | None) -> Tensor:
    """Gradient of minus `ORDER` x the correlation of ranks and distances, by the squared distance."""
    distance = square.clamp_(min=0).add_(SMALLEST_SQUARE).sqrt_()
    centred, length = _centred(distance, hidden)
    # The correlation is the cosine of `order` and `centred`; both have the mean 0, so that it takes no centring again.
    correlation = (order * centred).sum(-1, keepdim=True) / length
    slope = torch.addcmul(order, centred, correlation / length, value=-1)
    return slope.mul_(-ORDER / 2 / length).div_(distance)


def squared_distance(query: Tensor, key: Tensor) -> Tensor:
    """Squared distance of every query to every key: (..., query_token, key_token) from (..., token, component)."""
    squares = (query * query).sum(-1)[..., :, None] + (key * key).sum(-1)[..., None, :]
    return squares.sub_(query @ key.transpose(-1, -2), alpha=2)


def _attention(logits: Tensor) -> Tensor:
    return 0.5 * (torch.softmax(logits, -1) + torch.softmax(logits / TEMPERATURE, -1))


def _most_attended(logits: Tensor) -> Tensor:
    """Equal shares for the keys that `recall` looks for, of those that a query sees."""
    largest = logits.topk(min(RECALL_KEYS, logits.shape[-1]), -1)
    seen = (largest.values > LEAST).to(logits.dtype)
    shares = seen / seen.sum(-1, keepdim=True).clamp(min=1)
    return torch.zeros_like(logits).scatter_(-1, largest.indices, shares)


def _ranks(logits: Tensor) -> Tensor:
    order = logits.argsort(dim=-1, descending=True)
    places = torch.arange(logits.shape[-1], dtype=logits.dtype, device=logits.device).expand_as(logits)
    return torch.empty_like(logits).scatter_(-1, order, places)


def _with_unseen_tied(ranks: Tensor, seen: Tensor, keys: Tensor) -> Tensor:
    """Ranks in which the keys that a query does not see, the last of the `keys` that are no padding, share their mean rank."""
    return torch.where(seen, ranks, (seen.sum(-1, keepdim=True) + keys - 1).to(ranks.dtype) / 2)


def _standardized(values: Tensor, hidden: Tensor | None) -> Tensor:
    """Values with mean 0 and length 1 over the keys that are no padding; padding gets 0."""
    centred, length = _centred(values, hidden)
    return centred / length


def _centred(values: Tensor, hidden: Tensor | None) -> tuple[Tensor, Tensor]:
    """Values with mean 0 over the keys that are no padding, 0 on padding; and the length of these values (..., 1)."""
    shown = _masked(values, hidden, 0)
    keys = values.shape[-1] if hidden is None else (~hidden).sum(-1, keepdim=True)
    centred = _masked(values - shown.sum(-1, keepdim=True) / keys, hidden, 0)
    return centred, ((centred * centred).sum(-1, keepdim=True) + SMALLEST_SPREAD).sqrt()


def _masked(values: Tensor, hidden: Tensor | None, fill: float) -> Tensor:
    return values if hidden is None else values.masked_fill(hidden, fill)


@dataclass(frozen=True)
class Lesson:
    """Some tokens and the training target of their places.

    Attributes
    ----------
    rows
        Rows in the sample of the tokens whose queries, and of those whose keys are placed: (role, token).
    shape
        Shape of the places of each role, without head and component: (sentence, token), or (token,).
    target
        Target of the places, for all heads.
    """

    rows: Tensor
    shape: tuple[int, ...]
    target: Target


@dataclass(frozen=True)
class Batches:
    """Rows of the sample in batches of sentences of like length.

    Attributes
    ----------
    rows, real
        For each batch (sentence, token): rows of the sample, and False for padding.
    of_sentence
        The batch of every sentence: (sentence,).
    """

    rows: list[Tensor]
    real: list[Tensor]
    of_sentence: Tensor

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> "Batches":
        """Batches of sentences of these lengths, which lie one after the other."""
        order = np.argsort(sizes, kind="stable")
        starts, ordered = (np.cumsum(sizes) - sizes)[order], sizes[order]
        rows, real, counts, first = [], [], [], 0
        while first < len(ordered):
            some = slice(first, first + max(1, TOKENS // int(ordered[first])))
            offset, size = np.arange(ordered[some].max()), ordered[some, None]
            rows.append(torch.from_numpy(starts[some, None] + np.minimum(offset, size - 1)))
            real.append(torch.from_numpy(offset < size))
            counts.append(len(size))
            first += len(size)
        return cls(rows, real, torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts)))


class Lessons:
    """The lessons of some heads, from their queries and keys (head, role, token, channel) and the lengths of the sentences."""

    def __init__(
        self,
        vectors: Tensor,
        sizes: NDArray[np.int64],
        generator: torch.Generator,
        *,
        most_kept: int = KEPT,
        bias: AttentionBias | None = None,
    ) -> None:
        self._vectors, self._batches, self._generator = vectors, Batches.of(sizes), generator
        self._most_kept, self._bias = most_kept, bias
        count = vectors.shape[2]
        self._sets = torch.randint(count, (SETS, 2, min(ANYWHERE, count)), generator=generator)
        self._kept: dict[tuple[str, int], Lesson] = {}
        self._numbers = 0

    def draw(self) -> list[Lesson]:
        """A random batch, more likely with more sentences, and a random set of queries and keys from anywhere."""
        sentence, place = (
            int(torch.randint(count, (1,), generator=self._generator))
            for count in (len(self._batches.of_sentence), SETS)
        )
        batch = int(self._batches.of_sentence[sentence])
        return [
            self._kept_or("sentences", batch, self._of_batch),
            self._kept_or("anywhere", place, self._of_set),
        ]

    def _kept_or(self, kind: str, number: int, compute: Callable[[int], Lesson]) -> Lesson:
        lesson = self._kept.get((kind, number)) or compute(number)
        size = lesson.target.shares.numel() * (1 if lesson.target.order is None else 2)
        if (kind, number) not in self._kept and self._numbers + size <= self._most_kept:
            self._kept[kind, number] = lesson
            self._numbers += size
        return lesson

    def _of_batch(self, number: int) -> Lesson:
        rows, real = self._batches.rows[number], self._batches.real[number].to(self._vectors.device)
        both = vectors_at(self._vectors, rows.flatten().expand(2, -1)).unflatten(2, rows.shape)
        target = in_sentence(both[:, 0], both[:, 1], real, self._bias)
        return Lesson(rows.flatten().expand(2, -1), tuple(rows.shape), target)

    def _of_set(self, number: int) -> Lesson:
        rows = self._sets[number]
        both = vectors_at(self._vectors, rows)
        return Lesson(rows, (rows.shape[1],), across_sentences(both[:, 0], both[:, 1], weight=ACROSS))


def vectors_at(vectors: Tensor, rows: Tensor) -> Tensor:
    """Vectors (head, role, token, channel) of the rows of each role (role, token)."""
    heads, roles, tokens, channels = vectors.shape
    # Roles and tokens as one axis: torch copies all tokens before it selects from one role.
    flat = (rows + tokens * torch.arange(roles)[:, None]).flatten().to(vectors.device)
    return vectors.view(heads, -1, channels).index_select(1, flat).view(heads, roles, -1, channels)

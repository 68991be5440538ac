"""The training loss of a picture and its gradient: smooth versions of the measures that judge it, over the keys of each query.

The order of all keys (Spearman): the correlation of their ranks by attention with their distances. The nearest keys
(recall): a cross entropy between the most attended keys and a softmax of minus the squared distance. The weights
themselves: the same cross entropy with attention, half of it at a higher temperature, which orders the many weak keys.
What depends on queries and keys alone (`Target`) is computed once for all steps, and the gradient by its formula: torch's
autograd takes three times as long, as the tensors are small.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from store.kernels.attention import attention_logits
from store.schema.pictures import RECALL_KEYS

TEMPERATURE = 2.0
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
    """What the places of some queries and keys are trained for.

    Attributes
    ----------
    shares
        Target of the softmax of minus the squared distance, 0 on padding: (..., query_token, key_token).
    order
        Ranks by attention, the most attended first, with mean 0 and length 1; 0 on padding. None where order does not count.
    hidden
        Which keys are padding (..., 1, key_token); None where none is.
    weight
        Weight of each query in the loss, 0 for padding: (..., query_token, 1).
    """

    shares: Tensor
    order: Tensor | None
    hidden: Tensor | None
    weight: Tensor


def in_sentence(query: Tensor, key: Tensor, real: Tensor) -> Target:
    """The target of queries over the keys of their sentence; the loss is their mean.

    Parameters
    ----------
    query, key
        (head, sentence, token, channel).
    real
        False for padding: (sentence, token).
    """
    hidden = None if bool(real.all()) else ~real[None, :, None, :]
    logits = _masked(attention_logits(query, key), hidden, -1e9)
    shares = _masked(WEIGHTS * _attention(logits) + NEAREST * _most_attended(logits), hidden, 0)
    weight = real[..., None].to(query.dtype) / real.sum()
    return Target(shares, _standardized(_ranks(logits), hidden), hidden, weight)


def across_sentences(query: Tensor, key: Tensor, *, weight: float) -> Target:
    """The target of queries over keys from anywhere (head, token, channel): of the weights alone; the loss is `weight` x their mean."""
    of_query = query.new_full((query.shape[-2], 1), weight / query.shape[-2])
    return Target(_attention(attention_logits(query, key)), None, None, of_query)


def gradient(target: Target, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of the loss by the places of queries and by those of keys: (..., token, component) each.

    The loss of a query: the cross entropy of `shares` and a softmax of minus the squared distance, where keys below
    `FAINTEST` are a constant, and `ORDER` x (1 - correlation of `order` and distance).
    """
    square = squared_distance(query, key)
    shown = torch.softmax(_masked(-square, target.hidden, -1e9), -1)
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
    """Equal shares for the keys that `recall` looks for."""
    count = min(RECALL_KEYS, logits.shape[-1])
    return torch.zeros_like(logits).scatter_(-1, logits.topk(count, -1).indices, 1 / count)


def _ranks(logits: Tensor) -> Tensor:
    order = logits.argsort(dim=-1, descending=True)
    places = torch.arange(logits.shape[-1], dtype=logits.dtype, device=logits.device).expand_as(logits)
    return torch.empty_like(logits).scatter_(-1, order, places)


def _standardized(values: Tensor, hidden: Tensor | None) -> Tensor:
    """With mean 0 and length 1 over the keys that are no padding, which get 0."""
    centred, length = _centred(values, hidden)
    return centred / length


def _centred(values: Tensor, hidden: Tensor | None) -> tuple[Tensor, Tensor]:
    """With mean 0 over the keys that are no padding, which get 0; and the length of that (..., 1)."""
    shown = _masked(values, hidden, 0)
    keys = values.shape[-1] if hidden is None else (~hidden).sum(-1, keepdim=True)
    centred = _masked(values - shown.sum(-1, keepdim=True) / keys, hidden, 0)
    return centred, ((centred * centred).sum(-1, keepdim=True) + SMALLEST_SPREAD).sqrt()


def _masked(values: Tensor, hidden: Tensor | None, fill: float) -> Tensor:
    return values if hidden is None else values.masked_fill(hidden, fill)

"""The training loss of a picture: smooth versions of the measures that judge it, over the keys of each query.

The order of all keys (Spearman): the correlation of their ranks by attention with their distances. The nearest keys
(recall): a cross entropy between the most attended keys and a softmax of minus the squared distance. The weights
themselves: the same cross entropy with attention, half of it at a higher temperature, which orders the many weak keys.
"""

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


def loss_in_sentence(query: Tensor, key: Tensor, query_place: Tensor, key_place: Tensor, hidden: Tensor) -> Tensor:
    """Loss of every query (..., query_token) over the keys of its sentence.

    Parameters
    ----------
    query, key
        (..., token, channel).
    query_place, key_place
        (..., token, component).
    hidden
        Which keys are padding: (..., 1, key_token).
    """
    square = squared_distance(query_place, key_place)
    with torch.no_grad():
        logits = attention_logits(query, key).masked_fill(hidden, -1e9)
        target = WEIGHTS * _attention(logits) + NEAREST * _most_attended(logits)
    return _cross_entropy(target, (-square).masked_fill(hidden, -1e9)) + ORDER * _disorder(logits, square, hidden)


def loss_across_sentences(query: Tensor, key: Tensor, query_place: Tensor, key_place: Tensor) -> Tensor:
    """Loss of every query (..., query_token) over keys from anywhere: of the weights alone."""
    with torch.no_grad():
        target = _attention(attention_logits(query, key))
    return _cross_entropy(target, -squared_distance(query_place, key_place))


def squared_distance(query: Tensor, key: Tensor) -> Tensor:
    """Squared distance of every query to every key: (..., query_token, key_token) from (..., token, component)."""
    squares = (query * query).sum(-1)[..., :, None] + (key * key).sum(-1)[..., None, :]
    return squares - 2 * query @ key.transpose(-1, -2)


def _attention(logits: Tensor) -> Tensor:
    return 0.5 * (torch.softmax(logits, -1) + torch.softmax(logits / TEMPERATURE, -1))


def _most_attended(logits: Tensor) -> Tensor:
    """Equal shares for the keys that `recall` looks for."""
    count = min(RECALL_KEYS, logits.shape[-1])
    return torch.zeros_like(logits).scatter_(-1, logits.topk(count, -1).indices, 1 / count)


def _cross_entropy(target: Tensor, shown: Tensor) -> Tensor:
    # A key that is nearly infinitely far keeps a gradient that can be followed.
    return -(target * torch.log_softmax(shown, -1).clamp(min=-60)).sum(dim=-1)


def _disorder(logits: Tensor, square: Tensor, hidden: Tensor) -> Tensor:
    """1 - correlation of ranks by attention, the most attended first, and distances: (..., query_token)."""
    with torch.no_grad():
        order = logits.argsort(dim=-1, descending=True)
        places = torch.arange(logits.shape[-1], dtype=logits.dtype, device=logits.device).expand_as(logits)
        ranks = _standardized(torch.empty_like(logits).scatter_(-1, order, places), hidden)
    distances = _standardized((square.clamp(min=0) + SMALLEST_SQUARE).sqrt(), hidden)
    return 1 - (ranks * distances).sum(-1)


def _standardized(values: Tensor, hidden: Tensor) -> Tensor:
    """With mean 0 and length 1 over the keys that are no padding, which get 0."""
    real = (~hidden).to(values.dtype)
    centred = (values - (values * real).sum(-1, keepdim=True) / real.sum(-1, keepdim=True)) * real
    return centred / ((centred * centred).sum(-1, keepdim=True) + 1e-6).sqrt()

"""A change of a model (heads that do nothing or attend otherwise), and the differences downstream in a sentence."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.sentence import Floats, Sentence
from dashboard.web.state import Instead
from store.kernels.attention import softmax
from store.kernels.bias import EVERY_KEY, Mask
from store.kernels.heads import row_divergence

#: Most listed pairs of a head, and the smallest change of weight of a listed pair.
LISTED, LEAST = 5, 0.0005
#: Replacements whose patterns depend on the sentence and the head.
PREDICTED: tuple[Instead, ...] = ("mean", "rule", "patch")


@dataclass(frozen=True)
class Change:
    """Heads of a model whose pattern is replaced before values are mixed.

    Attributes
    ----------
    heads
        Layer and head of each replaced head, 0-based.
    instead
        `off`: no pattern, the head adds nothing; `even`: each key gets the same weight; `mean`: the head's mean pattern; `rule`:
        the pattern that its rules predict; `patch`: its pattern in another sentence.
    predicted
        Patterns (head, query_token, key_token) of `mean`, `rule` and `patch`, as bytes of float32.
    hidden
        Positions of wordpieces that a second pass hides to measure their loss. Empty without a second pass.
    unseen
        `predicted` in the second pass; empty where it is the same.
    masks
        The keys that queries see, by layer. Empty where queries see all keys.
    products
        Whether the inner products for context mixing are computed: not for a sample, which nobody looks at.
    method
        The method of `dashboard.sentence.methods` that runs; empty for no method.
    """

    heads: tuple[tuple[int, int], ...] = ()
    instead: Instead = "off"
    predicted: bytes = b""
    hidden: tuple[int, ...] = ()
    unseen: bytes = b""
    masks: tuple[Mask, ...] = ()
    products: bool = True
    method: str = ""

    def patterns(self, tokens: int, *, hiding: bool = False) -> dict[tuple[int, int], NDArray[np.float32]]:
        """(layer, head) -> replaced weights (query_token, key_token) in a sentence of `tokens` tokens; `hiding`: in the second pass."""
        if self.instead in PREDICTED:
            predicted = (hiding and self.unseen) or self.predicted
            weights = np.frombuffer(predicted, np.float32).reshape(-1, tokens, tokens).copy()
            return dict(zip(self.heads, weights, strict=True))
        if self.instead == "off":
            return {head: np.zeros((tokens, tokens), np.float32) for head in self.heads}
        masks = [self.masks[layer] if self.masks else EVERY_KEY for layer, _ in self.heads]
        return {head: mask.even(tokens).astype(np.float32) for head, mask in zip(self.heads, masks, strict=True)}

    def is_later(self, layer: int, head: int) -> bool:
        """Whether a head can attend otherwise because of the change: it is in a layer above a changed head and not changed itself."""
        return any(layer > changed for changed, _ in self.heads) and (layer, head) not in self.heads


NO_CHANGE = Change()


class ChangedPair(NamedTuple):
    """Positions of a query and a key, and the weight before and after a change."""

    query: int
    key: int
    before: float
    after: float


def vector_change(before: Sentence, after: Sentence) -> float:
    """1 - cosine of the mean output of the last layer over the tokens of words, before and after; 0 to 2."""
    own, other = map(sentence_vector, (before, after))
    return max(0.0, 1 - float(own @ other / np.sqrt((own @ own) * (other @ other))))


def sentence_vector(sentence: Sentence) -> NDArray[np.float64]:
    """Mean output of the last layer over the tokens of words: (feature,)."""
    assert sentence.last is not None, "the model has encoded it"
    vector: NDArray[np.float64] = sentence.last[sentence.word_index >= 0].mean(axis=0, dtype=np.float64)
    return vector


def attention_change(before: Sentence, after: Sentence) -> NDArray[np.float64]:
    """Jensen-Shannon divergence of each head's rows before and after, in nats, mean over queries: (layer, head)."""
    layers, _, tokens = before.query.shape[:3]
    sums = [
        sum(
            row_divergence(own.astype(np.float64), other.astype(np.float64)).sum(axis=-1)
            for _, own, other in _both(before, after, layer)
        )
        for layer in range(layers)
    ]
    return np.stack([np.asarray(each) for each in sums]) / tokens


def changed_pairs(before: Sentence, after: Sentence, layer: int, head: int) -> list[ChangedPair]:
    """The pairs of a head whose weights change most, the largest change first."""
    found: list[ChangedPair] = []
    for rows, own, other in _both(before, after, layer):
        difference = np.abs(other[head] - own[head])
        order = np.argsort(-difference, axis=None, kind="stable")[:LISTED]
        found += [
            ChangedPair(rows.start + query, key, float(own[head, query, key]), float(other[head, query, key]))
            for query, key in zip(*(axis.tolist() for axis in np.unravel_index(order, difference.shape)), strict=True)
            if difference[query, key] >= LEAST
        ]
    return sorted(found, key=lambda pair: -abs(pair.after - pair.before))[:LISTED]


def _both(before: Sentence, after: Sentence, layer: int) -> Iterator[tuple[slice, Floats, Floats]]:
    """Weights (head, query_token, key_token) before and after of some queries at a time, after the rows of these queries."""
    for (rows, own), (_, other) in zip(*(each.all_rows(layer) for each in (before, after)), strict=True):
        yield rows, own, other


class AnswerChange(NamedTuple):
    """The name of a classifier's answer, and its probability before and after."""

    name: str
    before: float
    after: float


def answer_changes(before: Sentence, after: Sentence) -> list[AnswerChange]:
    """The answers of a classifier, the likeliest before the change first; empty for another model."""
    if not before.answers or before.answer is None or after.answer is None:
        return []
    own, other = (softmax(each.astype(np.float64)).tolist() for each in (before.answer, after.answer))
    return sorted(map(AnswerChange, before.answers, own, other), key=lambda answer: -answer.before)

"""Replaced attention of heads: mean pattern of a head, change of sentence vectors, and choice of hidden wordpieces."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.bias import AttentionBias
from store.kernels.intervals import PERCENTILES
from store.kernels.projection import centred_ranks, cosine_distance
from store.schema.corpus import IDLE, NO_WORD

#: Largest offset; farther keys count as this far.
FARTHEST = 20
#: Classes of tokens: a special token at the beginning, one at the end, all others.
BEGINS, ENDS, OTHER = 0, 1, 2
#: Numbers of classes of a query and a key, of offsets, and of cells of a mean pattern.
CLASSES, OFFSETS = 3 * 3, 2 * FARTHEST + 1
CELLS = CLASSES * OFFSETS
#: Share of a sentence's wordpieces that are hidden and predicted (Devlin et al. 2019, section 3.1); at least one wordpiece.
HIDDEN = 0.15
#: Number that is added to counts: an unseen offset gets the mean of its classes, and unseen classes get even attention.
PRIOR = 1e-3


@dataclass(frozen=True)
class MeanPatterns:
    """Mean patterns of heads, a baseline for rules, as they ignore the words of the sentence.

    Attributes
    ----------
    weight
        (head, cell): mean weight by class of the query, class of the key and offset of the key, as a multiple of even attention to
        the keys that the query sees. Hidden keys do not count.
    bias
        Masks of the layers, whose heads lie layer after layer; None: queries see all keys.
    """

    weight: NDArray[np.float64]
    bias: AttentionBias | None = None

    @classmethod
    def of(
        cls, sentences: Iterable[tuple[NDArray[np.floating], NDArray[np.integer]]], bias: AttentionBias | None = None
    ) -> "MeanPatterns":
        """Mean patterns from patterns (head, query_token, key_token) and token flags (token,) of sentences, at least one."""
        layers = 1 if bias is None else len(bias.layers)
        total: NDArray[np.float64] = np.zeros(1)  # becomes an array of all heads and cells at the first sentence
        count = np.zeros((layers, CELLS))
        for pattern, flags in sentences:
            cells, heads = _cells(flags), len(pattern)
            seen = _seen(bias, len(flags))
            places = np.arange(heads)[:, None] * CELLS + cells.ravel()
            of_layers = pattern.reshape(layers, -1, *cells.shape).astype(np.float64)
            weights = of_layers * seen.sum(axis=-1)[:, None, :, None]
            total = np.add(total, np.bincount(places.ravel(), weights.ravel(), heads * CELLS), dtype=np.float64)
            count += np.stack([np.bincount(cells[each], minlength=CELLS) for each in seen])
        totals, counts = (each.reshape(layers, -1, CLASSES, OFFSETS) for each in (total, count))
        of_classes = (totals.sum(axis=-1, keepdims=True) + PRIOR) / (counts.sum(axis=-1, keepdims=True) + PRIOR)
        return cls(((totals + PRIOR * of_classes) / (counts + PRIOR)).reshape(-1, CELLS), bias)

    def patterns(self, heads: Sequence[int], flags: NDArray[np.integer]) -> NDArray[np.float32]:
        """Patterns (head, query_token, key_token) of some heads in a sentence with these flags (token,); rows sum to 1."""
        chosen, seen = np.asarray(heads, np.intp), _seen(self.bias, len(flags))
        weights = self.weight[chosen][:, _cells(flags)] * seen[chosen // (len(self.weight) // len(seen))]
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def _seen(bias: AttentionBias | None, tokens: int) -> NDArray[np.bool_]:
    """Whether a query sees a key: (layer, query_token, key_token); a single layer for all without a bias."""
    return np.ones((1, tokens, tokens), bool) if bias is None else bias.seen(tokens)


def _cells(flags: NDArray[np.integer]) -> NDArray[np.intp]:
    """Cell of each pair of tokens: (query_token, key_token)."""
    classes = np.full(len(flags), OTHER)
    for place, of_class in ((-1, ENDS), (0, BEGINS)):
        if flags[place] & (IDLE if place == 0 else NO_WORD):
            classes[place] = of_class
    position = np.arange(len(flags))
    offset = np.clip(position - position[:, None], -FARTHEST, FARTHEST) + FARTHEST
    return (classes[:, None] * 3 + classes) * OFFSETS + offset


@dataclass(frozen=True)
class VectorChange:
    """Change of sentence vectors by replaced heads.

    Attributes
    ----------
    changes
        1 - cosine of each sentence before and after: (sentence,), 0 to 2.
    distance
        1 - cosine of two different sentences before, mean over all pairs; NaN for a single sentence.
    spearman
        Spearman's correlation of the cosines of all pairs before and after; NaN where they do not vary.
    nearest
        Share of sentences with the same nearest other sentence before and after; NaN for a single sentence.
    """

    changes: NDArray[np.floating]
    distance: float
    spearman: float
    nearest: float

    @classmethod
    def of(cls, before: NDArray[np.floating], after: NDArray[np.floating]) -> "VectorChange":
        """The change between vectors (sentence, feature) before and after."""
        own, other = before.astype(np.float64), after.astype(np.float64)
        changes = np.clip(cosine_distance(own[:, None], other[:, None])[:, 0, 0], 0, 2)
        if len(own) < 2:
            return cls(changes, np.nan, np.nan, np.nan)
        distances = [cosine_distance(vectors, vectors) for vectors in (own, other)]
        nearest = [np.where(np.eye(len(own), dtype=bool), np.inf, each).argmin(axis=1) for each in distances]
        of_pairs = np.stack([each[np.triu_indices(len(own), 1)] for each in distances])
        same = float((nearest[0] == nearest[1]).mean())
        return cls(changes, float(of_pairs[0].mean()), spearman(*of_pairs), same)

    @property
    def mean(self) -> float:
        """Mean change of a sentence."""
        return float(self.changes.mean())

    @property
    def share(self) -> float:
        """The mean change as a share of the distance between two sentences; NaN without a distance."""
        return self.mean / self.distance if self.distance else np.nan

    def interval(self, drawn: NDArray[np.floating]) -> tuple[float, float]:
        """95% interval of `mean`, by bootstrap with counts (sentence, replicate) of `intervals.draw_counts`; NaN for a single sentence."""
        if len(self.changes) < 2:
            return np.nan, np.nan
        counts = drawn[:, drawn.any(axis=0)]
        low, high = np.percentile(self.changes @ counts / counts.sum(axis=0), PERCENTILES)
        return float(low), float(high)


class LabelScores(NamedTuple):
    """Accuracy of a classifier, and its mean loss: -ln of the probability of the right label, in nats."""

    accuracy: float
    loss: float

    @classmethod
    def of(cls, logits: NDArray[np.floating], right: NDArray[np.integer]) -> "LabelScores":
        """Scores of logits (sentence, label) with the right labels (sentence,)."""
        exact = logits.astype(np.float64)
        exact -= exact.max(axis=1, keepdims=True)
        loss = np.log(np.exp(exact).sum(axis=1)) - exact[np.arange(len(right)), right]
        return cls(float((exact.argmax(axis=1) == right).mean()), float(loss.mean()))


def choose_hidden(flags: NDArray[np.integer], generator: np.random.Generator) -> NDArray[np.intp]:
    """Ascending positions of wordpieces to hide in a sentence with these flags (token,), never special tokens."""
    ordinary = np.flatnonzero((flags & NO_WORD) == 0)
    return np.sort(generator.permutation(ordinary)[: max(1, round(HIDDEN * len(ordinary)))])


def spearman(values: NDArray[np.floating], others: NDArray[np.floating]) -> float:
    """Spearman's rank correlation, equal values at their mean rank; NaN where either does not vary."""
    own, other = centred_ranks(np.stack([values, others]))
    return float(own @ other) if own.any() and other.any() else np.nan

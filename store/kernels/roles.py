"""Roles of a head: shares of rules in its attention, and tests of whether a head has a role.

The attention between words is explained as a convex mixture of rules, fitted by expectation maximisation. A mixture fitted on one
half of the sentences is judged on the other half. With the attention to special tokens, the sinks, and the unexplained share,
the shares of a head sum to 1.

Whether a head has a role is tested by the sieve bias (Pande et al. 2021): attention to the words that a rule leaves to a query,
relative to an average word. The average excludes special tokens, whose share of attention depends on the rows of a rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.bias import EVERY_KEY, Mask
from store.kernels.rule_fit import Entries

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.floating]

#: Name of the share of attention that no role explains, the last of the roles.
UNEXPLAINED = "unexplained"
#: Number of steps of expectation maximisation.
STEPS = 40
#: Entries of all rules that are processed at once: they fit into the cache of a core, else products wait for memory.
AT_ONCE = 4096
#: Least share of a named role, and most named roles of a head.
LEAST_NAMED, MOST_NAMED = 0.05, 3
#: Bias above which a head has a role: an untrained model has no bias above 1.5.
THRESHOLD = 2.0
#: Rate of false discoveries among discoveries of all heads and roles.
FALSE_DISCOVERIES = 0.05
#: Strong pairs have more than this multiple of the weight of even attention.
STRONG = 2


class WordEntries(NamedTuple):
    """Pairs of two words in some sentences: their places among all entries, and their rows."""

    places: NDArray[np.int64]
    entries: Entries

    @classmethod
    def of(cls, is_word: Sequence[NDArray[np.bool_]], mask: Mask = EVERY_KEY) -> "WordEntries":
        """Pairs of words in sentences; `is_word` says which tokens are words. Sentences without words have no entries."""
        between = np.concatenate([(words[:, None] & words).ravel() for words in is_word])
        return cls(np.flatnonzero(between), Entries.of_words([words for words in is_word if words.any()], mask))

    def normalized(self, values: Floats) -> tuple[Floats, Floats]:
        """Values (..., entry of all tokens) between words, scaled to rows that sum to 1 (or are 0), and the sums before."""
        inner = values[..., self.places]
        sums = self.entries.row_sums(inner)
        scale = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
        return inner * self.entries.spread(scale), sums


def fit_mixture(rules: Floats, inner: Floats, steps: int = STEPS) -> NDArray[np.float64]:
    """Weights of rules that maximise the likelihood of the attention between words, by expectation maximisation.

    Maximises sum over entries e of b_e ln sum over rules k of w_k R_ke, a concave function of w.

    Parameters
    ----------
    rules
        R (rule, entry): rows sum to 1, or are 0 where a rule has no target. One rule has targets everywhere.
    inner
        b (head, entry): attention between words, rows sum to 1, or are 0 where a word attends to no word.

    Returns
    -------
    w (head, rule), at least 0, with sum 1 for each head; equal for a head without attention between words, NaN without entries.
    """
    if not rules.shape[1]:
        return np.full((len(inner), len(rules)), np.nan)
    weights = np.full((len(inner), len(rules)), 1 / len(rules))
    smallest = np.finfo(rules.dtype).tiny
    parts = [slice(first, first + AT_ONCE) for first in range(0, rules.shape[1], AT_ONCE)]
    for _ in range(steps):
        sums = np.zeros_like(weights)
        for part in parts:
            own = rules[:, part]
            mixed = weights.astype(rules.dtype) @ own
            sums += (inner[:, part] / np.maximum(mixed, smallest)) @ own.T
        scaled = weights * sums
        total = scaled.sum(axis=1, keepdims=True)
        np.divide(scaled, total, out=weights, where=total > 0)
    return weights


class Explained(NamedTuple):
    """Shares of a head's attention that a mixture explains.

    Attributes
    ----------
    shares
        Share of each rule in all attention of words, including to special tokens: (head, rule).
    explained
        `explained_share` of the mixture's prediction: (head,).
    """

    shares: NDArray[np.float64]
    explained: NDArray[np.float64]


def explain(weights: Floats, rules: Floats, inner: Floats, mass: Floats, entries: Entries) -> Explained:
    """Shares that a mixture explains: the smaller of weight and prediction of each entry, split among rules by their part in it.

    Parameters
    ----------
    weights
        (head, rule) of `fit_mixture`, from other sentences.
    rules, inner
        See `fit_mixture`.
    mass
        Attention of each word to all words: (head, row).
    """
    mixed = weights.astype(rules.dtype) @ rules
    lower = np.minimum(mixed, inner)
    per_prediction = lower / np.maximum(mixed, np.finfo(rules.dtype).tiny) * entries.spread(mass)
    shares = weights * (per_prediction @ rules.T) / max(1, entries.rows)
    return Explained(shares, explained_share(mixed, inner))


def explained_share(predicted: Floats, inner: Floats) -> NDArray[np.float64]:
    """Share of the attention between words (head, entry) that a prediction explains, with equal weights of rows: (head,).

    NaN for a head without attention between words.
    """
    lower = np.minimum(predicted, inner).sum(axis=-1, dtype=np.float64)
    whole = inner.sum(axis=-1, dtype=np.float64)
    return np.divide(lower, whole, out=np.full(whole.shape, np.nan), where=whole > 0)


def agreement(weights: Floats, others: Floats) -> Floats:
    """Overlap of two mixtures, sum over rules of the smaller weight, 0 to 1: (head,)."""
    overlap: Floats = np.minimum(weights, others).sum(axis=-1)
    return overlap


def main_rules(weights: Floats, rules: Floats) -> NDArray[np.intp]:
    """The rule with the largest part in each entry (entry,), of a head with weights (rule,)."""
    main: NDArray[np.intp] = (weights.astype(rules.dtype)[:, None] * rules).argmax(axis=0)
    return main


def adjusted_rand(own: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    """Adjusted Rand index of two partitions of the same entries (entry,), each numbered from 0; 1 if equal (Hubert and Arabie 1985).

    The index compares pairs of entries that both, one, or no partition puts together.
    """
    kinds = int(other.max()) + 1
    counts = np.bincount(own * kinds + other, minlength=(int(own.max()) + 1) * kinds).reshape(-1, kinds)
    both, first, second = (int((each.astype(np.int64) ** 2).sum()) for each in (counts, counts.sum(1), counts.sum(0)))
    apart, total = len(own) ** 2 - first - second + both, both - len(own)
    only_first, only_second = first - both, second - both
    if not (only_first or only_second):
        return 1.0
    scale = (total + only_first) * (only_first + apart) + (total + only_second) * (only_second + apart)
    return 2.0 * (total * apart - only_first * only_second) / scale


def name_roles(titles: Sequence[str], shares: Floats) -> str:
    """The largest roles of a head in words, such as `next token 81%, itself 9%`.

    Parameters
    ----------
    titles, shares
        Title and share of each role, without the unexplained share: (role,).
    """
    largest = np.argsort(-np.asarray(shares), kind="stable")[:MOST_NAMED]
    named = [f"{titles[role]} {100 * shares[role]:.0f}%" for role in largest if shares[role] >= LEAST_NAMED]
    return ", ".join(named) or f"mixed: no role above {100 * LEAST_NAMED:g}%"


# -- tests --------------------------------------------------------------------------------------------


class Sieves(NamedTuple):
    """The keys that rules leave to the queries of a sentence; special tokens are neither queries nor keys.

    Attributes
    ----------
    is_word
        Whether each token is a word: (token,).
    shares
        Weight of each pair of words in the mean over queries of the mean over their keys: (rule, pair).
    present
        Whether a rule leaves a word to any query: (rule,).
    keys
        Number of words that each word sees: (word,).
    """

    is_word: NDArray[np.bool_]
    shares: NDArray[np.float32]
    present: NDArray[np.bool_]
    keys: NDArray[np.float32]

    @classmethod
    def of(cls, targets: NDArray[np.bool_], is_word: NDArray[np.bool_], mask: Mask = EVERY_KEY) -> "Sieves":
        """Sieves of `targets`, whether a rule leaves a key to a query: (rule, query_token, key_token), False for hidden keys."""
        words = np.flatnonzero(is_word)
        own = targets[:, words][:, :, words]
        keys = own.sum(axis=-1)
        queries = (keys > 0).sum(axis=-1)
        each = np.maximum(keys * np.maximum(queries, 1)[:, None], 1)
        shares = own / each[..., None]
        seen = mask.pairs(len(is_word))[np.ix_(words, words)].sum(axis=-1)
        return cls(is_word, shares.astype(np.float32).reshape(len(own), -1), queries > 0, seen.astype(np.float32))

    def bias(self, pattern: Floats) -> Floats:
        """Sieve bias (head, rule) in a pattern (head, query_token, key_token): 1 under even attention, NaN where no rule is present.

        Mean over queries of the mean weight of the rule's keys, divided by the mean weight of all words.
        """
        words = np.flatnonzero(self.is_word)
        relative = relative_weights(pattern[:, words][:, :, words], self.keys)
        biases: Floats = relative.reshape(len(relative), -1) @ self.shares.T
        biases[:, ~self.present] = np.nan
        return biases


def relative_weights(inner: Floats, keys: Floats) -> Floats:
    """Attention between words (..., query_word, key_word) divided by even attention; `keys` words are seen by each (query_word,)."""
    sums = inner.sum(axis=-1, keepdims=True)
    relative: Floats = inner / np.maximum(sums, np.finfo(inner.dtype).tiny) * keys[:, None]
    return relative


@dataclass(frozen=True)
class OffsetSieve:
    """Pairs of words in a relation, and other pairs at the same offsets, in some sentences.

    Attributes
    ----------
    others
        Pairs at each offset that are not in the relation, sparse (offset, entry), and their number (offset,).
    place
        Offset of each pair in the relation with such others, as a place in `others`: (pair,).
    pairs
        Entries of these pairs: (pair,).
    of_sentence
        Whether each of these pairs is in a sentence, sparse (sentence, pair).
    """

    others: tuple["csr_matrix", Floats]
    place: NDArray[np.integer]
    pairs: NDArray[np.intp]
    of_sentence: "csr_matrix"

    @classmethod
    def of(
        cls,
        sieve: NDArray[np.bool_],
        offset: NDArray[np.integer],
        sentence: NDArray[np.integer],
        sentences: int,
    ) -> "OffsetSieve":
        """The sieve of `sieve`, whether a pair is in the relation, with the pair's offset (key - query) and sentence: (entry,) each."""
        from scipy.sparse import csr_matrix

        place = offset - offset.min(initial=0)
        pairs = np.flatnonzero(sieve)
        shape = int(place.max(initial=0)) + 1, len(offset)
        at_offset = csr_matrix((np.where(sieve, 0, 1).astype(np.float32), (place, np.arange(len(offset)))), shape)
        others = np.asarray(at_offset.sum(axis=1)).ravel()
        pairs = pairs[others[place[pairs]] > 0]
        of_sentence = csr_matrix(
            (np.ones(len(pairs), np.float32), (sentence[pairs], np.arange(len(pairs)))), (sentences, len(pairs))
        )
        return cls((at_offset, np.maximum(others, 1)), place[pairs], pairs, of_sentence)

    def bias(self, relative: Floats) -> Floats:
        """Bias of the relation against other pairs of words at the same offset, for each head in each sentence.

        Mean weight of the pairs in the relation, divided by the mean weight of pairs at the same offsets that are not in it, in
        all sentences (after Voita et al. 2019, section 5.2).

        Parameters
        ----------
        relative
            `relative_weights` of the pairs of words of all sentences: (head, entry).

        Returns
        -------
        (head, sentence), NaN where a sentence has no such pair. A head that depends on the offset alone has bias 1.
        """
        at_offset, others = self.others
        base = (at_offset @ relative.T) / others[:, None]
        weights = self.of_sentence @ relative[:, self.pairs].T
        expected = self.of_sentence @ base[self.place]
        missing = np.full(weights.shape, np.nan, weights.dtype)
        bias: Floats = np.divide(weights, expected, out=missing, where=expected > 0).T
        return bias


class BiasTest(NamedTuple):
    """Mean bias over sentences, and p, the probability of a mean as large if the true bias were the threshold: (...)."""

    bias: NDArray[np.float64]
    p: NDArray[np.float64]


def t_test(biases: Floats, threshold: float) -> BiasTest:
    """One-sided t test of whether the mean bias over sentences exceeds a threshold.

    Parameters
    ----------
    biases
        (..., sentence), NaN in sentences that do not count.

    Returns
    -------
    Mean and p (...); p is NaN where fewer than two sentences count.
    """
    from scipy.special import stdtr  # scipy.stats takes most of a second to import, and 60 MB of a worker

    values = np.asarray(biases, np.float64)
    counts = np.isfinite(values)
    count = counts.sum(axis=-1)
    mean = np.where(counts, values, 0).sum(axis=-1) / np.maximum(count, 1)
    squares = np.where(counts, (values - mean[..., None]) ** 2, 0).sum(axis=-1)
    error = np.sqrt(squares / np.maximum(count - 1, 1) / np.maximum(count, 1))
    above = mean - threshold
    without_error = np.where(above == 0, 0, np.copysign(np.inf, above))
    statistic = np.divide(above, error, out=without_error, where=error > 0)
    p = stdtr(np.maximum(count - 1, 1), -statistic)
    return BiasTest(np.where(count > 0, mean, np.nan), np.where(count > 1, p, np.nan))


def discoveries(p: NDArray[np.float64], rate: float = FALSE_DISCOVERIES) -> NDArray[np.bool_]:
    """Whether each test is a discovery (Benjamini and Hochberg 1995); tests with p NaN are no discoveries and do not count."""
    ordered = np.sort(p[np.isfinite(p)])
    (within,) = np.nonzero(ordered * (len(ordered) / np.arange(1, len(ordered) + 1)) <= rate)
    if not len(within):
        return np.zeros(p.shape, bool)
    return np.nan_to_num(p, nan=np.inf) <= ordered[within[-1]]

"""Links by heads: the word that each word attends to most, word pairs of a relation, mentions and their antecedents.

A relation is a set of directed word pairs within sentences; for a dependency label, from the dependent to its governor
(Clark et al. 2019, section 4.2). The pairs come from the grammar, a pattern, or a reader. Mentions: section 4.3.
For a hypothesis of a reader, the keys that it names are compared with the weights of all words.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.intervals import PERCENTILES

#: Measure of a hypothesis -> its meaning. "Named" are the keys that the hypothesis names for a query; only words count.
MEASURES: Mapping[str, str] = {
    "precision": "of the queries with named keys, the share whose most attended word is named",
    "recall": "of all queries, the share whose most attended word is named",
    "iou": "sum of the smaller over sum of the larger of the weights and of even weights on the named keys",
    "bias": "mean weight of the named keys over that of all words, mean over queries and sentences",
}
#: Counts of a sentence: queries whose most attended word is named, queries with named keys, all queries; sums of the smaller
#: and of the larger weights; the bias, and whether the sentence has one.
_COUNTS = 7
_HITS, _NAMED, _QUERIES, _SMALLER, _LARGER, _BIAS, _BIASED = range(_COUNTS)


class StrongestWords(NamedTuple):
    """Indices in the sentence (..., word); -1 where no other word gets, or gives, any attention.

    Attributes
    ----------
    most_attended
        The other word that this word attends to most.
    most_attending
        The other word that attends most to this word.
    """

    most_attended: NDArray[np.int16]
    most_attending: NDArray[np.int16]


def word_tokens(start: NDArray[np.integer], stop: NDArray[np.integer], tokens: int) -> NDArray[np.bool_]:
    """Whether a wordpiece stands for a word: (..., word, token) from positions (..., word) in the sentence."""
    position = np.arange(tokens)
    return (start[..., None] <= position) & (position < stop[..., None])


def word_pattern(pattern: NDArray[np.float32], covers: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Attention between words: to a word the sum over its wordpieces, from a word their mean (Clark et al. 2019, section 4.1).

    Parameters
    ----------
    pattern
        (head, sentence, query_token, key_token).
    covers
        (sentence, word, token), as `word_tokens` returns it.

    Returns
    -------
    (head, sentence, query_word, key_word); 0 for words without wordpieces, which pad a sentence.
    """
    summed = covers.astype(pattern.dtype)
    mean = summed / np.maximum(summed.sum(axis=-1, keepdims=True), 1)
    merged: NDArray[np.float32] = mean @ pattern @ summed.swapaxes(-1, -2)
    return merged


def strongest_words(pattern: NDArray[np.float32], real: NDArray[np.bool_]) -> StrongestWords:
    """The other word that each word attends to most, and the other word that attends most to it; of ties the first.

    Parameters
    ----------
    pattern
        (head, sentence, query_word, key_word).
    real
        (sentence, word), False for words that pad a sentence.

    Returns
    -------
    Arrays (head, sentence, word).
    """
    other = real[:, :, None] & real[:, None, :] & ~np.eye(real.shape[1], dtype=bool)
    weights = np.where(other, pattern, np.float32(0))
    return StrongestWords(
        *(np.where(weights.max(axis=axis) > 0, weights.argmax(axis=axis), -1).astype(np.int16) for axis in (-1, -2))
    )


#: Direction -> condition for a head to link a pair (from, to); all other words of the sentence compete.
DIRECTIONS: Mapping[str, str] = {
    "forward": "`from` attends most to `to`",
    "backward": "`to` attends most to `from`",
    "received": "`to` is the word that attends most to `from` (Clark's head <- dependent)",
}


#: Direction -> its title on pages, to be filled with names of the two words.
DIRECTION_TITLES: Mapping[str, str] = {
    "forward": "{0} attends most to {1}",
    "backward": "{1} attends most to {0}",
    "received": "{0} gets most from {1}",
}


#: Names of the two words of a relation, except coreference.
ENDS = "dependent", "governor"


#: Offsets that the baseline without a model may predict.
OFFSETS = tuple(offset for offset in range(-10, 11) if offset)


class WordPairs(NamedTuple):
    """Directed pairs of words, each within a sentence: arrays (pair,).

    Attributes
    ----------
    source, target
        Rows of the word axis.
    source_word, target_word
        Indices of these words in their sentence.
    sentence
        Index of the sentence.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    source_word: NDArray[np.int16]
    target_word: NDArray[np.int16]
    sentence: NDArray[np.int64]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Offset in words from the first word of each pair to the second: (pair,)."""
        return self.target_word.astype(np.int64) - self.source_word

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "WordPairs":
        """Some of the pairs."""
        return WordPairs(
            self.source[chosen],
            self.target[chosen],
            self.source_word[chosen],
            self.target_word[chosen],
            self.sentence[chosen],
        )


def linked(strongest: StrongestWords, pairs: WordPairs) -> NDArray[np.bool_]:
    """Whether a head links each pair: (direction, ..., pair) in the order of `DIRECTIONS`.

    Parameters
    ----------
    strongest
        Arrays (..., word) over the whole word axis.
    """
    return np.stack(
        [
            strongest.most_attended[..., pairs.source] == pairs.target_word,
            strongest.most_attended[..., pairs.target] == pairs.source_word,
            strongest.most_attending[..., pairs.source] == pairs.target_word,
        ]
    )


def frequent_offset(offsets: NDArray[np.integer]) -> int:
    """The most frequent of `OFFSETS` among offsets to - from: the baseline predicts it for every pair, in all directions."""
    return max(OFFSETS, key=lambda offset: int((offsets == offset).sum()))


def halves(sentences: int) -> NDArray[np.bool_]:
    """Whether each sentence is reported on, every other one of the corpus; heads are chosen on the rest: (sentence,)."""
    return np.arange(sentences) % 2 == 1


class MentionHeads(NamedTuple):
    """Mentions of one sentence: arrays (mention,).

    Attributes
    ----------
    rows
        Rows of the mention axis.
    word
        Head word, an index in the sentence.
    entity
        Mentions with the same number corefer.
    """

    rows: NDArray[np.intp]
    word: NDArray[np.int64]
    entity: NDArray[np.int64]

    @property
    def before(self) -> NDArray[np.bool_]:
        """Whether a mention is a candidate for the antecedent, with an earlier head word: (mention, candidate)."""
        before: NDArray[np.bool_] = self.word[:, None] > self.word
        return before

    @property
    def antecedents(self) -> NDArray[np.bool_]:
        """Whether a candidate is an antecedent: (mention, candidate)."""
        return self.before & (self.entity[:, None] == self.entity)

    @property
    def resolvable(self) -> NDArray[np.bool_]:
        """Whether a mention has an antecedent; only such mentions count: (mention,)."""
        return np.asarray(self.antecedents.any(axis=-1))

    def nearest_antecedents(self) -> Iterator[tuple[int, int]]:
        """Every mention with an antecedent, and its nearest antecedent."""
        places = np.where(self.antecedents, self.word, -1)
        for mention in np.flatnonzero(self.resolvable):
            yield int(mention), int(places[mention].argmax())


def found_among_mentions(pattern: NDArray[np.floating], heads: MentionHeads) -> NDArray[np.bool_]:
    """Whether the candidate whose head word gets most attention is an antecedent: (..., mention).

    Parameters
    ----------
    pattern
        Attention between the words of the sentence (..., query_word, key_word).
    """
    weights = np.where(heads.before, pattern[..., heads.word[:, None], heads.word], -1)
    return _is_antecedent(weights, heads)


def found_among_words(pattern: NDArray[np.floating], heads: MentionHeads) -> NDArray[np.bool_]:
    """Whether the other word that gets most attention is the head word of an antecedent: (..., mention)."""
    weights = pattern[..., heads.word, :].astype(np.float32)
    weights[..., np.arange(len(heads.word)), heads.word] = -1
    right = np.zeros((len(heads.word), pattern.shape[-1]), np.bool_)
    mention, candidate = np.nonzero(heads.antecedents)
    right[mention, heads.word[candidate]] = True
    found: NDArray[np.bool_] = np.take_along_axis(
        np.broadcast_to(right, weights.shape), weights.argmax(axis=-1)[..., None], axis=-1
    )[..., 0]
    return found


def _is_antecedent(scores: NDArray[np.floating], heads: MentionHeads) -> NDArray[np.bool_]:
    """Whether the candidate with the largest score (..., mention, candidate) is an antecedent; scores below 0 do not count."""
    best = scores.argmax(axis=-1)[..., None]
    right: NDArray[np.bool_] = np.take_along_axis(np.broadcast_to(heads.antecedents, scores.shape), best, axis=-1)
    chosen: NDArray[np.bool_] = np.take_along_axis(scores, best, axis=-1) >= 0
    return (right & chosen)[..., 0]


class Description(NamedTuple):
    """Properties of a mention that rules compare; the last three are bit masks of possible values.

    Attributes
    ----------
    text, head
        The mention and its head word in lower case.
    number
        1 singular, 2 plural.
    gender
        1 masculine, 2 feminine, 4 neuter.
    person
        1 first, 2 second, 4 third.
    """

    text: str
    head: str
    number: int
    gender: int
    person: int

    def agrees(self, other: "Description") -> bool:
        """Whether number, gender and person can agree."""
        return all(mine & yours for mine, yours in zip(self[2:], other[2:], strict=True))


_ANY_NUMBER, _ANY_GENDER, _ANY_PERSON = 3, 7, 7


#: Pronoun of English -> number, gender, person; other pronouns have all possible values.
PRONOUNS: Mapping[str, tuple[int, int, int]] = {
    **dict.fromkeys(("i", "me", "my", "mine", "myself"), (1, 3, 1)),
    **dict.fromkeys(("we", "us", "our", "ours", "ourselves"), (2, 3, 1)),
    **dict.fromkeys(("you", "your", "yours", "yourself", "yourselves"), (3, 3, 2)),
    **dict.fromkeys(("he", "him", "his", "himself"), (1, 1, 4)),
    **dict.fromkeys(("she", "her", "hers", "herself"), (1, 2, 4)),
    **dict.fromkeys(("it", "its", "itself"), (1, 4, 4)),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), (2, _ANY_GENDER, 4)),
}


_SINGULAR, _PLURAL = frozenset(("NN", "NNP")), frozenset(("NNS", "NNPS"))


def describe(text: str, head: str, *, tag: str, pronoun: bool, person: bool) -> Description:
    """Description of a mention from its head word, its tag (Penn Treebank), and whether it is a pronoun or names a person."""
    text, head = text.lower(), head.lower()
    if pronoun:
        return Description(text, head, *PRONOUNS.get(head, (_ANY_NUMBER, _ANY_GENDER, _ANY_PERSON)))
    number = 1 if tag in _SINGULAR else 2 if tag in _PLURAL else _ANY_NUMBER
    return Description(text, head, number, 3 if person else _ANY_GENDER, 4)


def baseline_found(heads: MentionHeads, described: Sequence[Description]) -> dict[str, NDArray[np.bool_]]:
    """Whether the antecedent of each baseline is right: (mention,) by the names of `store.schema.corpus.BASELINES`.

    The last baseline has the sieves of Clark et al. (2019, section 4.3): same text, same head word, agreement in number,
    gender and person, any mention. It takes the nearest candidate of the first sieve with candidates.
    """
    same_text, same_head, agreeing = (
        np.array([[test(own, other) for other in described] for own in described], np.bool_).reshape(heads.before.shape)
        for test in (
            lambda own, other: own.text == other.text,
            lambda own, other: own.head == other.head,
            Description.agrees,
        )
    )
    distance = np.where(heads.before, heads.word + 1, -1).astype(np.float64)
    sieve = np.select([same_text, same_head, agreeing], [3, 2, 1], 0) * (heads.word.max(initial=0) + 2)
    scores = {
        "nearest": distance,
        "head_match": np.where(same_head, distance, -1),
        "rule_based": np.where(heads.before, distance + sieve, -1),
    }
    return {
        name: _is_antecedent(score, heads) if score.size else np.zeros(0, np.bool_) for name, score in scores.items()
    }


class GapRow(NamedTuple):
    """A pronoun and two names of one sentence, as head words (indices in the sentence).

    Attributes
    ----------
    pronoun, names
        Head words.
    right
        Index of the pronoun's name, 0 or 1; -1 for neither.
    """

    pronoun: int
    names: tuple[int, int]
    right: int


def found_of_two(pattern: NDArray[np.floating], row: GapRow) -> NDArray[np.bool_]:
    """Whether the name with more of the pronoun's attention is right; the first of equal ones; False without any attention: (...)."""
    weights = pattern[..., row.pronoun, list(row.names)]
    found: NDArray[np.bool_] = (weights.argmax(axis=-1) == row.right) & (weights.max(axis=-1) > 0)
    return found


class HypothesisCounts(NamedTuple):
    """Counts of each sentence: (count, head, sentence)."""

    counts: NDArray[np.float64]

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of sentences, of sentences that have queries with named keys, and of such queries.

        A query whose layer hides its named keys does not count in this layer; numbers are of the layer with most such queries.
        """
        named = self.counts[_NAMED].max(axis=0)
        return {"sentences": len(named), "named_sentences": int((named > 0).sum()), "named_queries": int(named.sum())}

    @property
    def measures(self) -> NDArray[np.float64]:
        """The numbers (measure, head) in the order of `MEASURES`; NaN where no query has named keys."""
        return _measures(self.counts.sum(axis=-1))

    def interval(self, drawn: NDArray[np.floating]) -> NDArray[np.float64]:
        """95% percentile intervals (bound, measure, head), by bootstrap over sentences; NaN where fewer than two have named keys.

        Parameters
        ----------
        drawn
            Counts of each sentence in each replicate: (sentence, replicate), `store.kernels.intervals.draw_counts`.
        """
        replicates = _measures(self.counts @ drawn)
        known = np.asarray(np.isfinite(replicates).all(axis=0))
        bounds = np.full((len(PERCENTILES), *replicates.shape[:-1]), np.nan)
        enough = (known.sum(axis=-1) > 1) & ((self.counts[_NAMED] > 0).sum(axis=-1) > 1)
        for head in np.flatnonzero(enough).tolist():
            bounds[..., head] = np.percentile(replicates[:, head, known[head]], PERCENTILES, axis=-1)
        return bounds


def count_sentence(
    weights: NDArray[np.floating], named: NDArray[np.bool_], words: int, seen: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """Counts of a sentence: (count, head).

    Parameters
    ----------
    weights
        Attention between words (head, query, key) of the queries with named keys; every row sums to 1.
    named
        Whether the hypothesis names the key for the query: (query, key).
    words
        Number of words of the sentence; all are keys, and queries with or without named keys.
    seen
        Number of words that each query sees, (query,); None: all.
    """
    counts = np.zeros((_COUNTS, len(weights)))
    queries = len(named)
    counts[_NAMED], counts[_QUERIES], counts[_LARGER] = queries, words, words
    if not queries:
        return counts
    query, key = np.nonzero(named)
    even = (1 / named.sum(axis=1)).astype(weights.dtype)[query]
    of_named = weights[:, query, key]
    top = weights.argmax(axis=-1)
    counts[_HITS] = named[np.arange(queries), top].sum(axis=-1)
    counts[_SMALLER] = np.minimum(of_named, even).sum(axis=-1, dtype=np.float64)
    # The smaller and the larger of two numbers have the same sum as the numbers; weights of a query, and even weights, sum to 1.
    counts[_LARGER] += queries - counts[_SMALLER]
    keys = words if seen is None else seen[query]
    counts[_BIAS] = (of_named * even * keys).sum(axis=-1, dtype=np.float64) / queries
    counts[_BIASED] = 1
    return counts


def _measures(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measures (measure, ...) from sums of counts (count, ...)."""
    parts = ((_HITS, _NAMED), (_HITS, _QUERIES), (_SMALLER, _LARGER), (_BIAS, _BIASED))
    missing = np.full(sums.shape[1:], np.nan)
    is_named = sums[_NAMED] > 0
    return np.stack([np.divide(sums[own], sums[of], out=missing.copy(), where=is_named) for own, of in parts])

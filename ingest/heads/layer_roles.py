"""Rules, roles and the biases of their tests for the heads of one layer, from their queries and keys in some sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.run.parallel import side_by_side
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias, Mask
from store.kernels.head_tables import HeadTables, VarianceShares, logit_parts, static_logits, table_logits
from store.kernels.intervals import PERCENTILES, draw_counts
from store.kernels.roles import (
    STRONG,
    UNEXPLAINED,
    OffsetSieve,
    Sieves,
    WordEntries,
    adjusted_rand,
    agreement,
    explain,
    explained_share,
    fit_mixture,
    main_rules,
)
from store.kernels.rule_fit import MOST_RULES, SCORES, Chosen, Entries, Judge, Library, fit_weights
from store.kernels.rules import RULES, SentenceTokens, features_of, roles_for, rules_for, targets_of
from store.rules import RuleSentences
from store.schema.corpus import NO_RULE, OPENS, ROLE_HALVES, RULE_SETS, TABLES

#: Number of heads that are computed together; it does not depend on the cores, so that results are equal bit for bit.
HEADS_AT_ONCE = 6
_SETS = list(RULE_SETS)
#: The fit of all rules, the slowest, ends where a step lowers the cross entropy of a row by less than this, in nats.
FINISHED = 1e-4
#: Rule with equal logits: softmax ignores it.
EVEN = "even"

Floats = NDArray[np.float32]
#: Queries and keys of one sentence: (head, token, channel).
QueriesAndKeys = tuple[Floats, Floats]
Results = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class RuleBench:
    """The sentences that rules are fitted on and judged on, and everything that follows from their text.

    Attributes
    ----------
    sentences
        The chosen sentences.
    tokens
        Tokens of `sentences.every`.
    words
        Whether the corpus has words.
    seed
        Seed of the bootstrap.
    """

    sentences: RuleSentences
    tokens: list[SentenceTokens]
    words: bool
    seed: int

    @cached_property
    def rules(self) -> list[str]:
        """Names of the rules to choose from, without the tables of a head."""
        return [name for name in rules_for(words=self.words) if name != EVEN]

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """Names along the dims of `ROLE_ARRAYS` that depend on the corpus."""
        return {
            "rule": [*self.rules, *TABLES],
            "role": [*self.roles, UNEXPLAINED],
            "sieve": self.sieve_names,
            "relation": self.relation_names,
        }

    @cached_property
    def roles(self) -> list[str]:
        """Names of all roles, sinks included."""
        return roles_for(words=self.words)

    @cached_property
    def inner_roles(self) -> list[str]:
        """Names of the roles between words."""
        return [name for name in self.roles if RULES[name].breadth != "sink"]

    @cached_property
    def sieve_names(self) -> list[str]:
        """Names of the roles that are tested."""
        return [name for name in self.inner_roles if RULES[name].is_sieve]

    @cached_property
    def relation_names(self) -> list[str]:
        """Names of the roles that are tested against other pairs at the same offset."""
        return [name for name in self.sieve_names if RULES[name].kind == "grammar"]

    # -- of each sentence ---------------------------------------------------------------------------

    @cached_property
    def fitted(self) -> list[int]:
        """Places among `tokens` of the sentences of the fit."""
        return list(range(len(self.sentences.fitted)))

    @cached_property
    def judged(self) -> list[int]:
        """Places among `tokens` of the sentences that judge."""
        return np.flatnonzero(self.sentences.is_judged).tolist()

    def _entries(self, places: Sequence[int]) -> Entries:
        return Entries.of_lengths([len(self.tokens[place]) for place in places], self.mask)

    @property
    def mask(self) -> Mask:
        """Mask of the keys that queries see."""
        return self.tokens[0].mask

    def _is_word(self, places: Sequence[int]) -> list[NDArray[np.bool_]]:
        return [self.tokens[place].is_word for place in places]

    @cached_property
    def fit_library(self) -> Library:
        """Features of the rules in the sentences of the fit."""
        features = [features_of(self.rules, self.tokens[place]) for place in self.fitted]
        return Library(self._entries(self.fitted), features)

    @cached_property
    def judged_features(self) -> Floats:
        """Features (rule, entry) of the rules in the sentences that judge."""
        features = [features_of(self.rules, self.tokens[place]) for place in self.judged]
        return np.concatenate([each.reshape(len(each), -1) for each in features], axis=1)

    @cached_property
    def judge(self) -> Judge:
        """The `Judge` of predictions, on the sentences that judge."""
        return Judge.of(self._is_word(self.judged), self.mask)

    def role_targets(self, places: Sequence[int]) -> tuple[WordEntries, Floats]:
        """Pairs of words of some sentences, and the roles between them (role, entry) with rows that sum to 1 or are 0."""
        words = WordEntries.of(self._is_word(places), self.mask)
        targets = [targets_of(self.inner_roles, self.tokens[place]) for place in places]
        flat = np.concatenate([each.reshape(len(each), -1) for each in targets], axis=1)
        return words, np.asarray(words.normalized(flat)[0], np.float32)

    @cached_property
    def fit_roles(self) -> tuple[WordEntries, Floats]:
        """Pairs of words and roles in the sentences of the fit, see `role_targets`."""
        return self.role_targets(self.fitted)

    @cached_property
    def judged_roles(self) -> tuple[WordEntries, Floats]:
        """Pairs of words and roles in the sentences that judge, see `role_targets`."""
        return self.role_targets(self.judged)

    @cached_property
    def drawn(self) -> NDArray[np.floating]:
        """Count of each judging sentence in each replicate of the bootstrap: (sentence, replicate)."""
        counts = draw_counts(self.seed, 0, len(self.judged))
        return counts[:, counts.any(axis=0)]

    @cached_property
    def second_half(self) -> int:
        """Number of word pairs in the judging sentences that a second fit of roles takes: as many sentences as the first fit."""
        places = self.judged[: len(self.fitted)]
        return sum(int(words.sum()) ** 2 for words in self._is_word(places))

    @cached_property
    def sink_entries(self) -> Floats:
        """Weight of each entry in the mean attention of words to [CLS], and to [SEP] and other special tokens: (sink, entry)."""
        parts = []
        for place in self.judged:
            tokens = self.tokens[place]
            first = (tokens.flags & OPENS) != 0
            keys = np.stack([first, ~tokens.is_word & ~first])
            parts.append((tokens.is_word[:, None] & keys[:, None]).reshape(2, -1))
        mask = np.concatenate(parts, axis=1).astype(np.float32)
        return mask / np.float32(max(1, sum(int(words.sum()) for words in self._is_word(self.judged))))

    @cached_property
    def sieves(self) -> list[Sieves]:
        """The keys that tested roles leave to queries in each sentence."""
        return [Sieves.of(targets_of(self.sieve_names, each) > 0, each.is_word, each.mask) for each in self.tokens]

    @cached_property
    def relation_pairs(self) -> tuple[WordEntries, list[OffsetSieve]]:
        """Pairs of words of all sentences, and for each relation the pairs that have it."""
        words = WordEntries.of(self._is_word(range(len(self.tokens))), self.mask)
        related = [
            (targets_of(self.relation_names, each) > 0).reshape(len(self.relation_names), len(each) ** 2)
            for each in self.tokens
        ]
        offset = np.concatenate([each.offset.ravel() for each in self.tokens])
        sentence = np.repeat(np.arange(len(self.tokens)), [len(each) ** 2 for each in self.tokens])
        of_pairs = offset[words.places], sentence[words.places], len(self.tokens)
        return words, [OffsetSieve.of(each, *of_pairs) for each in np.concatenate(related, axis=1)[:, words.places]]

    # -- of a layer ---------------------------------------------------------------------------------

    def layer(
        self, vectors: Sequence[QueriesAndKeys], tables: HeadTables, bias: AttentionBias | None = None
    ) -> Results:
        """Arrays of `ROLE_ARRAYS` without their layer, from vectors of each sentence, and the tables and the bias of all heads."""
        heads = len(vectors[0][0])
        for name in _OF_TEXT:  # here, as each thread would compute it for itself
            getattr(self, name)
        groups = [slice(first, first + HEADS_AT_ONCE) for first in range(0, heads, HEADS_AT_ONCE)]
        parts = side_by_side(partial(self._group, vectors, tables, bias), groups)
        return {
            name: np.concatenate([part[name] for part in parts], axis=axis)
            for name, axis in _HEAD_AXIS.items()
            if name in parts[0]
        }

    def _group(
        self, vectors: Sequence[QueriesAndKeys], tables: HeadTables, bias: AttentionBias | None, heads: slice
    ) -> Results:
        own = [(query[heads], key[heads]) for query, key in vectors]
        of_heads = bias and bias.of_heads(heads)
        patterns = [attention_pattern(*each, bias=of_heads) for each in own]
        group = tables.only(heads)
        return self._rules(own, patterns, group, of_heads) | self._roles(patterns) | self._biases(patterns)

    def _flat(self, places: Sequence[int], function: Callable[[int], Floats]) -> Floats:
        """Numbers (..., query_token, key_token) of some sentences as entries: (..., entry)."""
        each = [function(place) for place in places]
        return np.concatenate([values.reshape(*values.shape[:-2], -1) for values in each], axis=-1)

    # -- rules ----------------------------------------------------------------------------------------

    def _rules(
        self,
        vectors: Sequence[QueriesAndKeys],
        patterns: Sequence[Floats],
        tables: HeadTables,
        bias: AttentionBias | None,
    ) -> Results:
        def of_tables(place: int) -> Floats:
            return table_logits(tables, self.tokens[place].token_id)

        def static(place: int) -> Floats:
            return static_logits(tables, self.tokens[place].token_id, np.arange(len(self.tokens[place])), bias)

        pattern, own = self._flat(self.fitted, patterns.__getitem__), self._flat(self.fitted, of_tables)
        six = self.fit_library.choose(pattern, own)
        without = self.fit_library.choose(pattern, own[:, :0], exchanges=0)  # exchanges gain 0.001 of IoU
        judged, judged_own = self._flat(self.judged, patterns.__getitem__), self._flat(self.judged, of_tables)
        static_of = self._flat(self.judged, static)
        scored: list[Results] = []
        for head, (chosen, bare) in enumerate(zip(six, without, strict=True)):
            weights = np.zeros((len(RULE_SETS), len(self.rules) + own.shape[1]))
            weights[_SETS.index("single"), chosen.single] = chosen.single_weight
            weights[_SETS.index("six"), chosen.rules] = chosen.weights
            weights[_SETS.index("all")] = self._all_rules(chosen, pattern[head], own[head])
            weights[_SETS.index("without_tables"), bare.rules] = bare.weights
            shared, of_head = np.split(weights.astype(np.float32), [len(self.rules)], axis=1)
            logits = shared @ self.judged_features + of_head @ judged_own[head]
            logits[_SETS.index("static")] = static_of[head]
            scored.append(dict(self.judge.scores(judged[head], self.judge.entries.softmax(logits)[0])))
        results = {name: np.stack([scores[name] for scores in scored], axis=-1) for name in SCORES}
        results["interval"] = np.stack([self._interval(scores["ious"]) for scores in scored], axis=-1)
        return results | _chosen(six) | {"variance_share": self._variance(vectors, tables, bias)}

    def _all_rules(self, chosen: Chosen, pattern: Floats, own: Floats) -> NDArray[np.floating]:
        start = np.zeros(len(self.rules) + len(own))
        start[chosen.rules] = chosen.weights
        features = self.fit_library.features(range(len(start)), own)
        return fit_weights(self.fit_library.entries, features, pattern, start, tolerance=FINISHED)[0]

    def _interval(self, ious: NDArray[np.floating]) -> NDArray[np.floating]:
        """95% intervals (bound, rules) of means over sentences (rules, sentence), by bootstrap; NaN for a single sentence."""
        if ious.shape[1] < 2:
            return np.full((len(PERCENTILES), len(ious)), np.nan)
        return np.percentile(ious @ self.drawn / self.drawn.sum(axis=0), PERCENTILES, axis=-1)

    def _variance(
        self, vectors: Sequence[QueriesAndKeys], tables: HeadTables, bias: AttentionBias | None
    ) -> NDArray[np.float64]:
        shares = VarianceShares(len(tables.sink))
        for place in self.judged:
            tokens = self.tokens[place]
            shares.add(logit_parts(*vectors[place], tables, tokens.token_id, np.arange(len(tokens)), bias))
        return shares.shares

    # -- roles ----------------------------------------------------------------------------------------

    def _roles(self, patterns: Sequence[Floats]) -> Results:
        heads, names = len(patterns[0]), self.roles
        shares = np.full((len(names) + 1, heads), np.nan)
        weights = np.full((len(ROLE_HALVES), len(names) + 1, heads), np.nan)
        results: Results = {"share": shares, "weight": weights} | {name: np.full(heads, np.nan) for name in _OF_HEAD}
        if not self.fit_roles[0].entries.rows or not self.judged_roles[0].entries.rows:
            return results
        (fit_words, fit_rules), (words, rules) = self.fit_roles, self.judged_roles
        fit_inner, _ = fit_words.normalized(self._flat(self.fitted, patterns.__getitem__))
        judged = self._flat(self.judged, patterns.__getitem__)
        inner, mass = words.normalized(judged)
        own = fit_mixture(fit_rules, fit_inner)
        other = fit_mixture(rules[:, : self.second_half], inner[:, : self.second_half])
        explained = explain(own, rules, inner, mass, words.entries)
        inside = [names.index(name) for name in self.inner_roles]
        weights[:, inside] = np.stack([own.T, other.T])
        shares[[names.index("cls"), names.index("sep")]] = (judged @ self.sink_entries.T).T
        shares[inside] = explained.shares.T
        shares[-1] = 1 - shares[:-1].sum(axis=0)
        is_fitted = fit_inner.any(axis=-1) & inner[:, : self.second_half].any(axis=-1)
        results["agreement"] = np.where(is_fitted, agreement(own, other), np.nan)
        results["explained"] = explained.explained
        results["even_explained"] = explained_share(words.entries.even, inner)
        results["rand_index"] = np.array([self._rand_index(*each) for each in zip(own, other, inner, strict=True)])
        return results

    def _rand_index(self, weights: NDArray[np.floating], others: NDArray[np.floating], inner: Floats) -> float:
        """Agreement of the main roles of strong pairs, in sentences of neither fit where there are some."""
        words, rules = self.judged_roles
        strong = inner > STRONG * words.entries.even
        if len(strong) > self.second_half:
            strong[: self.second_half] = False
        if strong.sum() < 2 or np.isnan(others).any():
            return float("nan")
        of_strong = rules[:, strong]
        return adjusted_rand(*(main_rules(each, of_strong) for each in (weights, others)))

    # -- tests ----------------------------------------------------------------------------------------

    def _biases(self, patterns: Sequence[Floats]) -> Results:
        biases = self.biases(patterns)
        words, related = self.relation_pairs
        if not words.entries.rows or not self.relation_names:
            empty = np.full((len(patterns[0]), len(self.tokens), len(self.relation_names)), np.nan, np.float16)
            return {"bias": biases, "offset_bias": empty}
        inner, _ = words.normalized(self._flat(range(len(self.tokens)), patterns.__getitem__))
        relative = inner * words.entries.spread(words.entries.seen_keys)
        of_relations = [each.bias(relative) for each in related]
        return {"bias": biases, "offset_bias": _in_float16(np.stack(of_relations, axis=-1))}

    def biases(self, patterns: Sequence[Floats]) -> NDArray[np.float16]:
        """Sieve biases (head, sentence, role) in the first sentences of `tokens`, from their patterns."""
        each = [sieves.bias(pattern) for sieves, pattern in zip(self.sieves, patterns, strict=False)]
        return _in_float16(np.stack(each, axis=1))


#: Properties of `RuleBench` that follow from the text alone.
_OF_TEXT = (
    "fit_library",
    "judged_features",
    "judge",
    "fit_roles",
    "judged_roles",
    "sink_entries",
    "sieves",
    "relation_pairs",
    "drawn",
)
#: Results that are one number for each head.
_OF_HEAD = ("agreement", "rand_index", "explained", "even_explained")
#: Index of the dim `head` in each array of a layer.
_HEAD_AXIS = dict.fromkeys((*SCORES, "variance_share", "share"), 1) | {
    **dict.fromkeys(("interval", "weight"), 2),
    **dict.fromkeys((*_OF_HEAD, "chosen", "rule_weight", "bias", "offset_bias"), 0),
}


def _in_float16(biases: Floats) -> NDArray[np.float16]:
    """Biases for the store: one beyond float16 is its largest number, as an infinite one would count as unknown."""
    return np.minimum(biases, np.finfo(np.float16).max).astype(np.float16)


def _chosen(chosen: Sequence[Chosen]) -> Results:
    """Numbers of the chosen rules and their weights: (head, place)."""
    rules, weights = np.full((len(chosen), MOST_RULES), NO_RULE, np.int16), np.full((len(chosen), MOST_RULES), np.nan)
    for head, each in enumerate(chosen):
        rules[head, : len(each.rules)], weights[head, : len(each.rules)] = each.rules, each.weights
    return {"chosen": rules, "rule_weight": weights}

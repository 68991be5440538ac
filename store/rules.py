"""The sentences of a corpus as rules see them, the tables of its heads, and the parts of its logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.kernels.attention import softmax
from store.kernels.head_tables import HeadTables, TableSums, TokenRows, table_logits
from store.kernels.mask import EVERY_KEY, Mask
from store.kernels.relations import halves
from store.kernels.rules import NONE, Grammar, SentenceTokens, features_of, text_classes
from store.schema.corpus import NO_GOVERNOR, NO_WORD, PAD
from store.schema.roles import TABLES
from store.text import CorpusText
from store.words import Words


@dataclass(frozen=True)
class RuleSentences:
    """Which sentences rules are fitted on and judged on, and which the tables of heads are made of.

    Attributes
    ----------
    fitted, judged
        Indices of sentences, ascending: of every two sentences of the corpus one may be fitted on, the other judges.
    tabled
        Tables are made of the first so many sentences, without those that judge.
    """

    fitted: NDArray[np.int64]
    judged: NDArray[np.int64]
    tabled: int

    @classmethod
    def choose(
        cls, lengths: NDArray[np.integer], *, fitted: int, judged: int, weights: int, table_tokens: int
    ) -> "RuleSentences":
        """The first sentences of each half, at most so many, and within so many weights of a head in the fit.

        Parameters
        ----------
        lengths
            Tokens of each sentence of the corpus: (sentence,).
        """
        of_half = halves(len(lengths))
        share = judged / max(1, fitted)
        first = sentences_within(lengths, np.flatnonzero(~of_half)[:fitted], weights)
        second = sentences_within(lengths, np.flatnonzero(of_half)[:judged], weights * share)
        tabled = max(1, int(np.searchsorted(np.cumsum(lengths), table_tokens, side="right")))
        return cls(first, second if len(second) else first, tabled)

    @classmethod
    def stored(cls, roles: xr.Dataset) -> "RuleSentences":
        """Those of the group of a store."""
        sentences, judged = roles.sentence.values.astype(np.int64), roles.judged.values.astype(bool)
        fitted = sentences[~judged] if roles.attrs["held_out"] else sentences
        return cls(fitted, sentences[judged], int(roles.attrs["tabled"]))

    @classmethod
    def halved(cls, sentences: int) -> "RuleSentences":
        """Each half of so many sentences."""
        of_half = halves(sentences)
        fitted, judged = np.flatnonzero(~of_half), np.flatnonzero(of_half)
        return cls(fitted, judged if len(judged) else fitted, sentences)

    @property
    def held_out(self) -> bool:
        """Whether no sentence that judges is fitted on: a corpus of one sentence has no other."""
        return not np.array_equal(self.fitted, self.judged)

    @cached_property
    def every(self) -> NDArray[np.int64]:
        """Sentences that are fitted on or judge, those of the fit first."""
        return np.concatenate([self.fitted, self.judged]) if self.held_out else self.fitted

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        """Which of `every` judge: (sentence,)."""
        return np.arange(len(self.every)) >= (len(self.fitted) if self.held_out else 0)

    @property
    def in_tables(self) -> NDArray[np.int64]:
        """Sentences that tables are made of."""
        first = np.arange(self.tabled)
        return np.setdiff1d(first, self.judged) if self.held_out else first


def sentences_within(lengths: NDArray[np.integer], sentences: NDArray[np.int64], weights: float) -> NDArray[np.int64]:
    """The first of some sentences within so many weights of a head, without longer ones; the shortest where all are, if there is one."""
    squares = lengths[sentences].astype(np.int64) ** 2
    fit = squares <= weights
    if not fit.any():
        return sentences[np.argmin(squares)][None] if len(sentences) else sentences
    return sentences[fit][: int(np.searchsorted(np.cumsum(squares[fit]), weights, side="right"))]


class RuleText:
    """The text of a corpus as rules see it.

    Parameters
    ----------
    text
        The corpus.
    sentences
        How many of its first sentences say which wordpieces are rare.
    """

    def __init__(self, text: CorpusText, sentences: int) -> None:
        self._text, self._sentences = text, sentences

    @property
    def words(self) -> Words | None:
        """Words with their grammar, where there are some."""
        return self._text.words if self._text.has_words else None

    @cached_property
    def _classes(self) -> NDArray[np.int8]:
        return text_classes([str(text) for text in self._text.piece_texts])

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """How often each wordpiece of the vocabulary occurs."""
        tokens = self._text.tokens
        counted = (tokens.sentence_index.values < self._sentences) & ((tokens.token_flags.values & PAD) == 0)
        return np.bincount(tokens.token_id.values[counted], minlength=len(self._text.piece_texts))

    @cached_property
    def _antecedents(self) -> dict[int, int]:
        """Word of each mention with an antecedent -> the word of that, as rows of the word axis."""
        words = self.words
        if words is None or words.mentions is None:
            return {}
        return dict(zip(*(rows.tolist() for rows in words.mentions.links), strict=True))

    def sentence(self, sentence: int, mask: Mask = EVERY_KEY) -> SentenceTokens:
        """The tokens of a sentence, of which queries see the keys that a mask leaves."""
        rows = self._text.sentence_rows(sentence)
        tokens = self._text.tokens
        token_id = tokens.token_id.values[rows].astype(np.int64)
        return SentenceTokens(
            token_id,
            tokens.token_flags.values[rows],
            self._classes[token_id],
            tokens.word_index.values[rows],
            self._counts[token_id],
            self._grammar(sentence, rows.stop - rows.start),
            mask,
        )

    def _grammar(self, sentence: int, tokens: int) -> Grammar | None:
        words = self.words
        if words is None:
            return None
        rows = words.rows(sentence)
        table = words.table
        start, stop, governor = (table[name].values[rows] for name in ("token_start", "token_stop", "governor"))
        word = np.full(tokens, NONE, np.int64)
        for number in range(len(start) - 1, -1, -1):  # of two words on a token the first
            word[start[number] : stop[number]] = number
        parts, labels = (
            np.array([*words.names(name), ""])[table[name].values[rows]] for name in ("part_of_speech", "relation")
        )
        relation = np.array([label.lower().partition(":")[0] for label in labels.tolist()], "U16")
        antecedent = [self._antecedents.get(row, NONE) for row in range(rows.start, rows.stop)]
        local = np.array([row - rows.start if row >= 0 else NONE for row in antecedent], np.int64)
        return Grammar(
            word,
            np.append(parts, "")[word],
            np.append(relation, "")[word],
            np.append(governor.astype(np.int64), NO_GOVERNOR)[word],
            np.append(local, NONE)[word],
        )


def token_rows(text: CorpusText, sentences: NDArray[np.integer]) -> tuple[NDArray[np.int64], TokenRows]:
    """Rows of the token axis of whole sentences, and their tokens."""
    lengths = text.sentences.row_size.values[sentences]
    start = text.sentences.row_start.values[sentences]
    position = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(start, lengths) + position
    tokens = text.tokens
    ordinary = (tokens.token_flags.values[rows] & NO_WORD) == 0
    return rows, TokenRows(tokens.token_id.values[rows], position, ordinary, lengths)


def read_tables(
    text: CorpusText, sentences: RuleSentences, query: NDArray[np.floating], key: NDArray[np.floating]
) -> HeadTables:
    """Tables of one head with every wordpiece, from its queries and keys (row of the token axis, channel)."""
    rows, tokens = token_rows(text, sentences.in_tables)
    channels = query.shape[-1]
    sums = TableSums(np.unique(tokens.token_id), int(tokens.position.max()) + 1, 1, channels)
    own_query, own_key = (vectors[rows][None].astype(np.float32) for vectors in (query, key))
    sums.add(own_query, own_key, tokens)
    return sums.tables()


def chosen_rules(chosen: NDArray[Any], weights: NDArray[np.floating]) -> tuple[list[str], NDArray[np.floating]]:
    """Names of the rules of a head and their weights, from `chosen` and `rule_weight` of `Corpus.rules` (place,)."""
    names = [str(name) for name in chosen if name]
    return names, weights[: len(names)]


def predict(
    rules: Sequence[tuple[Sequence[str], NDArray[np.floating]]],
    tokens: SentenceTokens,
    tables: HeadTables,
    masks: Sequence[Mask],
) -> NDArray[np.float32]:
    """Attention (head, query_token, key_token) that the rules of some heads predict in a sentence.

    Parameters
    ----------
    rules
        Of each head names, of `store.kernels.rules.RULES` or of `store.schema.roles.TABLES`, and their weights in the logit.
    tables, masks
        Those of the same heads.
    """
    shared = sorted({name for names, _ in rules for name in names} - TABLES.keys())
    features = dict(zip(shared, features_of(shared, tokens), strict=True))
    logits = np.zeros((len(rules), len(tokens), len(tokens)), np.float32)
    for head, ((names, weights), of_head) in enumerate(zip(rules, table_logits(tables, tokens.token_id), strict=True)):
        of_tables = dict(zip(TABLES, of_head, strict=True))
        for name, weight in zip(names, weights, strict=True):
            logits[head] += np.float32(weight) * (of_tables[name] if name in TABLES else features[name])
    seen = {mask: mask.pairs(len(tokens)) for mask in {*masks}}
    predicted: NDArray[np.float32] = softmax(np.where([seen[mask] for mask in masks], logits, -np.inf))
    return predicted

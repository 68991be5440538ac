"""Sentences with the properties that rules depend on; labelled rules, roles and tests of heads; tables and dictionary of a head."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.kernels.attention import softmax
from store.kernels.bias import EVERY_KEY, AttentionBias, Mask
from store.kernels.head_tables import (
    FARTHEST,
    HeadTables,
    TableSums,
    TokenRows,
    offset_logits,
    strongest_parts,
    table_logits,
)
from store.kernels.relations import halves
from store.kernels.roles import UNEXPLAINED, BiasTest, discoveries, name_roles, t_test
from store.kernels.rules import NONE, RULES, Grammar, SentenceTokens, features_of, text_classes
from store.schema.corpus import NO_GOVERNOR, NO_WORD, PAD, ROLE_HALVES, TABLES
from store.schema.model import HEADS
from store.text import CorpusText
from store.words import Words

#: Bias of a relation against other pairs at the same offset where the head does not tell them apart.
SAME_OFFSET = 1.0
#: Least occurrences of a wordpiece; least sentences with a pair of wordpieces, and with a wordpiece and a position.
LEAST_COUNTED, LEAST_SENTENCES, LEAST_AT_POSITION = 5, 3, 20
#: Number of listed pairs of wordpieces, and of listed pairs of a wordpiece and a position, in each direction.
LISTED, LISTED_POSITIONS = 10, 5


@dataclass(frozen=True)
class RuleSentences:
    """Sentences that rules are fitted on and judged on, and sentences that the tables of heads are made of.

    Attributes
    ----------
    fitted, judged
        Indices of sentences, ascending: of every two sentences of the corpus, one may be fitted on and the other judges.
    tabled
        Number of first sentences that tables are made of; sentences that judge are left out.
    """

    fitted: NDArray[np.int64]
    judged: NDArray[np.int64]
    tabled: int

    @classmethod
    def choose(
        cls, lengths: NDArray[np.integer], *, fitted: int, judged: int, weights: int, table_tokens: int
    ) -> "RuleSentences":
        """The first sentences of each half: at most `fitted` and `judged`, with at most `weights` weights of a head in the fit.

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
        """The sentences noted in the group `roles` of a store."""
        sentences, judged = roles.sentence.values.astype(np.int64), roles.judged.values.astype(bool)
        fitted = sentences[~judged] if roles.attrs["held_out"] else sentences
        return cls(fitted, sentences[judged], int(roles.attrs["tabled"]))

    @classmethod
    def halved(cls, sentences: int) -> "RuleSentences":
        """The two halves of a number of sentences."""
        of_half = halves(sentences)
        fitted, judged = np.flatnonzero(~of_half), np.flatnonzero(of_half)
        return cls(fitted, judged if len(judged) else fitted, sentences)

    @property
    def held_out(self) -> bool:
        """Whether sentences that judge are not fitted on; False for a corpus of one sentence."""
        return not np.array_equal(self.fitted, self.judged)

    @cached_property
    def every(self) -> NDArray[np.int64]:
        """Sentences that are fitted on, then sentences that judge."""
        return np.concatenate([self.fitted, self.judged]) if self.held_out else self.fitted

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        """Whether each sentence of `every` judges: (sentence,)."""
        return np.arange(len(self.every)) >= (len(self.fitted) if self.held_out else 0)

    @property
    def in_tables(self) -> NDArray[np.int64]:
        """Sentences that tables are made of."""
        first = np.arange(self.tabled)
        return np.setdiff1d(first, self.judged) if self.held_out else first


def sentences_within(lengths: NDArray[np.integer], sentences: NDArray[np.int64], weights: float) -> NDArray[np.int64]:
    """The first sentences with at most `weights` weights of a head together, without longer ones; the shortest if all are longer."""
    squares = lengths[sentences].astype(np.int64) ** 2
    fit = squares <= weights
    if not fit.any():
        return sentences[np.argmin(squares)][None] if len(sentences) else sentences
    return sentences[fit][: int(np.searchsorted(np.cumsum(squares[fit]), weights, side="right"))]


class RuleText:
    """The text of a corpus, with the properties that rules depend on.

    Parameters
    ----------
    text
        The corpus.
    sentences
        Number of first sentences that determine which wordpieces are rare.
    """

    def __init__(self, text: CorpusText, sentences: int) -> None:
        self._text, self._sentences = text, sentences

    @property
    def words(self) -> Words | None:
        """Words with their grammar; None where sentences are not annotated."""
        return self._text.words if self._text.has_words else None

    @cached_property
    def _classes(self) -> NDArray[np.int8]:
        return text_classes([str(text) for text in self._text.piece_texts])

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """Number of occurrences of each wordpiece of the vocabulary: (vocab,)."""
        tokens = self._text.tokens
        counted = (tokens.sentence_index.values < self._sentences) & ((tokens.token_flags.values & PAD) == 0)
        return np.bincount(tokens.token_id.values[counted], minlength=len(self._text.piece_texts))

    @cached_property
    def _antecedents(self) -> dict[int, int]:
        """Head word of each mention with an antecedent -> head word of the antecedent, as rows of the word axis."""
        words = self.words
        if words is None or words.mentions is None:
            return {}
        return dict(zip(*(rows.tolist() for rows in words.mentions.links), strict=True))

    def sentence(self, sentence: int, mask: Mask = EVERY_KEY) -> SentenceTokens:
        """The tokens of a sentence, in which queries see the keys that a mask leaves."""
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
        for number in range(len(start) - 1, -1, -1):  # of two words on a token, the first
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
        For each head, names in `store.kernels.rules.RULES` or `store.schema.corpus.TABLES`, and their weights in the logit.
    tables, masks
        Tables and masks of the same heads.
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


def rules_of(group: xr.Dataset) -> xr.Dataset:
    """The result of `Corpus.rules`, from the group of the store."""
    scores = ["iou", "sqrt_jsd", "top_key", "top_word_key", "words_share"]
    names = np.array([*group.rule.values.tolist(), ""], object)
    chosen = (group.chosen.dims, names[group.chosen.values])
    uniform = group[["iou", "words_share"]].sel(rules="uniform", drop=True)
    skills = (group[["iou", "words_share"]] - uniform) / (1 - uniform)
    return xr.Dataset(
        {
            **{name: group[name] for name in (*scores, "interval", "rule_weight", "variance_share")},
            "chosen": chosen,
            "skill": skills.iou,
            "words_skill": skills.words_share,
        },
        attrs=group.attrs,
    ).drop_vars("rule", errors="ignore")


def rule_titles() -> Mapping[str, str]:
    """Short title of every rule, the tables of a head among them."""
    return {name: rule.title for name, rule in RULES.items()} | dict(TABLES)


def roles_of(group: xr.Dataset) -> xr.Dataset:
    """The result of `Corpus.roles`, from the group of the store."""
    labels = {"kind": "kind", "breadth": "breadth", "title": "title", "sentence": "description"}
    told = {
        name: (
            "role",
            [
                UNEXPLAINED if role == UNEXPLAINED else getattr(RULES[role], field)
                for role in group.role.values.tolist()
            ],
        )
        for field, name in labels.items()
    }
    arrays = ["share", "weight", "agreement", "rand_index", "explained", "even_explained"]
    skill = (group.explained - group.even_explained) / (1 - group.even_explained)
    kept = group[arrays].assign(skill=skill).drop_vars(["rules", "rule", "part", "bound"], errors="ignore")
    return kept.assign_coords(told).assign_attrs(group.attrs)


def head_roles(roles: xr.Dataset) -> xr.DataArray:
    """Roles of each head in words, such as `next token 81%, itself 9%`: (layer, head)."""
    named = roles.share.sel(role=roles.role != UNEXPLAINED).transpose(..., "role")
    titles = named.title.values.tolist()
    words = [name_roles(titles, shares) for shares in named.values.reshape(-1, len(titles))]
    cells = np.array(words, object).reshape(named.shape[:-1])
    return xr.DataArray(cells, {dim: roles[dim] for dim in HEADS}, HEADS, name="head_roles")


def tests_of(group: xr.Dataset, threshold: float) -> xr.Dataset:
    """The result of `Corpus.test_roles`, computed from the stored biases (layer, head, sentence, role)."""
    every = _tested(group.bias, threshold)
    halves = [
        discoveries(_tested(group.bias[:, :, group.judged.values == half], threshold).p)
        for half in range(len(ROLE_HALVES))
    ]
    dims = ("role", *HEADS)
    arrays: dict[str, Any] = {
        "bias": (dims, every.bias),
        "p": (dims, every.p),
        "found": (dims, discoveries(every.p)),
        "replicated": (dims, halves[0] & halves[1]),
    }
    offsets = _tested(group.offset_bias, SAME_OFFSET)
    sieves, relations = group.sieve.values.tolist(), group.relation.values.tolist()
    places = [sieves.index(relation) for relation in relations]
    found = discoveries(offsets.p)
    arrays["offset_bias"] = (dims, _placed(offsets.bias, places, every.bias.shape))
    arrays["offset_p"] = (dims, _placed(offsets.p, places, every.bias.shape))
    arrays["offset_found"] = (dims, _placed(found, places, every.bias.shape))
    if "random_bias" in group:
        random = _tested(group.random_bias, threshold)
        arrays |= {
            "random_bias": (dims, random.bias),
            "random_p": (dims, random.p),
            "random_found": (dims, discoveries(random.p)),
        }
    coordinates: dict[str, Any] = {"role": sieves, **{dim: group[dim].values for dim in HEADS}}
    coordinates["kind"] = ("role", [RULES[name].kind for name in sieves])
    coordinates["title"] = ("role", [RULES[name].title for name in sieves])
    return xr.Dataset(arrays, coordinates, {**group.attrs, "threshold": threshold})


def _tested(biases: xr.DataArray, threshold: float) -> BiasTest:
    """Tests (role, layer, head) of biases (layer, head, sentence, role)."""
    return t_test(np.moveaxis(biases.values, (3, 2), (0, 3)), threshold)


def _placed(values: NDArray[Any], places: list[int], shape: tuple[int, ...]) -> NDArray[Any]:
    """Values of some roles placed among all roles: NaN, or False, for the others."""
    all_roles = np.zeros(shape, bool) if values.dtype == bool else np.full(shape, np.nan)
    all_roles[places] = values
    return all_roles


def head_dictionary(
    text: CorpusText, sentences: NDArray[np.integer], tables: HeadTables, bias: AttentionBias | None = None
) -> xr.Dataset:
    """See `store.Corpus.head_dictionary`; `tables` are of one head, made of these sentences, `bias` is the head's."""
    from scipy.sparse import csr_matrix

    _, tokens = token_rows(text, sentences)
    sentence = np.repeat(np.arange(len(tokens.lengths)), tokens.lengths)[tokens.is_word]
    types, position = tables.types(tokens.token_id)[tokens.is_word], tokens.position[tokens.is_word]
    of_type = np.bincount(types, minlength=len(tables.token_ids))
    at_position = np.bincount(position, minlength=tables.position.shape[2] - 1)
    kept = np.flatnonzero(of_type >= LEAST_COUNTED)
    ones, size = np.ones(len(types), np.int32), len(tokens.lengths)
    has_type = csr_matrix((ones, (sentence, types)), (size, len(of_type))).sign()[:, kept]
    has_position = csr_matrix((ones, (sentence, position)), (size, len(at_position)))
    mean, (query_at, key_at), (query_word, key_word) = (
        tables.mean[0, 0],
        tables.position[:, 0, :-1],
        tables.word[:, 0, :-1][:, kept],
    )
    # The first token stands for [CLS] where the tokenizer adds none.
    words_of = np.bincount(sentence[position > 0], minlength=size)
    names = text.vocab[tables.token_ids[kept]].astype(object)
    positions = np.arange(len(at_position))
    words, to_position, to_word = (
        strongest_parts(query, key, count, have, least=least, listed=listed)
        for query, key, count, have, least, listed in (
            (mean + query_word, key_word, of_type[kept], has_type.T @ has_type, LEAST_SENTENCES, LISTED),
            (query_word, key_at, at_position, has_type.T @ has_position, LEAST_AT_POSITION, LISTED_POSITIONS),
            (query_at, key_word, of_type[kept], has_position.T @ has_type, LEAST_AT_POSITION, LISTED_POSITIONS),
        )
    )
    pairs = {
        "word_pair": (words, names, names),
        "word_position": (to_position, names, positions),
        "position_word": (to_word, positions, names),
    }
    by_position = tables.mean[:, :, None] + tables.position[:, :, :-1]
    added = None if bias is None else bias.added(*by_position)[0]
    arrays: dict[str, Any] = {"offset_logit": ("offset", offset_logits(mean + query_at, key_at, words_of, added))}
    coordinates: dict[str, Any] = {"offset": np.arange(-FARTHEST, FARTHEST + 1)}
    for name, (found, queries, keys) in pairs.items():
        arrays[f"{name}_logit"] = (name, found.logit)
        coordinates |= {
            f"{name}_query": (name, queries[found.query]),
            f"{name}_key": (name, keys[found.key]),
            f"{name}_sentences": (name, found.sentences),
        }
    return xr.Dataset(arrays, coordinates, {"sentences": size})

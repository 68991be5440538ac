"""Rules of the text: keys that a query may attend to, from the tokens and words of its sentence alone.

A rule gives non-negative numbers (query_token, key_token), 0 where the query may not attend. No rule depends on a query vector,
a key vector or an attention weight. A head has two further rules, which are fitted: its tables (`store.kernels.head_tables`).
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from store.kernels.bias import EVERY_KEY, Mask
from store.schema.corpus import IDLE, NO_WORD, OPENS, PUNCTUATION, ROOT, SEP, SPECIAL, SYMBOL

#: Classes of the text of a wordpiece.
OTHER_TEXT, SENTENCE_END, COMMA = 0, 1, 2
#: Endings of the Unicode names of marks that end a sentence, in any script.
ENDS = ("FULL STOP", "QUESTION MARK", "EXCLAMATION MARK", "DANDA")
#: Index in place of a missing or unknown word.
NONE = -1
#: Number of wordpieces of a sentence that count as its rarest.
RAREST = 3
#: Count of a token that is never among the rarest.
NEVER_RARE = np.iinfo(np.int64).max
#: Distance in tokens beyond which the slope of a window is constant.
FARTHEST = 30

#: The only rule that is not a role.
REST = "rest"

FUNCTION_WORDS = ("ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ")
CONTENT_WORDS = ("ADJ", "ADV", "NOUN", "NUM", "PROPN", "VERB")
#: Relations of Universal Dependencies and of ClearNLP, without a subtype after a colon.
SUBJECTS = ("csubj", "csubjpass", "nsubj", "nsubjpass")
OBJECTS = ("acomp", "attr", "dative", "dobj", "iobj", "obj", "oprd")
MODIFIERS = ("amod", "compound", "det", "nmod", "nummod", "poss", "predet", "quantmod")
ADVERBS = ("advmod", "neg")

Numbers = NDArray[np.float32]
#: Groups of rules, in the order that pages show them.
Kind = Literal["sinks", "position", "same word", "words", "grammar", "even"]
#: Breadth of a rule, by the number of keys that it leaves to a query: narrow rules are more informative than broad ones.
Breadth = Literal["sink", "narrow", "broad"]


@dataclass(frozen=True)
class Grammar:
    """Annotation of the word of each token (token,). Words are indices in their sentence; `NONE` stands for no word.

    Attributes
    ----------
    word
        Word that contains the token.
    part_of_speech, relation
        Universal part of speech, and relation to the governor; "" where there is none.
    governor
        Governor of the word; `ROOT` for a root.
    antecedent
        Head word of the antecedent of the word's mention.
    """

    word: NDArray[np.integer]
    part_of_speech: NDArray[Any]
    relation: NDArray[Any]
    governor: NDArray[np.integer]
    antecedent: NDArray[np.integer]


@dataclass(frozen=True)
class SentenceTokens:
    """Properties of the tokens of a sentence (token,) that rules depend on.

    Attributes
    ----------
    token_id, flags
        Wordpieces, and bits of `store.schema.corpus.TOKEN_FLAGS`.
    text_class
        `OTHER_TEXT`, `SENTENCE_END` or `COMMA`.
    word_index
        Word of the tokenizer; `NONE` for special tokens.
    count
        Number of occurrences of the wordpiece in the corpus.
    grammar
        Grammar of the words; None where the corpus has no words.
    mask
        Mask of the keys that a query sees.
    """

    token_id: NDArray[np.integer]
    flags: NDArray[np.uint8]
    text_class: NDArray[np.integer]
    word_index: NDArray[np.integer]
    count: NDArray[np.integer]
    grammar: Grammar | None = None
    mask: Mask = EVERY_KEY

    def __len__(self) -> int:
        return len(self.token_id)

    @property
    def is_word(self) -> NDArray[np.bool_]:
        """Whether each token is neither a special token nor a first token that stands for one: (token,)."""
        ordinary: NDArray[np.bool_] = (self.flags & IDLE) == 0
        return ordinary

    @property
    def offset(self) -> NDArray[np.int64]:
        """Tokens from the query to the key: (query_token, key_token)."""
        place = np.arange(len(self))
        return place - place[:, None]

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether a query sees a key: (query_token, key_token)."""
        return self.mask.pairs(len(self))

    @property
    def words(self) -> Grammar:
        """The grammar, for rules that need it."""
        assert self.grammar is not None, "a rule that needs words was asked of a corpus without"
        return self.grammar


Targets = Callable[[SentenceTokens], NDArray[Any]]


@dataclass(frozen=True)
class Rule:
    """A rule: the keys that a query may attend to.

    Attributes
    ----------
    title, sentence
        Short title for a head's roles, and a description as a sentence.
    targets
        Non-negative numbers (query_token, key_token).
    kind, breadth
        Group of the rule, and number of keys that it leaves.
    needs_words
        Whether the rule needs the grammar of the words.
    slope
        A logit (query_token, key_token) in place of the targets, for rules that decay with distance.
    """

    title: str
    sentence: str
    targets: Targets
    kind: Kind
    breadth: Breadth
    needs_words: bool = False
    slope: Targets | None = None

    @property
    def is_sieve(self) -> bool:
        """Whether the keys of a query are few and similar, so that the rule can be tested."""
        return self.breadth == "narrow" or self.kind == "words"


def text_classes(texts: Sequence[str]) -> NDArray[np.int8]:
    """Class of the text of each wordpiece of a vocabulary: (vocab,)."""
    return np.array([_text_class(text.strip()) for text in texts], np.int8)


def _text_class(text: str) -> int:
    name = unicodedata.name(text, "") if len(text) == 1 else ""
    if name.endswith("COMMA"):
        return COMMA
    return SENTENCE_END if name.endswith(ENDS) else OTHER_TEXT


# -- shapes of rules ----------------------------------------------------------------------------------


def _at(*offsets: int) -> Targets:
    return lambda tokens: np.isin(tokens.offset, offsets)


def _keys(chosen: Callable[[SentenceTokens], NDArray[np.bool_]]) -> Targets:
    """Targets with the same keys for every query; `chosen` gives them."""
    return lambda tokens: np.broadcast_to(chosen(tokens), (len(tokens), len(tokens)))


def _flagged(bits: int) -> Targets:
    return _keys(lambda tokens: (tokens.flags & bits) != 0)


def _classed(text_class: int) -> Targets:
    return _keys(lambda tokens: tokens.text_class == text_class)


def _spoken(*parts: str) -> Targets:
    return _keys(lambda tokens: np.isin(tokens.words.part_of_speech, parts))


def _decay(tokens: float, side: int = 0) -> Targets:
    """Targets that fall with the distance, on one side or on both, without the token itself."""

    def targets(sentence: SentenceTokens) -> NDArray[Any]:
        offset = sentence.offset
        return np.exp(-np.abs(offset) / tokens) * ((offset * side > 0) if side else (offset != 0))

    return targets


def _slope(tokens: float, side: int) -> Targets:
    return lambda sentence: -np.minimum(np.abs(sentence.offset), FARTHEST) / tokens * (sentence.offset * side > 0)


def _governed(tokens: SentenceTokens, labels: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Whether the query's word depends on the key's word, by one of some relations or by any."""
    words = tokens.words
    joined: NDArray[np.bool_] = (words.governor[:, None] == words.word) & (words.word >= 0) & (words.word >= 0)[:, None]
    return joined & np.isin(words.relation, labels)[:, None] if labels else joined


def _governor(*labels: str) -> Targets:
    return lambda tokens: _governed(tokens, labels)


def _dependents(*labels: str) -> Targets:
    return lambda tokens: _governed(tokens, labels).T


def _equal(values: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether query and key are two tokens with the same value."""
    alike: NDArray[np.bool_] = (values[:, None] == values) & present & ~np.eye(len(values), dtype=bool)
    return alike


def _same_part_of_speech(tokens: SentenceTokens) -> NDArray[np.bool_]:
    return _equal(tokens.words.part_of_speech, tokens.words.part_of_speech != "")


def _first_word(tokens: SentenceTokens) -> NDArray[np.bool_]:
    words = (tokens.flags & NO_WORD) == 0
    return tokens.is_word & words & (np.cumsum(words) == 1)


def _other_mark(tokens: SentenceTokens) -> NDArray[np.bool_]:
    marks: NDArray[np.bool_] = (tokens.flags & (PUNCTUATION | SYMBOL)) != 0
    return marks & (tokens.text_class == OTHER_TEXT)


def _rarest(tokens: SentenceTokens) -> NDArray[np.bool_]:
    """Whether a token is among the rarest wordpieces of its sentence; the first of equally rare ones: (token,)."""
    counts = np.where(tokens.is_word, tokens.count, NEVER_RARE)
    rare = np.zeros(len(tokens), bool)
    rare[np.argsort(counts, kind="stable")[:RAREST]] = True
    return rare & (counts < NEVER_RARE)


def _antecedent(tokens: SentenceTokens) -> NDArray[np.bool_]:
    words = tokens.words
    found: NDArray[np.bool_] = (words.antecedent[:, None] == words.word) & (words.antecedent >= 0)[:, None]
    return found


def _grammar(title: str, sentence: str, targets: Targets) -> Rule:
    return Rule(title, sentence, targets, "grammar", "narrow", needs_words=True)


RULES: Mapping[str, Rule] = {
    "cls": Rule("[CLS]", "Attends to [CLS], which stands for the whole sentence.", _flagged(OPENS), "sinks", "sink"),
    "sep": Rule("[SEP]", "Attends to [SEP], the end of the sentence.", _flagged(SEP | SPECIAL), "sinks", "sink"),
    REST: Rule(
        "content words to special tokens",
        "Content words attend to [CLS] and [SEP].",
        lambda tokens: np.isin(tokens.words.part_of_speech, CONTENT_WORDS)[:, None] & ~tokens.is_word,
        "sinks",
        "sink",
        needs_words=True,
    ),
    "self": Rule("itself", "Attends to the token itself.", _at(0), "position", "narrow"),
    "previous": Rule("previous token", "Attends to the previous token.", _at(-1), "position", "narrow"),
    "next": Rule("next token", "Attends to the next token.", _at(1), "position", "narrow"),
    "second_previous": Rule("two tokens back", "Attends two tokens back.", _at(-2), "position", "narrow"),
    "second_next": Rule("two tokens ahead", "Attends two tokens ahead.", _at(2), "position", "narrow"),
    "near": Rule(
        "nearby tokens",
        "Attends to nearby tokens, the nearer the more.",
        _decay(5),
        "position",
        "broad",
        slope=lambda tokens: -np.log1p(np.abs(tokens.offset)),
    ),
    "neighbours": Rule(
        "neighbours evenly",
        "Attends evenly to the two tokens on each side.",
        _at(-2, -1, 1, 2),
        "position",
        "broad",
    ),
    "before": Rule(
        "tokens just before",
        "Attends to the tokens just before, the nearer the more.",
        _decay(3, -1),
        "position",
        "broad",
        slope=_slope(3, -1),
    ),
    "after": Rule(
        "tokens just after",
        "Attends to the tokens just after, the nearer the more.",
        _decay(3, 1),
        "position",
        "broad",
        slope=_slope(3, 1),
    ),
    "earlier": Rule(
        "all earlier tokens", "Attends to all earlier tokens.", lambda tokens: tokens.offset < 0, "position", "broad"
    ),
    "later": Rule(
        "all later tokens", "Attends to all later tokens.", lambda tokens: tokens.offset > 0, "position", "broad"
    ),
    "first_word": Rule(
        "first word", "Attends to the first word of the sentence.", _keys(_first_word), "position", "narrow"
    ),
    "same_piece": Rule(
        "same wordpiece",
        "Attends to the same wordpiece elsewhere in the sentence.",
        lambda tokens: _equal(tokens.token_id, tokens.is_word),
        "same word",
        "narrow",
    ),
    "same_word": Rule(
        "rest of the word",
        "Attends to the other wordpieces of the same word.",
        lambda tokens: _equal(tokens.word_index, tokens.word_index >= 0),
        "same word",
        "narrow",
    ),
    "sentence_end": Rule(
        "sentence-final marks",
        "Attends to full stops, question marks and exclamation marks.",
        _classed(SENTENCE_END),
        "words",
        "narrow",
    ),
    "comma": Rule("commas", "Attends to commas.", _classed(COMMA), "words", "narrow"),
    "other_mark": Rule(
        "other punctuation",
        "Attends to brackets, quotation marks and other marks.",
        _keys(_other_mark),
        "words",
        "narrow",
    ),
    "rare": Rule(
        "rarest wordpieces",
        "Attends to the three rarest wordpieces of the sentence.",
        _keys(_rarest),
        "words",
        "narrow",
    ),
    "noun": Rule("nouns", "Attends to nouns and names.", _spoken("NOUN", "PROPN"), "words", "narrow", needs_words=True),
    "verb": Rule(
        "verbs", "Attends to verbs and auxiliaries.", _spoken("VERB", "AUX"), "words", "narrow", needs_words=True
    ),
    "function_word": Rule(
        "function words",
        "Attends to articles, prepositions, pronouns and other function words.",
        _spoken(*FUNCTION_WORDS),
        "words",
        "broad",
        needs_words=True,
    ),
    "content_word": Rule(
        "content words",
        "Attends to nouns, verbs, adjectives and other content words.",
        _spoken(*CONTENT_WORDS),
        "words",
        "broad",
        needs_words=True,
    ),
    "same_part_of_speech": Rule(
        "same part of speech",
        "Attends to words of the same part of speech.",
        _same_part_of_speech,
        "words",
        "broad",
        needs_words=True,
    ),
    "governor": _grammar("word it depends on", "Attends to the word that it depends on.", _governor()),
    "dependent": _grammar("words that depend on it", "Attends to the words that depend on it.", _dependents()),
    "verb_of_subject": _grammar("subject to verb", "A subject attends to its verb.", _governor(*SUBJECTS)),
    "subject_of_verb": _grammar("verb to subject", "A verb attends to its subject.", _dependents(*SUBJECTS)),
    "verb_of_object": _grammar("object to verb", "An object attends to its verb.", _governor(*OBJECTS)),
    "object_of_verb": _grammar("verb to object", "A verb attends to its object.", _dependents(*OBJECTS)),
    "noun_of_modifier": _grammar(
        "modifier to noun", "In a noun phrase, a modifier attends to its noun.", _governor(*MODIFIERS)
    ),
    "modifier_of_noun": _grammar(
        "noun to modifiers", "In a noun phrase, a noun attends to its modifiers.", _dependents(*MODIFIERS)
    ),
    "modified_by_adverb": _grammar(
        "adverb to modified word", "An adverb or a negation attends to the word that it modifies.", _governor(*ADVERBS)
    ),
    "root": _grammar(
        "main verb",
        "Attends to the root of the sentence, mostly its main verb.",
        _keys(lambda tokens: (tokens.words.governor == ROOT) & (tokens.words.word >= 0)),
    ),
    "antecedent": _grammar(
        "mention to antecedent", "A pronoun or another mention attends to what it refers to.", _antecedent
    ),
    "even": Rule(
        "all words evenly",
        "Attends to all words evenly.",
        lambda tokens: np.ones((len(tokens), len(tokens)), bool),
        "even",
        "broad",
    ),
}


def rules_for(*, words: bool) -> list[str]:
    """Names of the rules of a corpus, with or without words."""
    return [name for name, rule in RULES.items() if words or not rule.needs_words]


def roles_for(*, words: bool) -> list[str]:
    """Names of the rules whose shares in a head's attention are its roles: all but `rest`, which divides the share of `cls` and `sep`."""
    return [name for name in rules_for(words=words) if name != REST]


def targets_of(names: Sequence[str], tokens: SentenceTokens) -> Numbers:
    """Targets of some rules in a sentence: (rule, query_token, key_token)."""
    return _stacked(tokens, [RULES[name].targets for name in names])


def features_of(names: Sequence[str], tokens: SentenceTokens) -> Numbers:
    """Logit features of some rules: slopes where they have one, else their targets: (rule, query_token, key_token)."""
    return _stacked(tokens, [RULES[name].slope or RULES[name].targets for name in names])


def _stacked(tokens: SentenceTokens, rules: Sequence[Targets]) -> Numbers:
    numbers = np.empty((len(rules), len(tokens), len(tokens)), np.float32)
    for place, rule in zip(numbers, rules, strict=True):
        place[:] = rule(tokens)
    return numbers * tokens.seen if tokens.mask.hides else numbers

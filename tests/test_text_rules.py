"""Rules of the text: the keys that each leaves to the queries of a sentence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.kernels.head_tables import PARTS
from store.kernels.rules import (
    COMMA,
    OTHER_TEXT,
    RULES,
    SENTENCE_END,
    features_of,
    roles_for,
    rules_for,
    targets_of,
    text_classes,
)
from store.rules import sentences_within
from store.schema.corpus import TABLES
from tests.ruled import PIECES, shuffled_sentence, written_sentence


def keys(rule: str, query: str) -> set[str]:
    """Key pieces that a rule leaves to a query piece of the written sentence."""
    row = RULES[rule].targets(written_sentence())[PIECES.index(query)]
    return {PIECES[key] for key in np.flatnonzero(row)}


@pytest.mark.parametrize(
    ("rule", "query", "expected"),
    [
        ("cls", "film", {"[CLS]"}),
        ("sep", "film", {"[SEP]"}),
        ("rest", "film", {"[CLS]", "[SEP]"}),
        ("rest", "the", set()),
        ("self", "film", {"film"}),
        ("previous", "film", {"the"}),
        ("next", "film", {"was"}),
        ("second_next", "film", {"not"}),
        ("neighbours", "film", {"[CLS]", "the", "was", "not"}),
        ("earlier", "film", {"[CLS]", "the"}),
        ("first_word", "good", {"the"}),
        ("same_word", "bad", {"##ly"}),
        ("sentence_end", "film", {"."}),
        ("comma", "film", {","}),
        ("rare", "film", {"bad", "##ly", "made"}),
        ("noun", "good", {"film"}),
        ("governor", "film", {"was"}),
        ("dependent", "good", {"not"}),
        ("verb_of_subject", "film", {"was"}),
        ("subject_of_verb", "was", {"film"}),
        ("verb_of_object", "good", {"was"}),
        ("object_of_verb", "was", {"good"}),
        ("noun_of_modifier", "the", {"film"}),
        ("modifier_of_noun", "film", {"the"}),
        ("modified_by_adverb", "not", {"good"}),
        ("modified_by_adverb", "##ly", {"made"}),
        ("root", "not", {"was"}),
        ("governor", "[CLS]", set()),
        ("even", "film", set(PIECES)),
    ],
)
def test_a_rule_leaves_to_a_query(rule: str, query: str, expected: set[str]) -> None:
    assert keys(rule, query) == expected


def test_a_mention_attends_to_the_head_word_of_its_antecedent() -> None:
    tokens = written_sentence()
    antecedent = tokens.words.antecedent.copy()
    antecedent[PIECES.index("made")] = tokens.words.word[PIECES.index("film")]
    linked = replace(tokens, grammar=replace(tokens.words, antecedent=antecedent))
    assert np.argwhere(RULES["antecedent"].targets(linked)).tolist() == [[PIECES.index("made"), PIECES.index("film")]]


def test_there_are_at_most_forty_rules_with_the_tables_of_a_head() -> None:
    assert len(RULES) + len(TABLES) <= 40


def test_titles_tell_rules_apart() -> None:
    assert len({rule.title for rule in RULES.values()}) == len(RULES)


def test_a_corpus_without_words_has_the_rules_that_need_none() -> None:
    tokens = written_sentence(words=False)
    assert targets_of(rules_for(words=False), tokens).shape[0] < len(RULES)


def test_every_role_is_a_rule_and_no_role_divides_the_sinks() -> None:
    assert set(roles_for(words=True)) == set(RULES) - {"rest"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".", SENTENCE_END),
        ("?", SENTENCE_END),
        ("。", SENTENCE_END),
        ("।", SENTENCE_END),
        (",", COMMA),
        ("、", COMMA),
        ("-", OTHER_TEXT),
        ("no", OTHER_TEXT),
        ("", OTHER_TEXT),
    ],
)
def test_marks_of_any_script_have_their_class(text: str, expected: int) -> None:
    assert text_classes([text]).tolist() == [expected]


@given(st.integers(0, 1000))
def test_targets_are_not_negative_and_slopes_are_finite(seed: int) -> None:
    tokens = shuffled_sentence(seed)
    assert targets_of(rules_for(words=False), tokens).min() >= 0
    assert np.isfinite(features_of(rules_for(words=False), tokens)).all()


def test_parts_of_a_logit_name_the_constants_last() -> None:
    assert PARTS[-1] == "constants"


@pytest.mark.parametrize(
    ("lengths", "chosen"), [([2, 2, 9, 2, 2], [0, 1, 3]), ([9, 8, 9], [1]), ([], []), ([3, 3], [0])]
)
def test_sentences_within_a_budget_of_weights_are_short(lengths: list[int], chosen: list[int]) -> None:
    found = sentences_within(np.array(lengths, np.int64), np.arange(len(lengths)), 13)
    assert found.tolist() == chosen

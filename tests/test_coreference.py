"""Antecedents that heads and rules find, in sentences made by hand."""

import numpy as np
from numpy.typing import NDArray

from store.kernels.relations import (
    GapRow,
    MentionHeads,
    baseline_found,
    describe,
    found_among_mentions,
    found_among_words,
    found_of_two,
)
from store.schema.corpus import NO_GOVERNOR, ROOT
from store.words import head_word


def heads(words: list[int], entities: list[int]) -> MentionHeads:
    return MentionHeads(np.arange(len(words)), np.array(words), np.array(entities))


def attention(words: int, *links: tuple[int, int, float]) -> NDArray[np.float32]:
    """A pattern of one head with some weights."""
    pattern = np.zeros((1, words, words), np.float32)
    for query, key, weight in links:
        pattern[0, query, key] = weight
    return pattern


def found_by(name: str, mentions: list[tuple[str, str, int]], **described: object) -> list[bool]:
    """Whether the baseline finds the antecedent of each mention. Mentions are (text, tag, entity), of one word each."""
    pronouns = ("she", "he", "it", "they", "her")
    every = [
        describe(text, text.split()[-1], tag=tag, pronoun=text in pronouns, person=text in described.get("people", ()))  # type: ignore[operator]
        for text, tag, _ in mentions
    ]
    return baseline_found(heads(list(range(len(mentions))), [entity for *_, entity in mentions]), every)[name].tolist()


def test_the_antecedent_is_the_mention_before_with_most_attention() -> None:
    mentions = heads([0, 2, 4], [1, 2, 1])
    assert found_among_mentions(attention(5, (4, 0, 0.3), (4, 2, 0.2)), mentions)[0].tolist() == [False, False, True]


def test_attention_to_other_words_and_to_later_mentions_does_not_count_among_mentions() -> None:
    mentions = heads([0, 2, 4], [1, 1, 1])
    pattern = attention(5, (2, 1, 0.5), (2, 4, 0.4), (2, 0, 0.1))
    assert found_among_mentions(pattern, mentions)[0, 1]


def test_among_words_the_most_attended_word_has_to_be_an_antecedent() -> None:
    mentions = heads([0, 2], [1, 1])
    assert not found_among_words(attention(3, (2, 1, 0.5), (2, 0, 0.1)), mentions)[0, 1]
    assert found_among_words(attention(3, (2, 1, 0.05), (2, 0, 0.1)), mentions)[0, 1]


def test_the_attention_of_a_word_to_itself_does_not_count() -> None:
    assert found_among_words(attention(3, (2, 2, 0.9), (2, 0, 0.1)), heads([0, 2], [1, 1]))[0, 1]


def test_the_first_mention_of_an_entity_has_no_antecedent() -> None:
    assert heads([0, 2, 4], [1, 2, 1]).resolvable.tolist() == [False, False, True]


def test_the_head_of_the_only_word_is_known_where_its_governor_was_cut_off() -> None:
    first, stop, governor = np.array([0]), np.array([5]), np.array([NO_GOVERNOR])
    assert head_word(first, stop, governor, 0, 5) == 0


def test_mentions_with_one_head_word_are_no_antecedents_of_each_other() -> None:
    assert not heads([2, 2], [1, 1]).resolvable.any()


def test_the_nearest_baseline_takes_the_mention_just_before() -> None:
    assert found_by("nearest", [("Ann", "NNP", 1), ("Eva", "NNP", 2), ("she", "PRP", 1)]) == [False, False, False]
    assert found_by("nearest", [("Eva", "NNP", 2), ("Ann", "NNP", 1), ("she", "PRP", 1)])[2]


def test_head_match_takes_the_nearest_mention_with_the_same_head_word() -> None:
    film = [("the film", "NN", 1), ("a plot", "NN", 2), ("this film", "NN", 1)]
    assert found_by("head_match", film)[2]


def test_head_match_finds_nothing_where_no_head_word_is_the_same() -> None:
    assert not found_by("head_match", [("Ann", "NNP", 1), ("she", "PRP", 1)])[1]


def test_rules_prefer_the_same_words_over_the_same_head_word() -> None:
    film = [("the film", "NN", 1), ("a film", "NN", 2), ("the film", "NN", 1)]
    assert found_by("rule_based", film)[2]


def test_rules_prefer_what_agrees_over_what_is_near() -> None:
    mentions = [("Ann", "NNP", 1), ("the films", "NNS", 2), ("she", "PRP", 1)]
    assert found_by("rule_based", mentions, people=("Ann",))[2]


def test_rules_take_any_mention_where_none_agrees() -> None:
    assert found_by("rule_based", [("the films", "NNS", 1), ("it", "PRP", 1)])[1]


def test_a_pronoun_agrees_with_what_has_its_number_gender_and_person() -> None:
    she = describe("she", "she", tag="PRP", pronoun=True, person=False)
    he = describe("he", "he", tag="PRP", pronoun=True, person=False)
    ann = describe("Ann", "Ann", tag="NNP", pronoun=False, person=True)
    films = describe("films", "films", tag="NNS", pronoun=False, person=False)
    assert she.agrees(ann)
    assert not she.agrees(films)
    assert not she.agrees(he)


def test_of_two_names_the_one_with_more_attention_is_the_answer() -> None:
    pattern = attention(4, (3, 0, 0.2), (3, 1, 0.4))
    assert found_of_two(pattern, GapRow(3, (0, 1), 1))[0]
    assert not found_of_two(pattern, GapRow(3, (0, 1), 0))[0]


def test_a_pronoun_of_neither_name_is_never_found() -> None:
    assert not found_of_two(attention(4, (3, 0, 0.2)), GapRow(3, (0, 1), -1))[0]


def test_of_two_names_without_any_attention_none_is_found() -> None:
    """Names after the pronoun get no attention in a model that sees no later word."""
    assert not found_of_two(np.zeros((1, 4, 4)), GapRow(0, (1, 2), 0))[0]


def spans(*words: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First characters and ends of words with a space between them."""
    stops = np.cumsum([len(word) + 1 for word in words]) - 1
    return stops - [len(word) for word in words], stops


def test_the_head_word_is_governed_from_outside_the_mention() -> None:
    first, stop = spans("the", "school", "of", "Ann", "closed")
    assert head_word(first, stop, np.array([1, 4, 1, 2, ROOT]), 0, 17) == 1


def test_a_root_is_the_head_word_of_its_mention() -> None:
    first, stop = spans("the", "film")
    assert head_word(first, stop, np.array([1, ROOT]), 0, 8) == 1


def test_without_governors_the_head_word_is_the_last() -> None:
    first, stop = spans("the", "old", "film")
    assert head_word(first, stop, np.full(3, NO_GOVERNOR), 0, 12) == 2


def test_a_mention_that_was_cut_off_has_no_head_word() -> None:
    first, stop = spans("the", "old")
    assert head_word(first, stop, np.array([1, ROOT]), 0, 12) is None
    assert head_word(first, stop, np.array([1, ROOT]), 8, 12) is None

"""Alignment of words and wordpieces, by their characters."""

import numpy as np
import pytest

from ingest.words.annotate import covered_tokens

SPECIAL = (-1, -1)


def covered(words: list[tuple[int, int]], pieces: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    tokens = np.array([SPECIAL, *pieces, SPECIAL])
    return [tuple(map(int, span)) for span in covered_tokens(np.array(words).reshape(-1, 2), tokens)]


def test_a_word_of_one_wordpiece() -> None:
    assert covered([(0, 3), (4, 8)], [(0, 3), (4, 8)]) == [(1, 2), (2, 3)]


def test_a_word_that_two_wordpieces_split() -> None:
    assert covered([(0, 8)], [(0, 4), (4, 8)]) == [(1, 3)]


def test_a_wordpiece_that_two_words_share_belongs_to_both() -> None:
    assert covered([(0, 3), (3, 5)], [(0, 5)]) == [(1, 2), (1, 2)]


def test_a_wordpiece_that_crosses_a_border_belongs_to_both() -> None:
    assert covered([(0, 3), (3, 6)], [(0, 2), (2, 5), (5, 6)]) == [(1, 3), (2, 4)]


def test_a_word_that_was_cut_off_has_no_wordpiece() -> None:
    [(first, stop)] = covered([(10, 14)], [(0, 4)])
    assert first == stop


def test_a_word_without_wordpieces_between_others_has_none() -> None:
    [_, (first, stop), _] = covered([(0, 2), (3, 4), (5, 7)], [(0, 2), (5, 7)])
    assert first == stop


def test_a_text_of_special_tokens_alone_covers_nothing() -> None:
    [(first, stop)] = covered([(0, 3)], [])
    assert first == stop


def test_a_special_token_in_a_text_stands_for_no_word() -> None:
    [before, (first, stop), after] = covered([(0, 1), (3, 6), (8, 9)], [(0, 1), SPECIAL, (8, 9)])
    assert (before, first == stop, after) == ((1, 2), True, (3, 4))


def test_a_word_with_a_special_token_in_its_middle_has_no_wordpiece() -> None:
    [(first, stop), after] = covered([(0, 9), (10, 12)], [(0, 2), SPECIAL, (7, 9), (10, 12)])
    assert (first == stop, after) == (True, (4, 5))


@pytest.mark.parametrize("text", ["Don't re-watch it!", "naïve café", "日本 film", "x" * 30 + " ok", "a\u0301 b"])
def test_every_wordpiece_of_the_default_tokenizer_belongs_to_the_word_around_it(text: str) -> None:
    from ingest.run.checkpoint import find_checkpoint
    from ingest.text.tokenizer import Tokenizer

    tokenizer = Tokenizer(find_checkpoint("embedded").folder, max_length=64)
    [spans] = tokenizer.spans([text])
    starts = [place for place, letter in enumerate(text) if letter != " " and (place == 0 or text[place - 1] == " ")]
    words = [(start, (text + " ").index(" ", start)) for start in starts]
    found = covered_tokens(np.array(words), spans)
    for (start, stop), (first, last) in zip(words, found, strict=True):
        assert first < last
        assert start <= spans[first, 0]
        assert spans[last - 1, 1] <= stop

"""From reviews to the sentences of a corpus."""

import random
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.text.reviews import Review
from ingest.text.sentences import (
    Sentence,
    fewest_tokens,
    sentence_hash,
    split_reviews,
    split_text,
    take_smallest,
)
from ingest.text.tokenizer import Tokenizer
from tests.stores import MAX_LENGTH

HASHES = st.lists(st.integers(0, 300), max_size=200)


def with_hashes(hashes: list[int]) -> list[Sentence]:
    return [Sentence(hash_, str(hash_), -1, document) for document, hash_ in enumerate(hashes)]


@pytest.mark.parametrize(
    ("review", "sentences"),
    [
        ("I saw it. It was long.", ["I saw it.", "It was long."]),
        ("Good film<br />with a plot", ["Good film with a plot"]),
        ("Two  spaces\tand\nlines", ["Two spaces and lines"]),
        ("no full stop<br /><br />next one", ["no full stop", "next one"]),
        ("no full stop<BR><br/>next one", ["no full stop", "next one"]),
        ("no full stop\n\nnext one", ["no full stop", "next one"]),
        ("I saw it. it was long! really? yes.", ["I saw it.", "it was long!", "really?", "yes."]),
        ("I like Mr. Wayne a lot. He acts.", ["I like Mr. Wayne a lot.", "He acts."]),
        ("", []),
        (" \n\t<br /><br /> ", []),
    ],
)
def test_review_is_split_into_its_sentences(review: str, sentences: list[str]) -> None:
    assert list(split_text(review)) == sentences


@given(parts=st.lists(st.sampled_from(["a", "b.", " ", "! ", "?", "\n\n", "<br />", "\U0001f600", "\u05d0"])))
def test_splitting_loses_nothing_but_space_and_breaks(parts: list[str]) -> None:
    letters = "".join("".join(split_text("".join(parts))).split())
    assert letters == "".join(part.strip() for part in parts if part != "<br />")


@given(review=st.text(max_size=60))
def test_sentences_are_never_empty_or_padded_with_space(review: str) -> None:
    assert all(sentence and sentence == sentence.strip() for sentence in split_text(review))


def test_a_paragraph_is_split_in_parts_as_it_is_whole() -> None:
    """The neighbours of "2." and "Mr." decide whether a sentence ends, also where a part begins."""
    paragraph = " ".join(
        f"{number}. Mr. Wayne acts in {number}. It was {'very ' * (number % 7)}bad!" for number in range(90)
    )
    whole = list(split_text(paragraph))
    for length in range(40, 400, 7):
        assert list(split_text(paragraph, longest=length)) == whole


def test_many_spaces_take_no_longer_than_many_letters() -> None:
    """A pattern that starts at each space would take hours."""
    assert list(split_text(f"a{' ' * 100_000}b")) == ["a b"]


def test_what_is_done_of_a_review_is_counted_while_it_is_split() -> None:
    reviews = [Review(0, "One here. Two here. Three here.", -1), Review(1, "", -1)]
    parts: list[float] = []
    for _ in split_reviews(reviews, seed=0, passed=parts.append):
        pass
    assert len(parts) == 5
    assert sum(parts) == pytest.approx(2)


def test_sentences_keep_the_label_and_the_review_they_come_from() -> None:
    reviews = [Review(7, "One here. Two here.", 1), Review(8, "", 0), Review(9, "Three here.", 0)]
    sentences = [(sentence.text, sentence.label, sentence.document) for sentence in split_reviews(reviews, seed=0)]
    assert sentences == [("One here.", 1, 7), ("Two here.", 1, 7), ("Three here.", 0, 9)]


def test_hash_depends_on_the_text_and_the_seed_only() -> None:
    hashes = {sentence_hash(text, seed=seed) for text in ("a", "b", "a") for seed in (0, 1, -1)}
    assert len(hashes) == 6
    assert all(0 <= hash_ < 1 << 64 for hash_ in hashes)


def test_another_seed_takes_another_sample() -> None:
    reviews = [Review(0, f"Sentence {chr(97 + number)} here.", -1) for number in range(26)]
    samples = [{s.text for s in take_smallest(split_reviews(reviews, seed=seed), 8)} for seed in (0, 1)]
    assert samples[0] != samples[1]


@given(hashes=HASHES, count=st.integers(1, 40))
def test_the_smallest_are_those_of_a_sorted_set(hashes: list[int], count: int) -> None:
    taken = take_smallest(with_hashes(hashes), count)
    assert [sentence.hash for sentence in taken] == sorted(set(hashes))[:count]


@given(hashes=HASHES, count=st.integers(1, 40), more=st.integers(0, 40))
def test_a_larger_count_only_appends(hashes: list[int], count: int, more: int) -> None:
    sentences = with_hashes(hashes)
    assert take_smallest(sentences, count + more)[:count] == take_smallest(sentences, count)


@given(hashes=HASHES)
def test_of_equal_sentences_the_first_is_taken(hashes: list[int]) -> None:
    for sentence in take_smallest(with_hashes(hashes), 300):
        assert sentence.document == hashes.index(sentence.hash)


def test_the_smallest_of_more_sentences_than_are_kept_at_once_are_still_exact() -> None:
    choose = random.Random(0)
    hashes = [choose.getrandbits(64) for _ in range(1500)]
    for count in (20, 100, 200):
        taken = take_smallest(with_hashes(hashes), count)
        assert [sentence.hash for sentence in taken] == sorted(hashes)[:count]


def test_memory_grows_with_the_count_and_not_with_the_data() -> None:
    """Sentences are made one by one, the smallest last; dropped sentences must be free."""
    alive: weakref.WeakSet[Sentence] = weakref.WeakSet()
    counts: list[int] = []

    def stream() -> Iterator[Sentence]:
        for number in range(10_000, 0, -1):
            sentence = Sentence(number, str(number), -1, 0)
            alive.add(sentence)
            counts.append(len(alive))
            yield sentence

    take_smallest(stream(), 10)
    assert max(counts) < 2000


def test_as_many_sentences_are_taken_as_have_the_size_together() -> None:
    sentences = with_hashes([3, 1, 2, 5, 4])
    assert [s.hash for s in take_smallest(sentences, 25, lambda _: 10)] == [1, 2, 3]
    assert [s.hash for s in take_smallest(sentences, 99, lambda _: 10)] == [1, 2, 3, 4, 5]


@given(hashes=HASHES, count=st.integers(1, 40))
def test_a_size_of_one_counts_sentences(hashes: list[int], count: int) -> None:
    assert take_smallest(with_hashes(hashes), 7 * count, lambda _: 7) == take_smallest(with_hashes(hashes), count)


@pytest.mark.parametrize(
    "text",
    [
        "The film was good.",
        "caf\u00e9 na\u0131ve x",
        "... !? -",
        "a\u0301b c",
        "[MASK] [SEP]x",
        "\u7535\u5f71 film",
        "word " * 40,
    ],
)
def test_a_sentence_has_at_least_as_many_tokens_as_are_expected(text: str, tiny_model: Path) -> None:
    tokens = Tokenizer(tiny_model, max_length=MAX_LENGTH).tokenize([text])
    fewest = fewest_tokens(Sentence(0, text, 0, 0), max_length=MAX_LENGTH)
    assert 2 <= fewest <= int(tokens.lengths[0])

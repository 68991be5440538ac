"""Reviews split in several processes, or only those that an index names, give the sentences of all reviews in one process."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ingest.run.parallel import fits_killed_on_error, process_pool
from ingest.text import sentences
from ingest.text.columns import Columns
from ingest.text.reviews import Review, Reviews
from ingest.text.sentences import (
    BY_SCRIPT,
    ENTRY,
    LINES,
    NOT_SPLIT,
    NUPUNKT,
    SampleSize,
    Sentence,
    fewest_tokens,
    one_each,
    smallest_sentences,
    split_reviews,
    take_smallest,
)
from ingest.text.table import Table

#: Texts of two to four sentences each; some texts are repeated.
TEXTS = ["It rained. " + f"The film number {number % 70} was long. " * (1 + number % 3) for number in range(100)]
SAMPLE = SampleSize(40, one_each, likely=40, seed=3)
#: A sample with more parts than are in memory at a time.
IN_PARTS = replace(SAMPLE, part_characters=300)
Smallest = Callable[..., list[Sentence]]


def reviews_of(texts: list[str]) -> Reviews:
    return Reviews(Table.of(pa.table({"text": pa.array(texts, pa.string())})), "text", None, Columns())


REVIEWS = reviews_of(TEXTS)


@dataclass(frozen=True)
class NotedReviews(Reviews):
    """Reviews that note the reviews that are read."""

    documents: list[int] = field(default_factory=list)

    def _review(self, document: int, row: dict[str, Any]) -> Review:
        self.documents.append(document)
        return super()._review(document, row)


@pytest.fixture
def documents() -> list[int]:
    """Numbers of the reviews that `smallest` splits, or reads in order to split them."""
    return []


@pytest.fixture
def smallest(tmp_path: Path, documents: list[int]) -> Smallest:
    """A function that takes a sample of reviews; all samples of a test have one index."""

    def smallest(
        reviews: Reviews,
        sample: SampleSize = SAMPLE,
        *,
        passed: Callable[[float], object] = float,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> list[Sentence]:
        index = tmp_path / "sentences.index"
        noted = NotedReviews(reviews.table, reviews.text, reviews.labels, reviews.columns, documents)
        with fits_killed_on_error():
            return smallest_sentences(noted, sample, passed=passed, meanwhile=meanwhile, index=index)

    return smallest


def expected(reviews: Reviews, sample: SampleSize = SAMPLE) -> list[Sentence]:
    """The sample of all reviews, split one after the other."""
    every = split_reviews(reviews, seed=sample.seed, splitter=sample.splitter)
    return take_smallest(every, sample.count, sample.size)


@pytest.mark.heavy
@pytest.mark.parametrize("splitter", [NUPUNKT, BY_SCRIPT, LINES, sentences.TEXTS, NOT_SPLIT])
def test_reviews_in_parts_give_the_sentences_of_one_part(smallest: Smallest, splitter: str) -> None:
    sample = replace(IN_PARTS, splitter=splitter)
    assert smallest(REVIEWS, sample) == expected(REVIEWS, sample)


@pytest.mark.heavy
def test_the_reviews_of_all_parts_are_counted_once(smallest: Smallest) -> None:
    passed: list[float] = []
    smallest(REVIEWS, IN_PARTS, passed=passed.append)
    assert sum(passed) == pytest.approx(len(TEXTS))


def test_something_else_is_done_while_processes_split(smallest: Smallest) -> None:
    called: list[str] = []
    smallest(REVIEWS, IN_PARTS, meanwhile=lambda: called.append("once"))
    assert called == ["once"]


def test_few_reviews_start_no_process(smallest: Smallest) -> None:
    before = process_pool.cache_info()
    assert smallest(REVIEWS) == expected(REVIEWS)
    assert process_pool.cache_info() == before


def test_no_reviews_give_no_sentences(smallest: Smallest) -> None:
    assert smallest(reviews_of([])) == []


@pytest.fixture
def indexed(smallest: Smallest, documents: list[int]) -> list[int]:
    """Numbers of the reviews that are split after an index of all reviews was written."""
    smallest(REVIEWS, IN_PARTS)
    documents.clear()
    return documents


LARGER = replace(SAMPLE, count=50, likely=50)
TOKENS = SampleSize(150, partial(fewest_tokens, max_length=512), likely=50, seed=3)


@pytest.mark.parametrize("sample", [replace(SAMPLE, count=5, likely=5), LARGER, TOKENS])
def test_the_next_sample_is_that_of_all_reviews(indexed: list[int], smallest: Smallest, sample: SampleSize) -> None:
    assert smallest(REVIEWS, sample) == expected(REVIEWS, sample)
    assert sorted(indexed) == sorted(set(indexed))


def test_the_next_sample_splits_only_reviews_that_it_is_of(indexed: list[int], smallest: Smallest) -> None:
    sentences = smallest(REVIEWS, LARGER)
    assert set(indexed) == {sentence.document for sentence in sentences}


def test_reviews_that_are_not_split_again_are_counted_too(indexed: list[int], smallest: Smallest) -> None:
    passed: list[float] = []
    smallest(REVIEWS, LARGER, passed=passed.append)
    assert len(indexed) < len(TEXTS)
    assert sum(passed) == pytest.approx(len(TEXTS))


def test_sentences_shorter_than_is_likely_are_all_found(indexed: list[int], smallest: Smallest) -> None:
    short = replace(TOKENS, likely=3)
    assert smallest(REVIEWS, short) == expected(REVIEWS, short)
    assert set(indexed) == set(range(len(TEXTS)))


@pytest.mark.parametrize("texts", [TEXTS[:20], TEXTS[::-1], ["Something else happened. " * 3] * 100])
def test_an_index_of_other_reviews_is_not_used(indexed: list[int], smallest: Smallest, texts: list[str]) -> None:
    assert smallest(reviews_of(texts)) == expected(reviews_of(texts))
    assert set(indexed) == set(range(len(texts)))


@pytest.mark.parametrize("place", [0, 5, 200, -1])
def test_a_damaged_index_changes_nothing(indexed: list[int], smallest: Smallest, tmp_path: Path, place: int) -> None:
    file = tmp_path / "sentences.index"
    damaged = bytearray(file.read_bytes())
    damaged[place] ^= 64
    file.write_bytes(damaged)
    assert smallest(REVIEWS) == expected(REVIEWS)
    assert indexed


@pytest.mark.parametrize("size", [0, 300, 301])
def test_an_index_cut_short_changes_nothing(indexed: list[int], smallest: Smallest, tmp_path: Path, size: int) -> None:
    file = tmp_path / "sentences.index"
    file.write_bytes(file.read_bytes()[:size])
    assert smallest(REVIEWS) == expected(REVIEWS)
    assert set(indexed) == set(range(len(TEXTS)))


def test_a_sample_of_all_sentences_splits_all_reviews_once(indexed: list[int], smallest: Smallest) -> None:
    every = replace(SAMPLE, count=1000, likely=1000)
    assert smallest(REVIEWS, every) == expected(REVIEWS, every)
    assert indexed == list(range(len(TEXTS)))


def test_where_an_index_cannot_be_written_the_sentences_are_found(smallest: Smallest, tmp_path: Path) -> None:
    (tmp_path / "sentences.index").mkdir()
    assert smallest(REVIEWS, IN_PARTS) == expected(REVIEWS)


def test_an_index_names_every_sentence_once_with_its_first_review(smallest: Smallest, tmp_path: Path) -> None:
    smallest(REVIEWS, IN_PARTS)
    entries = np.fromfile(tmp_path / "sentences.index", ENTRY)
    every = take_smallest(split_reviews(REVIEWS, seed=3), 10_000)
    assert entries.tolist() == [(sentence.hash, sentence.document) for sentence in every]

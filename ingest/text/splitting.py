"""Find the sentences of a corpus in the reviews, on all cores: splitting takes longer than anything before the first picture."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Thread

import numpy as np

from ingest.run.parallel import core_count, processes
from ingest.text.reviews import Review, Reviews
from ingest.text.rules import NUPUNKT, WHOLE
from ingest.text.sentences import (
    Entries,
    Sentence,
    Size,
    entries_of,
    one_each,
    read_index,
    split_reviews,
    take_smallest,
    write_index,
)

#: Characters of the reviews that a process splits at a time. Fewer than two parts are split here.
PART = 1 << 21
#: Parts in memory for each core, so that none waits.
AHEAD = 2


@dataclass(frozen=True)
class SampleSize:
    """The sentences with the smallest hashes with a seed, until they have the size `count` together.

    Attributes
    ----------
    likely
        So many sentences are enough, unless they are unusually short.
    splitter
        What splits the reviews.
    """

    count: int
    size: Size
    likely: int
    seed: int
    splitter: str = NUPUNKT


def smallest_sentences(
    reviews: Reviews,
    sample: SampleSize,
    *,
    passed: Callable[[float], object],
    meanwhile: Callable[[], object],
    index: Path,
) -> list[Sentence]:
    """The sample of `split_reviews`; of many reviews only those are split that an index names, where one was written before.

    `passed` is called with each finished share of a review, or with the number of those of a part; `meanwhile` is called in
    a thread where processes split.
    """
    if sample.splitter in WHOLE:
        every = split_reviews(reviews, seed=sample.seed, splitter=sample.splitter, passed=passed)
        return take_smallest(every, sample.count, sample.size)
    entries = read_index(index)
    found = None if entries is None else _of_named(reviews, sample, entries, passed, meanwhile)
    if found is not None:
        return found
    sentences, parts = _split(reviews, sample, passed, meanwhile)
    write_index(index, parts)
    return sentences


def _of_named(
    reviews: Reviews,
    sample: SampleSize,
    entries: Entries,
    passed: Callable[[float], object],
    meanwhile: Callable[[], object],
) -> list[Sentence] | None:
    """The sample, of the reviews that an index names; None where it is none of these reviews, or where it takes more sentences."""
    if len(entries) < sample.likely:
        return None
    likely = entries[: sample.likely]
    documents = np.unique(likely["document"]).tolist()
    if documents[0] < 0 or documents[-1] >= len(reviews):
        return None
    passed(len(reviews) - len(documents))
    chosen = replace(sample, count=len(likely), size=one_each)
    sentences, _ = _split(map(reviews.__getitem__, documents), chosen, passed, meanwhile)
    is_enough = sum(map(sample.size, sentences)) >= sample.count
    if not is_enough or [sentence.hash for sentence in sentences] != likely["hash"].tolist():
        passed(-len(reviews))
        return None
    return take_smallest(sentences, sample.count, sample.size)


def _split(
    reviews: Iterable[Review], sample: SampleSize, passed: Callable[[float], object], meanwhile: Callable[[], object]
) -> tuple[list[Sentence], list[Entries]]:
    """The sample, and entries of every sentence; of so few reviews that no process is worth its start, no entries."""
    parts = _parts(reviews)
    first, second = next(parts, []), next(parts, None)
    if second is None:
        every = split_reviews(first, seed=sample.seed, splitter=sample.splitter, passed=passed)
        return take_smallest(every, sample.count, sample.size), []
    thread = Thread(target=meanwhile, name="meanwhile")
    thread.start()
    entries: list[Entries] = []
    each = _in_processes(chain([first, second], parts), partial(split_part, sample), entries, passed)
    sentences = take_smallest(each, sample.count, sample.size)
    thread.join()
    return sentences, entries


def split_part(sample: SampleSize, reviews: list[Review]) -> tuple[list[Sentence], Entries]:
    """The sentences of some reviews with the smallest hashes, and entries of all."""
    every = list(split_reviews(reviews, seed=sample.seed, splitter=sample.splitter))
    return take_smallest(every, sample.count, sample.size), entries_of(every)


def _parts(reviews: Iterable[Review]) -> Iterator[list[Review]]:
    part: list[Review] = []
    characters = 0
    for review in reviews:
        part.append(review)
        characters += len(review.text)
        if characters >= PART:
            yield part
            part, characters = [], 0
    if part:
        yield part


def _in_processes(
    parts: Iterable[list[Review]],
    split: Callable[[list[Review]], tuple[list[Sentence], Entries]],
    entries: list[Entries],
    passed: Callable[[float], object],
) -> Iterator[Sentence]:
    """The sentences of each part, in the order of the parts; the entries of a part are appended."""
    waiting: deque[tuple[Future[tuple[list[Sentence], Entries]], int]] = deque()

    def first_done() -> list[Sentence]:
        future, reviews = waiting.popleft()
        sentences, own = future.result()
        entries.append(own)
        passed(reviews)
        return sentences

    for part in parts:
        waiting.append((processes().submit(split, part), len(part)))
        if len(waiting) > AHEAD * core_count():
            yield from first_done()
    while waiting:
        yield from first_done()

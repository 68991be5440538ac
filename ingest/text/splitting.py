"""Find the sentences of a corpus in the reviews, on all cores: splitting takes longer than anything before the first picture."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import chain
from threading import Thread

from ingest.run.parallel import core_count, processes
from ingest.text.reviews import Review
from ingest.text.sentences import Sentence, Size, split_reviews, take_smallest

#: Characters of the reviews that a process splits at a time. Fewer than two parts are split here.
PART = 1 << 21
#: Parts in memory for each core, so that none waits.
AHEAD = 2


def smallest_sentences(
    reviews: Iterable[Review],
    count: int,
    size: Size,
    *,
    seed: int,
    whole: bool,
    passed: Callable[[float], object],
    meanwhile: Callable[[], object],
) -> list[Sentence]:
    """`take_smallest` of `split_reviews`; `meanwhile` is called in a thread where processes split.

    `passed` is called with each finished share of a review, or with the number of those of a part.
    """
    parts = _parts(reviews)
    first, second = next(parts, []), next(parts, None)
    if second is None or whole:
        every = chain(first, second or [], chain.from_iterable(parts))
        return take_smallest(split_reviews(every, seed=seed, whole=whole, passed=passed), count, size)
    thread = Thread(target=meanwhile, name="meanwhile")
    thread.start()
    split = partial(split_part, seed=seed, count=count, size=size)
    sentences = take_smallest(_in_processes(chain([first, second], parts), split, passed), count, size)
    thread.join()
    return sentences


def split_part(reviews: list[Review], *, seed: int, count: int, size: Size) -> list[Sentence]:
    """The sentences of some reviews with the smallest hashes."""
    return take_smallest(split_reviews(reviews, seed=seed), count, size)


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
    parts: Iterable[list[Review]], split: Callable[[list[Review]], list[Sentence]], passed: Callable[[float], object]
) -> Iterator[Sentence]:
    """The sentences of each part, in the order of the parts."""
    waiting: deque[tuple[Future[list[Sentence]], int]] = deque()

    def first_done() -> list[Sentence]:
        future, reviews = waiting.popleft()
        sentences = future.result()
        passed(reviews)
        return sentences

    for part in parts:
        waiting.append((processes().submit(split, part), len(part)))
        if len(waiting) > AHEAD * core_count():
            yield from first_done()
    while waiting:
        yield from first_done()

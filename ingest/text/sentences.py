"""Sentences of a corpus: reviews are cleaned and split on all cores, duplicates dropped, those with the smallest hash taken.

An index beside the converted tables says which review holds which sentence of the data: to split all reviews takes longer
than anything before the first picture. Another budget, or another model, then splits only the reviews that its sentences
are of. What is found is compared with the index, so that a damaged one, or one of other reviews, costs time and nothing else.
A data set must still give the sentences that the store has of it: an older version may have read a file in another way.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Thread

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.run.errors import IngestError, short
from ingest.run.parallel import core_count, processes
from ingest.text.blocks import short_key
from ingest.text.reviews import Review, Reviews
from ingest.text.rules import NUPUNKT, WHOLE, split_text
from ingest.text.table import OWN, cache_folder
from store.repository.arrays import array_of
from store.repository.files import new_file

_LETTER = re.compile("[0-9A-Za-z]")
#: Hash of a sentence, and the first review that holds it.
ENTRY = np.dtype([("hash", "<u8"), ("document", "<i4")])
#: So many sentences at most have an index: it takes 12 bytes of each, and four times that while it is made.
MOST = 1 << 23

Entries = NDArray[np.void]


@dataclass(frozen=True)
class Sentence:
    """A sentence of a review."""

    hash: int
    text: str
    label: int
    document: int


#: What a sentence takes of a budget.
Size = Callable[[Sentence], int]


def sentence_hash(text: str, *, seed: int) -> int:
    """Key of a sentence in the order of the corpus: 64 bits of blake2b, salted with the seed."""
    digest = hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(8, "little", signed=True)
    )
    return int.from_bytes(digest.digest(), "big")


def split_reviews(
    reviews: Iterable[Review], *, seed: int, splitter: str = NUPUNKT, passed: Callable[[float], object] = float
) -> Iterator[Sentence]:
    """Every sentence of every review, in their order; `passed` is called with each finished share of a review.

    Where the `splitter` is one of `WHOLE`, each review is a sentence.
    """
    for review in reviews:
        left = 1.0
        for text in [review.text] if splitter in WHOLE else split_text(review.text, splitter):
            yield Sentence(sentence_hash(text, seed=seed), text, review.label, review.document)
            part = min(left, len(text) / len(review.text))
            left -= part
            passed(part)
        passed(left)


def one_each(_sentence: Sentence) -> int:
    """The size of a sentence where sentences are counted."""
    return 1


def take_smallest(sentences: Iterable[Sentence], count: int, size: Size = one_each) -> list[Sentence]:
    """The `count` sentences with the smallest hash, in hash order; of equal texts the first.

    With a `size` of sentences, as many as have the size `count` together. A uniform sample without replacement, and a larger
    count only appends. Memory grows with `count`, not with the data.
    """
    smallest: dict[int, Sentence] = {}
    limit, total = 1 << 64, 0
    for sentence in sentences:
        if sentence.hash < limit and sentence.hash not in smallest:
            smallest[sentence.hash] = sentence
            total += size(sentence)
            if total > 2 * count + 1024:
                smallest = {kept.hash: kept for kept in _first(smallest, count, size)}
                limit, total = max(smallest), sum(map(size, smallest.values()))
    return list(_first(smallest, count, size))


def _first(smallest: Mapping[int, Sentence], count: int, size: Size) -> Iterator[Sentence]:
    """In the order of their hashes, until they have the size `count` together."""
    for hash_ in sorted(smallest):
        if count <= 0:
            return
        yield smallest[hash_]
        count -= size(smallest[hash_])


def fewest_tokens(sentence: Sentence, *, max_length: int) -> int:
    """How many tokens a sentence has at least: [CLS], [SEP] and one for each word with a letter or digit, up to the longest."""
    return min(max_length, 2 + sum(map(bool, map(_LETTER.search, sentence.text.split(" ")))))


def index_file(data: str, *, text: str, splitter: str, seed: int) -> Path:
    """The place of the index of the data with this identity."""
    identity = {"data": data, "text_column": text, "splitter": splitter, "seed": seed}
    return cache_folder() / f"{short_key('sentences', identity)}.index"


def entries_of(sentences: Iterable[Sentence]) -> Entries:
    """An entry for each sentence, in their order."""
    return np.array([(sentence.hash, sentence.document) for sentence in sentences], ENTRY)


def read_index(file: Path) -> Entries | None:
    """Entries by ascending hash; None where there are none that can be read."""
    with suppress(OSError, ValueError):
        return np.memmap(file, ENTRY, mode="r")
    return None


def write_index(file: Path, parts: Sequence[Entries]) -> None:
    """Write the index of all reviews, whose sentences are given in their order."""
    if not 0 < sum(map(len, parts)) <= MOST:
        return
    entries = np.concatenate(parts)
    _, first = np.unique(entries["hash"], return_index=True)
    # Nothing but time is lost without it, so that a full disk does not end the ingest.
    with suppress(OSError), new_file(file, mode=OWN, durable=False) as unfinished:
        entries[first].tofile(unfinished)


def check_prefix(group: zarr.Group, sentences: list[Sentence], name: str) -> None:
    """Refuse sentences of which the stored ones of a corpus are not the first.

    Raises
    ------
    IngestError
        Where the store has others.
    """
    if "sentence_hash" not in group:
        return
    hashes = np.array([sentence.hash for sentence in sentences], np.uint64)
    stored = np.asarray(array_of(group, "sentence_hash")[: len(hashes)])
    if not np.array_equal(stored, hashes[: len(stored)]):
        raise _read_otherwise(name)


def check_texts(group: zarr.Group, reviews: Reviews, name: str) -> None:
    """Refuse annotated texts that are not those of the store under their numbers.

    Raises
    ------
    IngestError
        Where the store has others.
    """
    texts, documents = (np.asarray(array_of(group, array)[:]) for array in ("text", "document"))
    for text, document in zip(texts, documents.tolist(), strict=True):
        if document >= len(reviews) or reviews[document].text != text:
            raise _read_otherwise(name)


def _read_otherwise(name: str) -> IngestError:
    return IngestError(
        f"The store has other sentences of {short(name)} than the data gives now: an older version read it in another way. "
        "Give another --store."
    )


#: Characters of the reviews that a process splits at a time. Fewer than two parts are split here.
PART_CHARACTERS = 1 << 21
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
        if characters >= PART_CHARACTERS:
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

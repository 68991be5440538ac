"""Sentences of a corpus: reviews are cleaned and split, duplicates dropped, those with the smallest hash taken."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ingest.text.reviews import Review
from ingest.text.rules import NUPUNKT, WHOLE, split_text

_LETTER = re.compile("[0-9A-Za-z]")


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

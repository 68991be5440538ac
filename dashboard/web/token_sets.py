"""Token sets with vectors at the feature points: token sets of the store, and reviews of the data that a reader requested.

A review that the model has read has the arrays that an ingest would store for it. They are in files that all processes of a
server share; the least recently used files are deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.buffer.cpu import Buffer
from zarr.storage import MemoryStore

from dashboard.web.results import DiskCache, SharedResults
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, StoreError
from store.features import Features
from store.phrases import whole_number
from store.repository.arrays import Groups

#: Most bytes of the files of all reviews that were read; a review of 512 tokens at 20 points of 384 features has 11 MB.
BUDGET = 256 << 20
GONE = "The server does not have review {} now. Open it on page Features."
#: Contents of a zarr store by its keys.
Stored = Mapping[str, NDArray[np.uint8]]


@dataclass(frozen=True, eq=False)
class ReadReview:
    """A review that the model has read, and the zarr store of its arrays."""

    features: Features
    stored: Stored


class TokenSets:
    """The token sets that a server can show; token sets outside the store are in files of a `folder`."""

    def __init__(self, folder: Path, *, budget: int = BUDGET) -> None:
        self._results: SharedResults[ReadReview] = SharedResults(DiskCache(folder / "reviews", budget))

    @classmethod
    def of(cls, served_store: ServedStore) -> "TokenSets":
        """The token sets of a served store, in the folder of its server."""
        return cls(served_store.folder)

    def find(self, corpus: Corpus, name: str) -> Features | None:
        """A token set by its name; None for a review that is not read yet."""
        if name in corpus.token_sets:
            return corpus.features(name)
        read = self._read(corpus, name)
        return read.features if read else None

    def open(self, corpus: Corpus, name: str) -> Features:
        """A token set by its name. Raises StoreError where there is none."""
        if (found := self.find(corpus, name)) is not None:
            return found
        if (number := review_number(name)) is not None:
            raise StoreError(GONE.format(number))
        return corpus.features(name)

    def stored(self, corpus: Corpus, name: str) -> Stored | None:
        """The zarr store of a review that was read; None for a token set of the store, and a review that is not read yet."""
        read = None if name in corpus.token_sets else self._read(corpus, name)
        return read.stored if read else None

    def add(self, corpus: Corpus, name: str, stored: Stored) -> Features:
        """Keep a review that was read, for all processes of the server."""
        read = ReadReview(opened_token_set(corpus, name, stored), stored)
        return self._results.add(_key(corpus, name), read, stored).features

    def _read(self, corpus: Corpus, name: str) -> ReadReview | None:
        def opened(arrays: Mapping[str, NDArray[Any]]) -> ReadReview:
            return ReadReview(opened_token_set(corpus, name, arrays), arrays)

        return self._results.find(_key(corpus, name), opened)


def opened_token_set(corpus: Corpus, name: str, stored: Stored) -> Features:
    """A token set of a model from the contents of a zarr store."""
    chunks = MemoryStore({key: Buffer.from_array_like(content) for key, content in stored.items()}, read_only=True)
    return Features(corpus, Groups(chunks), name)


def shown_token_set(corpus: Corpus, state: LinkState) -> str:
    """The token set that a link names: a review of the data, one of the store, or the first of the store."""
    return review_name(state.review) if state.review is not None else state.material or corpus.token_sets[0]


def review_name(number: int) -> str:
    """The token set of a review by its index in the data."""
    return f"review-{number}"


def review_number(name: str) -> int | None:
    """The index of a review from the name of its token set; None for other token sets."""
    number = name.removeprefix("review-")
    return whole_number(number) if number != name else None


def _key(corpus: Corpus, name: str) -> str:
    return sha256(f"{corpus.snapshot} {corpus.name} {name}".encode()).hexdigest()

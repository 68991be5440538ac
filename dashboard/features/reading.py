"""Reviews of the data that a reader asks for: found by their words, and read by the model at every feature point.

A process of its own (`ui/apart.py`) with the packages of an ingest reads one review at a time, then waits for the next review.
The server keeps a review that was read for all readers.
"""

import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from dashboard.features.data import FoundReview, FoundReviews, sought_words
from dashboard.ui.apart import Apart, Bounds, Tell, Turns, Watch, answer_apart
from dashboard.ui.work import Job
from dashboard.web.corpus_model import CorpusModel, find_checkpoint, runs_models
from dashboard.web.errors import Refusal
from dashboard.web.processes import return_freed_memory
from dashboard.web.results import DiskCache, SharedResults
from dashboard.web.served_store import ServedStore
from dashboard.web.token_sets import Stored, TokenSets, review_name
from store import Corpus, open_corpus
from store.features import Features
from store.phrases import many

if TYPE_CHECKING:
    from ingest.review import PointReader
    from ingest.text.reviews import Reviews

BOUNDS = Bounds(
    slow="Reading was stopped after 300 s. Choose a review of the store.",
    large="Reading this review needs more memory than the server allows. Choose a review of the store.",
    ended="The process that reads reviews has ended. Try again.",
)
#: Threads of a worker that read a review or wait for one.
READERS = 3
#: Most bytes of the files of all searches.
BUDGET = 4 << 20
#: Most reviews that a search lists.
LISTED = 20
MISSING = (
    "Reading a review needs PyTorch, which this server lacks. Choose a review of the store, or install the extra "
    "`ingest` on the server."
)
BUSY = "The server is busy reading reviews for other readers. Try again in a minute."
UNREADABLE = (
    "The data of this store cannot be read: it is not where the ingest found it, or it has changed. Put it back, or choose "
    "a review of the store."
)
NO_MODEL = "The model {} cannot be loaded. Put its checkpoint back, or choose a review of the store."
UNKNOWN = "There is no such review: the data has reviews 0 to {:,}. Choose one of these."
EMPTY = "Review {:,} is empty: it has no word. Choose another one."
log = logging.getLogger("headscape")


@dataclass(frozen=True)
class Request:
    """A request for data of a store: the review of this number, or the reviews with these words."""

    url: str
    snapshot: str
    model: str
    number: int | None = None
    words: str = ""


class Reading:
    """Reads reviews of the data of a store, and finds them."""

    def __init__(
        self,
        served_store: ServedStore,
        ask: Callable[[Request, Watch], Any] | None = None,
        *,
        can_read: Callable[[], bool] = runs_models,
    ) -> None:
        folder = served_store.folder
        self._url, self._token_sets = served_store.url, served_store.service(TokenSets)
        self._ask = ask or Apart("dashboard.features.reading", BOUNDS).ask
        self._searches: SharedResults[FoundReviews] = SharedResults(DiskCache(folder / "searches", BUDGET))
        self.turns = Turns(folder / "reading.lock", READERS, BUSY, BOUNDS.seconds)
        self.can_read = can_read

    @classmethod
    def of(cls, served_store: ServedStore) -> "Reading":
        """The `Reading` of a served store, which reads and finds its reviews."""
        return cls(served_store)

    def read(self, corpus: Corpus, number: int, job: Job) -> Features:
        """A review at every feature point. Raises `Refusal` where it cannot be read, or no reader waits any more."""
        name = review_name(number)
        if (found := self._token_sets.find(corpus, name)) is not None:
            return found
        with self._turn(job):
            if (found := self._token_sets.find(corpus, name)) is not None:
                return found
            job.begin(f"Reading review {number:,}")
            request = Request(self._url, corpus.snapshot, corpus.name, number)
            return self._token_sets.add(corpus, name, self._ask(request, job.watch))

    def found(self, corpus: Corpus, words: str) -> FoundReviews | None:
        """The reviews of an earlier search; None where nobody has searched for these words."""
        return self._searches.find(_key(corpus, words), FoundReviews.of)

    def seek(self, corpus: Corpus, words: str, job: Job) -> FoundReviews:
        """The reviews with all of the words. Raises `Refusal` as `read` does."""
        if (found := self.found(corpus, words)) is not None:
            return found
        with self._turn(job):
            job.begin("Searching the reviews")
            made = self._ask(Request(self._url, corpus.snapshot, corpus.name, words=words), job.watch)
            return self._searches.add(_key(corpus, words), made, {"found": np.array(json.dumps(asdict(made)))})

    def _turn(self, job: Job) -> Any:
        if not self.can_read():
            raise Refusal(MISSING, 503)
        return self.turns.turn(job)


def _key(corpus: Corpus, words: str) -> str:
    return sha256(f"{corpus.snapshot} {corpus.name} {words}".encode()).hexdigest()


def _answer(request: Request, tell: Tell) -> FoundReviews | Stored:
    """The answer to a request, in a process of its own, which keeps the corpus, data and model of the last request."""
    tell(0.1, "Opening the data")
    corpus, reviews = _opened(request.url, request.snapshot, request.model)
    if request.number is not None:
        return _read(corpus, reviews, request.number, tell)
    tell(0.5, f"Searching {many(len(reviews), 'review')}")
    found = _found(reviews, request.words)
    # A reader who searches is likely to read a review next: modules that take seconds to import are loaded by then.
    Thread(target=import_module, args=("ingest.review",), daemon=True).start()
    return found


@lru_cache(1)
def _opened(url: str, snapshot: str, model: str) -> "tuple[Corpus, Reviews]":
    corpus = open_corpus(url, snapshot=snapshot, model=model)
    return corpus, _reviews(corpus)


@lru_cache(1)
def _loaded(corpus: Corpus) -> "PointReader":
    from ingest.review import PointReader

    return PointReader(corpus, find_checkpoint(CorpusModel.of(corpus)))


def _reviews(corpus: Corpus) -> "Reviews":
    from ingest.run.errors import IngestError
    from ingest.text.reviews import stored_reviews

    try:
        return stored_reviews(corpus)
    except (IngestError, OSError, KeyError) as error:
        # The message may name folders of the server.
        log.warning("could not read the data of %s: %s", corpus.name, error)
        raise Refusal(UNREADABLE, 503) from error


def _found(reviews: "Reviews", words: str) -> FoundReviews:
    from ingest.text.reviews import excerpt, find_reviews

    sought = sought_words(words)
    numbers = find_reviews(reviews, sought)
    names = reviews.label_names
    first = []
    for number in numbers[:LISTED].tolist():
        review = reviews[number]
        label = names[review.label] if 0 <= review.label < len(names) else ""
        first.append(FoundReview(number, label, excerpt(review.text, sought)))
    return FoundReviews(len(numbers), len(reviews), tuple(first))


def _read(corpus: Corpus, reviews: "Reviews", number: int, tell: Tell) -> Stored:
    """A review at every feature point, as the arrays of a zarr store."""
    if number >= len(reviews):
        raise Refusal(UNKNOWN.format(len(reviews) - 1), 404)
    from ingest.run.errors import IngestError

    tell(0.3, f"Loading the model {corpus.title}")
    try:
        reader = _loaded(corpus)
        if not reader.has_words(reviews, number):
            raise Refusal(EMPTY.format(number), 404)
        return reader.read(reviews, number, tell)
    except IngestError as error:
        log.warning("could not read with %s: %s", corpus.name, error)
        raise Refusal(NO_MODEL.format(corpus.title), 503) from error


def main(arguments: Sequence[str]) -> None:
    """Answer requests."""
    return_freed_memory()
    answer_apart(arguments[0], _answer, BOUNDS)


if __name__ == "__main__":
    main(sys.argv[1:])

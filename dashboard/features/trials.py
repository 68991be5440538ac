"""The trials of a server: one is fitted at a time, in a process of its own, and kept for all readers."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import BoundedSemaphore
from time import monotonic, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.features.trial import Trial, TrialPicture
from dashboard.features.trial_process import LIMIT, Request, fit_apart
from dashboard.ui.work import Job
from dashboard.web.admission import PAUSE
from dashboard.web.errors import NotYet, ReaderLeft, Refusal
from dashboard.web.library import Library
from dashboard.web.processes import locked
from dashboard.web.results import DiskCache, SharedResults
from store import Corpus
from store.features import Features

#: Threads of a worker that fit a trial or wait for one.
READERS = 3
#: Bytes of the files of trials; one of 2,000 tokens at 20 points has 0.2 MB.
BUDGET = 32 << 20
#: What the process needs beside what a server needs.
NEEDED = ("umap", "torch")
MISSING = "Trying UMAP needs packages that this server lacks. Install the extra `ingest` on the server."
BUSY = "The server is busy with the trials of other readers. Try again in a minute."
FITS = "Starting UMAP"


def can_try() -> bool:
    """Whether this server can fit a trial."""
    return all(find_spec(name) for name in NEEDED)


class Trials:
    """Trials that this process has, finds in the files of a `folder` that all processes of the server share, or fits."""

    def __init__(
        self, folder: Path, url: str, fit: Callable[..., TrialPicture] = fit_apart, *, budget: int = BUDGET
    ) -> None:
        self._folder, self._url, self._fit = folder, url, fit
        self._results: SharedResults[TrialPicture] = SharedResults(DiskCache(folder / "trials", budget))
        self._room = BoundedSemaphore(READERS)

    @classmethod
    def of(cls, library: Library) -> "Trials":
        """Those of a library, in the folder of its server."""
        return cls(library.folder, library.url)

    def find(self, corpus: Corpus, features: Features, trial: Trial) -> TrialPicture | None:
        """The picture of a trial that was fitted."""
        return self._results.find(_key(corpus, features, trial), _picture)

    def fitted(self, corpus: Corpus, features: Features, trial: Trial, job: Job) -> TrialPicture:
        """The picture of a trial, fitted when it is its turn. Raises `Refusal` where it cannot be, or nobody waits any more."""
        if (found := self.find(corpus, features, trial)) is not None:
            return found
        if not can_try():
            raise Refusal(MISSING, 503)
        with self._turn(job):
            return self.find(corpus, features, trial) or self._made(corpus, features, trial, job)

    @contextmanager
    def _turn(self, job: Job) -> Iterator[None]:
        """One process of the server fits at a time."""
        if not self._room.acquire(blocking=False):
            raise NotYet(BUSY)
        try:
            deadline = monotonic() + LIMIT
            with (self._folder / "trial.lock").open("w") as turn:
                while not locked(turn):
                    _check(job, deadline)
                    sleep(PAUSE)
                yield
        finally:
            self._room.release()

    def _made(self, corpus: Corpus, features: Features, trial: Trial, job: Job) -> TrialPicture:
        job.begin(FITS)
        seed = int(corpus.attributes["provenance"]["settings"]["seed"])
        made = self._fit(Request(self._url, corpus.snapshot, corpus.name, features.name, trial, seed), job.watch)
        attributes = np.array(json.dumps(dict(made.attributes)))
        arrays: dict[str, NDArray[Any]] = {
            "coordinates": made.coordinates,
            "trustworthiness": made.trustworthiness,
            "attributes": attributes,
        }
        return self._results.add(_key(corpus, features, trial), made, arrays)


def _picture(arrays: Mapping[str, NDArray[Any]]) -> TrialPicture:
    """What a file holds."""
    return TrialPicture(arrays["coordinates"], arrays["trustworthiness"], json.loads(str(arrays["attributes"])))


def _check(job: Job, deadline: float) -> None:
    if job.reader_left_or_cancelled:
        raise ReaderLeft
    if monotonic() > deadline:
        raise NotYet(BUSY)


def _key(corpus: Corpus, features: Features, trial: Trial) -> str:
    return sha256(f"{corpus.snapshot} {corpus.name} {features.name} {trial}".encode()).hexdigest()

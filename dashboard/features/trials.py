"""The trials of a server: one is fitted at a time, in a process of its own, and kept for all readers."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import BoundedSemaphore
from time import monotonic, sleep

import numpy as np

from dashboard.features.trial import Trial, TrialPicture
from dashboard.features.trial_process import LIMIT, Request, fit_apart
from dashboard.ui.job import Job
from dashboard.web.admission import PAUSE
from dashboard.web.cache import current_cache
from dashboard.web.errors import NotYet, ReaderLeft, Refusal
from dashboard.web.library import Library
from dashboard.web.processes import locked, write_whole
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


class Trials:
    """Trials that this process has, finds in the files of a `folder` that all processes of the server share, or fits."""

    def __init__(
        self,
        folder: Path,
        url: str,
        fit: Callable[..., TrialPicture] = fit_apart,
        *,
        budget: int = BUDGET,
        needed: Sequence[str] = NEEDED,
    ) -> None:
        self._folder, self._url, self._fit = folder, url, fit
        self._budget, self._needed = budget, needed
        self._room = BoundedSemaphore(READERS)

    @classmethod
    def of(cls, library: Library) -> "Trials":
        """Those of a library, in the folder of its server."""
        return cls(library.folder, library.url)

    def can_try(self) -> bool:
        """Whether this server can fit a trial."""
        return all(find_spec(name) for name in self._needed)

    def find(self, corpus: Corpus, features: Features, trial: Trial) -> TrialPicture | None:
        """The picture of a trial that was fitted."""
        key = _key(corpus, features, trial)
        found: TrialPicture | None = current_cache().find(self, key)
        return found or self._read(key)

    def fitted(self, corpus: Corpus, features: Features, trial: Trial, job: Job) -> TrialPicture:
        """The picture of a trial, fitted when it is its turn. Raises `Refusal` where it cannot be, or nobody waits any more."""
        if (found := self.find(corpus, features, trial)) is not None:
            return found
        if not self.can_try():
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
        key = _key(corpus, features, trial)
        self._write(key, made)
        return current_cache().get(self, key, lambda: made)

    def _read(self, key: str) -> TrialPicture | None:
        try:
            with np.load(self._folder / f"{key}.trial", allow_pickle=False) as file:
                attributes = json.loads(str(file["attributes"]))
                read = TrialPicture(file["coordinates"], file["trustworthiness"], attributes)
        except FileNotFoundError:
            return None
        return current_cache().get(self, key, lambda: read)

    def _write(self, key: str, made: TrialPicture) -> None:
        content = io.BytesIO()
        attributes = json.dumps(dict(made.attributes))
        np.savez(content, coordinates=made.coordinates, trustworthiness=made.trustworthiness, attributes=attributes)
        write_whole(self._folder / f"{key}.trial", content.getvalue())
        self._forget()

    def _forget(self) -> None:
        """Delete the oldest files beyond the budget. Only who has the turn writes and deletes."""
        total = 0
        for file in sorted(self._folder.glob("*.trial"), key=lambda file: -file.stat().st_mtime):
            total += file.stat().st_size
            if total > self._budget:
                file.unlink()


def _check(job: Job, deadline: float) -> None:
    if job.reader_left_or_cancelled:
        raise ReaderLeft
    if monotonic() > deadline:
        raise NotYet(BUSY)


def _key(corpus: Corpus, features: Features, trial: Trial) -> str:
    return sha256(f"{corpus.snapshot} {corpus.name} {features.name} {trial}".encode()).hexdigest()

"""The trials of a server: one is fitted at a time, in a process of its own, as a worker has neither UMAP nor torch, and kept for all readers.

`python -m dashboard.features.trials DESCRIPTOR` takes one request from the connection of this descriptor. It tells how far it
is, then sends the picture. It ends with the other end of the connection, and after `LIMIT` seconds.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.features.trial import Trial, TrialPicture
from dashboard.ui.work import Job
from dashboard.web.admission import LOOK_SECONDS, Room
from dashboard.web.errors import NotYet, ReaderLeft, Refusal, sentence_for
from dashboard.web.processes import environment, locked, own_module
from dashboard.web.results import DiskCache, SharedResults
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from store.features import Features

#: Seconds that a trial may take.
LIMIT = 300
#: Bytes of data that the process may have.
MEMORY = 4 << 30
#: By how much it steps back behind the processes that answer readers.
NICE = 5
SLOW = f"The trial was stopped after {LIMIT} s. Choose fewer tokens or fewer neighbours."
LARGE = "The trial needs more memory than the server allows. Choose fewer tokens or fewer neighbours."
ENDED = "The process that fits the trial has ended. Run it again."
#: Takes the share that is done, 0 to 1, and what is done now; raises where nobody waits any more.
Watch = Callable[[float, str | None], None]
#: Threads of a worker that fit a trial or wait for one.
READERS = 3
#: Bytes of the files of trials; one of 2,000 tokens at 20 points has 0.2 MB.
BUDGET = 32 << 20
#: What the process needs beside what a server needs.
NEEDED = ("umap", "torch")
MISSING = "Trying UMAP needs packages that this server lacks. Install the extra `ingest` on the server."
BUSY = "The server is busy with the trials of other readers. Try again in a minute."
FITS = "Starting UMAP"


@dataclass(frozen=True)
class Request:
    """A trial, and where the vectors are that it is of."""

    url: str
    snapshot: str
    model: str
    token_set: str
    trial: Trial
    seed: int


def fit_apart(request: Request, watch: Watch) -> TrialPicture:
    """Fit a trial in a process of its own, which is gone afterwards, however this ends."""
    own, other = Pipe()
    with own:
        with other:
            process = _start(other.fileno())
        try:
            own.send(request)
            return _answer(own, watch)
        except (OSError, EOFError) as error:
            raise Refusal(ENDED, 503) from error
        finally:
            process.kill()
            process.wait()


def _start(descriptor: int) -> "subprocess.Popen[bytes]":
    command = own_module("dashboard.features.trials", str(descriptor))
    # In a session of its own: Ctrl-C in a terminal is the server's; it ends with the connection.
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[descriptor],
        start_new_session=True,
        env=environment() | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    )


def _answer(connection: Connection, watch: Watch) -> TrialPicture:
    """What the process sends at the end; until then, how far it is."""
    deadline, share, stage = monotonic() + LIMIT, 0.0, None
    while monotonic() < deadline:
        watch(share, stage)
        if connection.poll(LOOK_SECONDS):
            answer = connection.recv()
            if isinstance(answer, TrialPicture):
                return answer
            if isinstance(answer, Refusal):
                raise answer
            share, stage = answer
    raise Refusal(SLOW, 503)


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
        self._folder, self._url, self._fit, self._needed = folder, url, fit, needed
        self._results: SharedResults[TrialPicture] = SharedResults(DiskCache(folder / "trials", budget))
        self._room = Room(READERS, BUSY)

    @classmethod
    def of(cls, served_store: ServedStore) -> "Trials":
        """Those of a served store, in the folder of its server."""
        return cls(served_store.folder, served_store.url)

    def can_try(self) -> bool:
        """Whether this server can fit a trial."""
        return all(find_spec(name) for name in self._needed)

    def find(self, corpus: Corpus, features: Features, trial: Trial) -> TrialPicture | None:
        """The picture of a trial that was fitted."""
        return self._results.find(_key(corpus, features, trial), _picture)

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
        with self._room.entered(), (self._folder / "trial.lock").open("w") as turn:
            deadline = monotonic() + LIMIT
            while not locked(turn):
                _check(job, deadline)
                sleep(LOOK_SECONDS)
            yield

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


def main(arguments: Sequence[str]) -> None:
    """Answer one request."""
    connection = Connection(int(arguments[0]))
    request = connection.recv()
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    _limit()
    connection.send(_result(request, lambda share, stage: connection.send((share, stage))))


def _end_with(connection: Connection) -> None:
    """Nothing more is sent to this process: what can be read is the end of the connection."""
    with suppress(EOFError, OSError):
        connection.recv()
    os._exit(0)


def _limit() -> None:
    """Bound time and memory by the system, which does so even where compiled code lets no thread run."""
    os.nice(NICE)
    signal.alarm(LIMIT)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _result(request: Request, tell: Callable[[float, str], object]) -> TrialPicture | Refusal:
    try:
        return _fitted(request, tell)
    except MemoryError:
        return Refusal(LARGE, 503)
    except Exception as error:
        return Refusal(*sentence_for(error))


def _fitted(request: Request, tell: Callable[[float, str], object]) -> TrialPicture:
    trial = request.trial
    corpus = open_corpus(request.url, snapshot=request.snapshot, model=request.model)
    features = corpus.features(request.token_set)

    def read(point: int, tokens: int) -> NDArray[np.float32]:
        vectors: NDArray[Any] = features.feature.variable[point, :tokens].values
        return vectors.astype(np.float32)

    from ingest.projections.feature_pictures import try_picture  # UMAP and torch: only in this process
    from ingest.run.settings import Settings

    chosen = Settings(neighbors=trial.neighbors, min_dist=trial.min_dist, metric=trial.metric, seed=request.seed)
    return TrialPicture(*try_picture(trial.view, chosen, features.points, trial.tokens, read, tell))


if __name__ == "__main__":
    main(sys.argv[1:])

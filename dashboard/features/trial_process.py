"""The process that fits a trial, and how a thread of the server runs it: a worker has neither UMAP nor torch.

`python -m dashboard.features.trial_process DESCRIPTOR` takes one request from the connection of this descriptor. It tells
how far it is, then sends the picture. It ends with the other end of the connection, and after `LIMIT` seconds.
"""

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.features.trial import Trial, TrialPicture
from dashboard.web.admission import PAUSE
from dashboard.web.errors import Refusal, sentence_for
from dashboard.web.processes import environment, own_module
from store import open_corpus

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
    command = own_module("dashboard.features.trial_process", str(descriptor))
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
        if connection.poll(PAUSE):
            answer = connection.recv()
            if isinstance(answer, TrialPicture):
                return answer
            if isinstance(answer, Refusal):
                raise answer
            share, stage = answer
    raise Refusal(SLOW, 503)


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

"""The trials of a server: one is fitted at a time, in a process of its own (`ui/apart.py`), and kept for all readers."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.features.trial import Trial, TrialPicture, seed_of
from dashboard.ui.apart import Bounds, Tell, Turns, Watch, answer_apart, ask_apart
from dashboard.ui.work import Job
from dashboard.web.errors import Refusal
from dashboard.web.results import DiskCache, SharedResults
from dashboard.web.served_store import ServedStore
from dashboard.web.token_sets import TokenSets, opened_token_set
from store import Corpus, open_corpus
from store.features import Features

BOUNDS = Bounds(
    slow="The trial was stopped after 300 s. Choose fewer tokens or fewer neighbours.",
    large="The trial needs more memory than the server allows. Choose fewer tokens or fewer neighbours.",
    ended="The process that fits the trial has ended. Run it again.",
)
#: Threads of a worker that fit a trial or wait for one.
READERS = 3
#: Most bytes of the files of trials; a trial of 2,000 tokens at 20 points has 0.2 MB.
BUDGET = 32 << 20
#: Packages that the process needs beside those of a server.
NEEDED = ("umap", "torch")
MISSING = "Trying UMAP needs packages that this server lacks. Install the extra `ingest` on the server."
BUSY = "The server is busy with the trials of other readers. Try again in a minute."
FITS = "Starting UMAP"
#: Arrays of a review that was read and is in no store, by their keys.
Stored = Mapping[str, NDArray[np.uint8]]


@dataclass(frozen=True)
class Request:
    """A trial; its vectors are in the store, or in `stored`."""

    url: str
    snapshot: str
    model: str
    token_set: str
    trial: Trial
    seed: int
    stored: Stored | None = None


def fit_apart(request: Request, watch: Watch) -> TrialPicture:
    """Fit a trial in a process of its own."""
    picture = ask_apart("dashboard.features.trials", request, watch, BOUNDS)
    assert isinstance(picture, TrialPicture)
    return picture


class Trials:
    """Trials: held by this process, found in the files of a `folder` that all processes of the server share, or fitted.

    `token_sets` has the reviews that were read.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        token_sets: TokenSets,
        fit: Callable[..., TrialPicture] = fit_apart,
        *,
        budget: int = BUDGET,
        needed: Sequence[str] = NEEDED,
    ) -> None:
        self._token_sets = token_sets
        self._url, self._fit, self._needed = url, fit, needed
        self._results: SharedResults[TrialPicture] = SharedResults(DiskCache(folder / "trials", budget))
        self.turns = Turns(folder / "trial.lock", READERS, BUSY, BOUNDS.seconds)

    @classmethod
    def of(cls, served_store: ServedStore) -> "Trials":
        """The trials of a served store, in the folder of its server."""
        return cls(served_store.folder, served_store.url, served_store.service(TokenSets))

    def can_try(self) -> bool:
        """Whether this server can fit a trial."""
        return all(find_spec(name) for name in self._needed)

    def find(self, corpus: Corpus, features: Features, trial: Trial) -> TrialPicture | None:
        """The picture of a trial; None where the trial has not been fitted."""
        return self._results.find(_key(corpus, features, trial), _picture)

    def fitted(self, corpus: Corpus, features: Features, trial: Trial, job: Job) -> TrialPicture:
        """The picture of a trial, fitted when it is its turn. Raises `Refusal` where that is impossible, or no reader waits."""
        if (found := self.find(corpus, features, trial)) is not None:
            return found
        if not self.can_try():
            raise Refusal(MISSING, 503)
        with self.turns.turn(job):
            return self.find(corpus, features, trial) or self._made(corpus, features, trial, job)

    def _made(self, corpus: Corpus, features: Features, trial: Trial, job: Job) -> TrialPicture:
        job.begin(FITS)
        seed = seed_of(corpus) if trial.seed is None else trial.seed
        stored = self._token_sets.stored(corpus, features.name)
        request = Request(self._url, corpus.snapshot, corpus.name, features.name, trial, seed, stored)
        made = self._fit(request, job.watch)
        attributes = np.array(json.dumps(dict(made.attributes)))
        arrays: dict[str, NDArray[Any]] = {
            "coordinates": made.coordinates,
            "trustworthiness": made.trustworthiness,
            "attributes": attributes,
        }
        return self._results.add(_key(corpus, features, trial), made, arrays)


def _picture(arrays: Mapping[str, NDArray[Any]]) -> TrialPicture:
    """The picture of a trial from the arrays of a file."""
    return TrialPicture(arrays["coordinates"], arrays["trustworthiness"], json.loads(str(arrays["attributes"])))


def _key(corpus: Corpus, features: Features, trial: Trial) -> str:
    return sha256(f"{corpus.snapshot} {corpus.name} {features.name} {trial}".encode()).hexdigest()


def _fitted(request: Request, tell: Tell) -> TrialPicture:
    trial = request.trial
    corpus = open_corpus(request.url, snapshot=request.snapshot, model=request.model)
    stored = request.stored
    features = (
        corpus.features(request.token_set) if stored is None else opened_token_set(corpus, request.token_set, stored)
    )

    def read(point: int, tokens: int) -> NDArray[np.float32]:
        vectors: NDArray[Any] = features.feature.variable[point, :tokens].values
        return vectors.astype(np.float32)

    from ingest.projections.feature_pictures import try_picture  # UMAP and torch: only in this process
    from ingest.run.settings import Settings

    chosen = Settings(neighbors=trial.neighbors, min_dist=trial.min_dist, metric=trial.metric, seed=request.seed)
    return TrialPicture(*try_picture(trial.view, chosen, features.points, trial.tokens, read, tell))


if __name__ == "__main__":
    answer_apart(sys.argv[1], _fitted, BOUNDS)

"""Seconds of a trial of UMAP on page Features, its process included."""

import resource
from time import perf_counter

from dashboard.features.trial import Trial
from dashboard.features.trials import Request, fit_apart
from store import open_corpus
from store.schema.pictures import JOINT
from tests.bench.table import show


def trials(url: str, tokens: int = 2_000) -> None:
    """Print the seconds of trials on the output of the last layer and on all points together, each in a new process."""
    corpus = open_corpus(url)
    rows = [
        (
            fitted,
            *_seconds(
                Request(url, corpus.snapshot, corpus.name, "sample", Trial(15, 0.1, "euclidean", tokens, fitted), 0)
            ),
        )
        for fitted in (corpus.features("sample").points[-1], JOINT)
    ]
    show(f"trial of UMAP, {tokens:,} tokens", ("fitted on", "seconds", "seconds of a core", "until it fits"), rows)


def _seconds(request: Request) -> tuple[str, str, str]:
    """Seconds by the clock, of a core, and until the epochs begin."""
    began, before, fits = perf_counter(), _core(), [0.0]

    def watch(_share: float, stage: str | None) -> None:
        if stage == "Fitting UMAP" and not fits[0]:
            fits[0] = perf_counter() - began

    fit_apart(request, watch)
    return f"{perf_counter() - began:.1f}", f"{_core() - before:.1f}", f"{fits[0]:.1f}"


def _core() -> float:
    """Seconds of a core that ended processes have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

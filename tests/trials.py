"""A fit of a trial without UMAP: random places, as fast or as slow as a test needs."""

from threading import Event
from typing import Any

import numpy as np

from dashboard.features.trial import TrialPicture
from dashboard.features.trials import Request, Trials, Watch
from dashboard.web.served_store import ServedStore
from dashboard.web.token_sets import TokenSets
from store import open_corpus


class FakeFit:
    """A stand-in for `fit_apart`. A cleared `go_on` makes it wait, as long as somebody waits for the trial."""

    def __init__(self) -> None:
        self.go_on = Event()
        self.go_on.set()
        self.requests: list[Request] = []
        self.ended = Event()

    def __call__(self, request: Request, watch: Watch) -> TrialPicture:
        self.requests.append(request)
        try:
            watch(0.5, "Fitting UMAP")
            while not self.go_on.wait(0.02):
                watch(0.5, "Fitting UMAP")
        finally:
            self.ended.set()
        return picture_by_lot(request)


def picture_by_lot(request: Request) -> TrialPicture:
    points = open_corpus(request.url, snapshot=request.snapshot).features(request.token_set).points
    lot = np.random.default_rng(0)
    coordinates = lot.integers(0, 65536, (len(points), request.trial.tokens, 2)).astype(np.uint16)
    facts = {
        "title": request.trial.view.title,
        "fitted_on": "a few tokens at the place where it is",
        "placed": "by lot",
        "judged_on": "nothing",
    }
    return TrialPicture(coordinates, lot.random(len(points)), facts | {"parameters": {"neighbors": 15}})


def with_fake_fit(served_store: ServedStore, **limits: Any) -> FakeFit:
    """Replace the fits of a served store's trials by a `FakeFit`, with these limits of `Trials`."""
    fit = FakeFit()
    served_store.put(
        Trials, Trials(served_store.folder, served_store.url, served_store.service(TokenSets), fit, **limits)
    )
    return fit

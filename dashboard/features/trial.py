"""A trial: UMAP of the first tokens of a token set with parameters that a reader chose. It is not in the store."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.web.state import MOST_NEIGHBORS, MOST_SEED, MOST_TRIED, TRIAL, LinkState
from store import Corpus
from store.features import Features
from store.schema.features import SAMPLE
from store.schema.pictures import JOINT, LARGEST_COORDINATE, METRICS, ViewName

_NAME = re.compile(
    rf"{TRIAL}-(\d{{1,3}})-([01](?:\.\d{{1,6}})?)-({'|'.join(METRICS)})-(\d{{1,5}})-([\w.]+)(?:-(\d{{1,10}}))?"
)


@dataclass(frozen=True)
class Trial:
    """The parameters of a trial.

    Attributes
    ----------
    neighbors, min_dist, metric
        Parameters of UMAP.
    tokens
        Number of tokens: the first of the token set.
    fitted
        The feature point that UMAP is fitted on, or all points together (`joint`).
    seed
        Seed of UMAP; None for the seed of the ingest.
    """

    neighbors: int
    min_dist: float
    metric: str
    tokens: int
    fitted: str
    seed: int | None = None

    @classmethod
    def of(cls, state: LinkState, corpus: Corpus, features: Features) -> "Trial":
        """The trial of a link: by default fitted on the large panel's point, or on the output of the last layer."""
        point = state.point if state.point in features.points else features.points[-1]
        fitted = state.fit or point
        seed = None if state.seed == seed_of(corpus) else state.seed
        return cls(state.neighbors, state.mindist, state.metric, min(state.trial, features.n_tokens), fitted, seed)

    @classmethod
    def parse(cls, name: str, features: Features) -> "Trial | None":
        """The trial with this name; None where no trial of this token set has the name."""
        parts = _NAME.fullmatch(name)
        if parts is None:
            return None
        seed = None if parts[6] is None else int(parts[6])
        trial = cls(int(parts[1]), float(parts[2]), parts[3], int(parts[4]), parts[5], seed)
        return trial if trial._is_possible(features) else None

    def _is_possible(self, features: Features) -> bool:
        return (
            2 <= self.neighbors <= MOST_NEIGHBORS
            and self.min_dist <= 1
            and 1 <= self.tokens <= min(MOST_TRIED, features.n_tokens)
            and self.fitted in (JOINT, *features.points)
            and (self.seed or 0) <= MOST_SEED
        )

    def __str__(self) -> str:
        seed = "" if self.seed is None else f"-{self.seed}"
        return f"{TRIAL}-{self.neighbors}-{self.min_dist_text}-{self.metric}-{self.tokens}-{self.fitted}{seed}"

    @property
    def min_dist_text(self) -> str:
        """The minimum distance as links and flags write it."""
        return number_text(self.min_dist)

    @property
    def view(self) -> ViewName:
        """The picture that an ingest would make with these parameters."""
        return ViewName("umap", self.fitted)

    @property
    def fields(self) -> dict[str, str]:
        """Fields of the link that shows the trial; the other fields do not change."""
        return {"fview": TRIAL, "fit": self.fitted}

    @property
    def title(self) -> str:
        """Title of the trial among the pictures of the store."""
        return f"Trial: {self.view.title}"

    def command(self, corpus: Corpus, features: Features) -> str:
        """The command that makes this picture of all tokens, and no other picture."""
        reviews = "none" if features.name == SAMPLE else features.name.partition("-")[2]
        flags = {
            "views": corpus.views[0] if corpus.views else None,
            "features": str(self.view),
            "neighbors": self.neighbors,
            "min-dist": self.min_dist_text,
            "metric": self.metric,
            "reviews": reviews,
            "points": "fine" if features.attributes.get("points") == "fine" else None,
        }
        return " ".join(["headscape projections", *(f"--{flag}={value}" for flag, value in flags.items() if value)])


def seed_of(corpus: Corpus) -> int:
    """The seed of the ingest, as UMAP takes it."""
    settings = corpus.attributes.get("provenance", {}).get("settings", {})
    return int(settings.get("seed", 0)) % (MOST_SEED + 1)


def number_text(number: float) -> str:
    """A number with as many digits as it needs, at most six after the point."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class TrialPicture:
    """The picture that a trial has made.

    Attributes
    ----------
    coordinates
        Positions (point, token, component), 0 to `LARGEST_COORDINATE` in one cube, as in the store.
    trustworthiness
        Trustworthiness (point,), as in the store.
    attributes
        Attributes like those of a stored picture.
    """

    coordinates: NDArray[np.uint16]
    trustworthiness: NDArray[np.float64]
    attributes: Mapping[str, Any]

    @cached_property
    def _places(self) -> NDArray[np.float32]:
        return self.coordinates.astype(np.float32) / np.float32(LARGEST_COORDINATE)

    def places(self, tokens: int, point: int | None = None) -> NDArray[np.float32]:
        """Positions of the first tokens, 0 to 1: (point, token, component), at all points or at one."""
        return self._places[:, :tokens] if point is None else self._places[point : point + 1, :tokens]

"""Pictures of a material's feature points: every token at every point, in one cube."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import evenly
from ingest.projections.placing import Floats, Method
from ingest.threads import side_by_side
from store.kernels.fidelity import NEIGHBOURS, trustworthy
from store.kernels.projection import align
from store.schema.array import Array
from store.schema.features import EACH, FEATURE_VIEW_ARRAYS, JOINT, FeatureViewName

#: Vectors of all points together that a joint fit takes, and those of one point that another takes.
JOINT_VECTORS = {"pca": 40_000, "umap": 14_000, "tsne": 5_000}
POINT_VECTORS = {"pca": 20_000, "umap": 2_000, "tsne": 1_000}
#: So few tokens are fitted all.
FEW_TOKENS = 512
#: Tokens on which trustworthiness is found: it takes the square of their number.
TRUSTED_TOKENS = 1_000

#: Vectors (token, feature) of a point, by its number, of the first so many tokens.
Read = Callable[[int, int], NDArray[np.float32]]


@dataclass(frozen=True)
class FeaturePicture:
    """What a view consists of, and how it is made of the vectors that `read` gives of `tokens` tokens at `points`."""

    name: FeatureViewName
    method: Method
    points: Sequence[str]
    tokens: int
    read: Read

    group: ClassVar[str] = "views"
    arrays: ClassVar[Mapping[str, Array]] = FEATURE_VIEW_ARRAYS
    panels: ClassVar[int] = 0

    @property
    def key(self) -> str:
        """Its name in the store."""
        return str(self.name)

    @property
    def facts(self) -> dict[str, Any]:
        """Title, what it is fitted and judged on, and the rule for other tokens."""
        every = self.fitted_tokens == self.tokens
        tokens = f"{'all' if every else 'the first'} {self.fitted_tokens:,} tokens"
        where = {JOINT: "at all points together", EACH: "at each point for itself"}
        aligned = "; then turned and scaled onto the point before" if self.name.fitted == EACH else ""
        return {
            "title": self.name.title,
            "fitted_on": f"{tokens} {where.get(self.name.fitted) or f'at the point {self.name.fitted}'}",
            "placed": self.method.placed(of=" of the same point" if self.name.fitted == JOINT else "") + aligned,
            "judged_on": judged_on(self.method, self.tokens),
        }

    @property
    def fitted_tokens(self) -> int:
        """Of so many tokens, the first ones, the fit takes the vectors."""
        if self.name.fitted == JOINT:
            most = JOINT_VECTORS[self.method.kind] // len(self.points)
        else:
            most = POINT_VECTORS[self.method.kind]
        return min(self.tokens, max(most, FEW_TOKENS))

    @property
    def fitted_vectors(self) -> int:
        """What one fit takes: the tokens at one point, or at all."""
        return self.fitted_tokens * (len(self.points) if self.name.fitted == JOINT else 1)

    @cached_property
    def _begun(self) -> Callable[[], list[Floats]]:
        """The fits: one of all points or of the one that counts, or one of each."""
        few = [partial(self._fitted, point) for point in self._fitted_points()]
        return self.method.begin(
            [lambda: np.concatenate([read() for read in few])] if self.name.fitted == JOINT else few
        )

    def _fitted(self, point: int) -> Floats:
        return self.read(point, self.fitted_tokens)

    def begin(self) -> None:
        """Start the fits, so that other pictures need not wait for them."""
        _ = self._begun

    def places(self) -> Floats:
        """Where all tokens are at all points: (point, token, component)."""
        fits = self._begun()
        found = side_by_side(lambda point: self._place(point, fits), range(len(self.points)))
        if self.name.fitted == EACH:
            found = list(accumulate(found, lambda before, own: align(own, before)))
        return np.stack(found).astype(np.float32)

    def _fitted_points(self) -> list[int]:
        every = list(range(len(self.points)))
        return every if self.name.point is None else [self.points.index(self.name.point)]

    def _place(self, point: int, fits: list[Floats]) -> Floats:
        """Places (token, component) at a point; a fitted token keeps its own."""
        vectors, fit = self.read(point, self.tokens), fits[point if self.name.fitted == EACH else 0]
        if self.method.exact:
            return self.method.place(vectors, fit, vectors)
        source = self._fitted_points()[0] if self.name.point else point
        fitted = self._fitted(source)
        if self.name.fitted == JOINT:
            fit = fit[point * len(fitted) :][: len(fitted)]
        places = self.method.place(vectors, fit, fitted)
        if source == point:
            places[: len(fitted)] = fit
        return places

    def trustworthiness(self, places: Floats) -> NDArray[np.float64]:
        """Of every point: (point,)."""
        chosen = evenly(self.tokens, TRUSTED_TOKENS)

        def judge(point: int) -> float:
            vectors = self.read(point, self.tokens)[chosen]
            return trustworthy(vectors, places[point, chosen], metric=self.method.metric)

        return np.array(side_by_side(judge, range(len(self.points))))


def judged_on(method: Method, tokens: int) -> str:
    """On what trustworthiness is found, for a person."""
    judged = min(tokens, TRUSTED_TOKENS)
    return f"{NEIGHBOURS} neighbours by {method.metric} distance among {judged:,} tokens"

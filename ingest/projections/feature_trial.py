"""UMAP of feature points as a reader tries it: the picture that an ingest with these settings makes of the first tokens.

It is fitted in this process, which tells how far it is; nothing is written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.projections.cubes import Cubes
from ingest.projections.feature_pictures import FeaturePicture, Read
from ingest.projections.manifolds import fit_points
from ingest.projections.methods import COMPONENTS, Floats, Method, feature_method
from ingest.projections.projection_settings import PROJECTIONS
from ingest.run.settings import Settings
from store.schema.pictures import ViewName

KIND = "umap"
#: Share of the time that has passed when the modules are imported, when the epochs of UMAP begin (until then its functions
#: are compiled), when they end, and when all tokens are placed.
IMPORTED, LOADED, FITTED, PLACED = 0.1, 0.84, 0.93, 0.96

#: Takes the share that is done, 0 to 1, and what is done now.
Tell = Callable[[float, str], object]


@dataclass(frozen=True)
class ToldMethod(Method):
    """UMAP in this process, which tells how far it is."""

    tell: Tell = field(compare=False)

    def fit(self, vectors: Floats) -> Floats:
        """The places (vector, component)."""

        def epochs(share: float) -> None:
            self.tell(LOADED + share * (FITTED - LOADED), "Fitting UMAP")

        fit = fit_points(vectors, PROJECTIONS[self.kind].fit, COMPONENTS, self.seed, self.settings, tell=epochs)
        self.tell(FITTED, "Placing the tokens")
        return fit

    def begin(self, sets: Sequence[Callable[[], Floats]]) -> Callable[[], list[Floats]]:
        """Fit each set where the result is called, in this thread."""
        return lambda: [self.fit(read()) for read in sets]


def try_picture(
    name: ViewName, settings: Settings, points: Sequence[str], tokens: int, read: Read, tell: Tell
) -> tuple[NDArray[np.uint16], NDArray[np.float64], dict[str, Any]]:
    """Coordinates (point, token, component) in their cube, trustworthiness (point,), and the facts as the store has them."""
    tell(IMPORTED, "Starting UMAP")
    own = feature_method(settings, KIND)
    picture = FeaturePicture(name, ToldMethod(own.kind, own.seed, own.settings, tell), points, tokens, read)
    places = picture.places()
    tell(PLACED, "Measuring trustworthiness")
    trust = picture.trustworthiness(places)
    coordinates, _ = Cubes.around(places, panels=picture.panels).encode(places)
    return coordinates, trust, picture.facts | {"parameters": picture.method.parameters(picture.fitted_vectors)}

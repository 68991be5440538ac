"""A review of the data that a reader asks for after the ingest, read as an ingest reads a whole review.

Nothing is written into the store. Pictures are those that take no time: a formula places every token.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.storage import MemoryStore

from ingest.encode.feature_points import PointModel, read_point, write_token_set
from ingest.encode.loading import find_device
from ingest.encode.sample import has_review, review_token_set
from ingest.projections.feature_pictures import FeatureDrawing, FeaturePicture, Picture, ValuePicture
from ingest.projections.projection import Projection
from ingest.run.checkpoint import Checkpoint
from ingest.run.settings import Settings
from ingest.text.reviews import Reviews
from store import Corpus
from store.repository.arrays import array_of
from store.schema.features import SAMPLE
from store.schema.pictures import EACH, JOINT, ViewName

Tell = Callable[[float, str], object]


class PointReader:
    """A checkpoint with hooks at its feature points, ready to read reviews of the data of a corpus."""

    def __init__(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        fine = SAMPLE in corpus.token_sets and corpus.features(SAMPLE).attributes.get("points") == "fine"
        self._corpus, self._checkpoint = corpus, checkpoint
        self._model = PointModel(checkpoint, device=find_device("auto"), fine=fine)

    def has_words(self, reviews: Reviews, number: int) -> bool:
        """Whether the review has wordpieces."""
        return has_review(self._checkpoint, reviews, number)

    def read(self, reviews: Reviews, number: int, tell: Tell) -> Mapping[str, NDArray[np.uint8]]:
        """Content of a zarr store of a review, by its keys: the group of a token set, as an ingest with --reviews writes it."""
        content: dict[str, Any] = {}
        root = zarr.open_group(MemoryStore(content), mode="w", zarr_format=3)
        group = root.require_group(f"models/{self._corpus.name}/features/review-{number}")
        tell(0.6, "Running the model over the review")
        splitter = str(self._corpus.corpus_attributes["splitter"])
        token_set = review_token_set(self._checkpoint, reviews, number, splitter=splitter)
        write_token_set(group, token_set, self._model, features_hash=f"{self._corpus.snapshot} {number}")
        tell(0.8, "Drawing its tokens")
        for picture in _pictures(group):
            drawing = FeatureDrawing(lambda: group, picture, "")
            for _ in drawing.draw():
                pass
            drawing.finish()
        return {key: np.frombuffer(buffer.to_bytes(), np.uint8) for key, buffer in content.items()}


def _pictures(group: zarr.Group) -> list[Picture]:
    """Pictures of all feature points, and of the values of every head."""
    feature, exact = array_of(group, "feature"), Projection.of_points(Settings(), "pca")
    points = [str(point) for point in np.asarray(array_of(group, "point")[:])]
    read = partial(read_point, feature)
    names = [ViewName("pca", fitted) for fitted in (JOINT, EACH)]
    of_points = [FeaturePicture(name, exact, points, feature.shape[1], read) for name in names]
    return [*of_points, ValuePicture(exact, array_of(group, "value"))]

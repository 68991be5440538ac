"""Stage `features`: the vectors of every token set at the feature points, brought up to date.

A token set is the sample of the corpus or a whole review. It is written whole in one transaction; with it go its
pictures, which `ingest.projections` draws again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.point_vectors import PointModel, write_measures, write_vectors
from ingest.encode.sample import (
    Sample,
    TokenSet,
    find_review,
    has_review,
    review_token_set,
    sample_token_set,
    take_sentences,
)
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint, held_token_sets
from ingest.run.errors import IngestError
from ingest.run.limits import USUAL, Limits
from ingest.run.progress import say
from ingest.run.settings import Settings
from ingest.text.blocks import PlannedCorpus, content_hash
from ingest.text.corpus import label_names
from ingest.text.reviews import Data, Reviews, read_reviews
from store.repository.writer import Writer
from store.schema.features import SAMPLE, point_names
from store.schema.pictures import ViewName

if TYPE_CHECKING:
    import torch

VERSION = "features/1"


def check_features(settings: Settings, checkpoint: Checkpoint, data: Data) -> None:
    """Refuse a point or a review that does not exist at once, not after the hours of an ingest."""
    points = point_names(int(checkpoint.config["num_hidden_layers"]), fine=settings.points == "fine")
    for name in settings.feature_names:
        if name.point and name.point not in points:
            raise IngestError(
                f"{checkpoint.name} has no feature point {name.point}. Give one of {', '.join(points[:5])} to {points[-1]}, "
                "or --points=fine for more."
            )
    if not settings.feature_names or settings.reviews is None:
        return
    held = held_token_sets(settings.store, checkpoint, data.identity)
    missing = [number for number in settings.review_numbers if _name(number) not in held]
    if missing:
        reviews = read_reviews(data, text=settings.text, label=settings.label)
        for number in missing:
            find_review(checkpoint, reviews, number)


def _name(review: int) -> str:
    return f"review-{review}"


@dataclass(frozen=True)
class FeaturePoints:
    """The token sets of one model on one corpus."""

    writer: Writer
    model: ModelGroup
    corpus: PlannedCorpus
    sample: Sample
    settings: Settings
    checkpoint: Checkpoint
    data: Data
    device: "torch.device"
    limits: Limits = USUAL

    @property
    def path(self) -> str:
        """Group of the token sets in the store."""
        return f"{self.model.path}/features"

    def group(self, name: str) -> zarr.Group:
        """The group of a token set in the current transaction."""
        return self.writer.group(f"{self.path}/{name}")

    def token_sets(self) -> list[str]:
        """Names of the token sets in the settings, and of those that have pictures: they follow a changed corpus."""
        if not self.settings.feature_names:
            return []
        held: Any = self.writer.group(self.path).attrs.get("materials", [])
        return list(dict.fromkeys([*self.wanted, *filter(self.views_there, held)]))

    @cached_property
    def wanted(self) -> list[str]:
        """Names of the token sets in the settings."""
        return [SAMPLE, *map(_name, self._wanted_reviews())]

    def views_there(self, name: str) -> list[ViewName]:
        """Pictures of a token set, also those that an interrupted ingest has not drawn again."""
        attributes: Any = self.group(name).attrs
        views = dict.fromkeys([*attributes.get("views", []), *attributes.get("views_before", [])])
        return [ViewName.parse_points(view) for view in views]

    def write(self, views: Mapping[str, list[ViewName]]) -> None:
        """Bring token sets up to date, by name with their pictures."""
        for name, own in views.items():
            if self.features_hash(name) != self.group(name).attrs.get("features_hash"):
                self._write(name, own)

    def _wanted_reviews(self) -> list[int]:
        """The default is left out where the data has no such review, or nothing in it."""
        numbers = self.settings.review_numbers
        if self.settings.reviews is not None or _name(numbers[0]) in self.writer.group(self.path):
            return numbers
        return [number for number in numbers if has_review(self.checkpoint, self._reviews, number)]

    @cached_property
    def _reviews(self) -> Reviews:
        reviews = read_reviews(self.data, text=self.settings.text, label=self.settings.label)
        return reviews.numbered_as(label_names(self.writer.group(f"corpus/{self.corpus.key}")))

    @cached_property
    def _fine(self) -> bool:
        """Also where they were computed before: a store never loses points."""
        held: Any = self.writer.group(self.path).attrs.get("points")
        return "fine" in (self.settings.points, held)

    def features_hash(self, name: str) -> str:
        """Hash of everything the vectors of a token set depend on. The model's identity includes corpus and data."""
        identity = dict(self.model.identity) | {"version": VERSION, "fine": self._fine, "material": name}
        return str(content_hash(identity, *([self._sample_hash] if name == SAMPLE else [])))

    @cached_property
    def _sample_hash(self) -> NDArray[np.uint64]:
        """Of its sentences themselves, not of their blocks, whose last gets more when the corpus grows."""
        sentences = take_sentences(self.corpus, np.arange(self.sample.sentences))
        return np.array([self.model.block_hash(sentences)], np.uint64)

    def _token_set(self, name: str) -> TokenSet:
        if name == SAMPLE:
            return sample_token_set(self.writer, self.corpus, self.sample)
        splitter = str(self.writer.group(f"corpus/{self.corpus.key}").attrs["splitter"])
        number = int(name.removeprefix("review-"))
        return review_token_set(self.checkpoint, self._reviews, number, splitter=splitter)

    @cached_property
    def _model(self) -> PointModel:
        settings, largest = self.settings, self.limits.largest_feature
        return PointModel(
            self.checkpoint, device=self.device, fine=self._fine, batch_tokens=settings.batch, largest=largest
        )

    def _write(self, name: str, views: list[ViewName]) -> None:
        """A token set anew, in one transaction; with it go its pictures."""
        token_set, parent = self._token_set(name), self.writer.group(self.path)
        if name in parent:
            self.writer.delete(f"{self.path}/{name}")
        group = self.group(name)
        clipped = write_vectors(group, token_set, self._model)
        if clipped:
            say(f"Clipped {clipped:,} numbers of the feature points to the range of float16.")
        write_measures(group, token_set)
        group.attrs.update(
            token_set.facts
            | {
                "tokens": token_set.block.tokens,
                "points": "fine" if self._fine else "standard",
                "clipped": clipped,
                "views": [],
                "value_views": [],
                "views_before": list(map(str, views)),
                "version": VERSION,
                "features_hash": self.features_hash(name),
            }
        )
        held: Any = parent.attrs.get("materials", [])
        parent.attrs.update({"materials": list(dict.fromkeys([*held, name])), "points": group.attrs["points"]})
        self.writer.commit(f"{self.model.key}: feature points of {name}, {token_set.block.tokens:,} tokens")

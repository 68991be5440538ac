"""Stage `features`: bring the feature points of every material up to date, then picture by picture.

A material is written and committed whole, and so is each of its pictures: there is no moment at which the branch holds a
half of one. What is named in the group's attributes is whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.checkpoint import Checkpoint
from ingest.encode.material import Material, find_review, has_review, review_material, sample_material
from ingest.encode.point_vectors import read_point, write_measures, write_vectors
from ingest.encode.sample import Sample, take_sentences
from ingest.encode.tensors import ModelGroup
from ingest.errors import IngestError
from ingest.projections.drawing import Picture, draw, is_drawn
from ingest.projections.feature_pictures import FeaturePicture
from ingest.projections.placing import Method
from ingest.projections.value_pictures import FITTED_TOKENS, ValuePicture
from ingest.seeds import seed32
from ingest.settings import Settings
from ingest.text.blocks import content_hash
from ingest.text.corpus import PlannedCorpus, label_names
from ingest.text.reviews import Data, Reviews, read_reviews
from store.repository.arrays import array_of
from store.repository.writer import Writer
from store.schema.features import SAMPLE, FeatureViewName, point_names

if TYPE_CHECKING:
    import torch

    from ingest.encode.point_model import PointModel

VERSION = "features/1"
#: Of t-SNE.
PERPLEXITY, STEPS = 30, 500


def check_features(settings: Settings, checkpoint: Checkpoint, data: Data) -> None:
    """Say at once, not after the hours of an ingest, that there is no such point or review."""
    points = point_names(int(checkpoint.config["num_hidden_layers"]), fine=settings.points == "fine")
    for name in settings.feature_names:
        if name.point and name.point not in points:
            raise IngestError(
                f"{checkpoint.name} has no feature point {name.point}. Give one of {', '.join(points[:5])} to {points[-1]}, "
                "or POINTS=fine for more."
            )
    if settings.feature_names and settings.reviews is not None and settings.review_numbers:
        reviews = read_reviews(data, text=settings.text, label=settings.label)
        for number in settings.review_numbers:
            find_review(checkpoint, reviews, number)


@dataclass(frozen=True)
class FeatureStage:
    """What the stage works with, for one model on one corpus."""

    writer: Writer
    model: ModelGroup
    corpus: PlannedCorpus
    sample: Sample
    settings: Settings
    checkpoint: Checkpoint
    data: Data
    device: "torch.device"

    @property
    def path(self) -> str:
        """Where the materials stand in the store."""
        return f"{self.model.path}/features"

    def bring_up_to_date(self) -> Iterator[None]:
        """Every material with its pictures; yields whenever there is more to see."""
        if not self.settings.feature_names:
            return
        there = {name: self._views_there(name) for name in self._materials()}
        for name in there:
            if self._made_of(name) != self._group(name).attrs.get("features_hash"):
                self._write(name, there[name])
        pending = [(name, one) for name, views in there.items() for one in self._pending(name, views)]
        for _, picture in pending:
            picture.begin()
        for name, picture in pending:
            draw(self._group(name), picture)
            self.writer.commit(f"{self.model.key}: {picture.key} of {name}")
            yield

    def _group(self, name: str) -> zarr.Group:
        return self.writer.group(f"{self.path}/{name}")

    # -- materials ----------------------------------------------------------------------------------

    def _materials(self) -> list[str]:
        """Those asked for, and those that have pictures, which must not stay behind."""
        held: Any = self.writer.group(self.path).attrs.get("materials", [])
        return list(dict.fromkeys([*self._asked, *filter(self._views_there, held)]))

    @cached_property
    def _asked(self) -> list[str]:
        return [SAMPLE, *(f"review-{number}" for number in self._reviews_asked())]

    def _reviews_asked(self) -> list[int]:
        """The default is left out where the data has no such review, or nothing in it."""
        numbers = self.settings.review_numbers
        if self.settings.reviews is not None or f"review-{numbers[0]}" in self.writer.group(self.path):
            return numbers
        return [number for number in numbers if has_review(self.checkpoint, self._reviews, number)]

    @cached_property
    def _reviews(self) -> Reviews:
        reviews = read_reviews(self.data, text=self.settings.text, label=self.settings.label)
        return reviews.numbered_as(label_names(self.writer.group(f"corpus/{self.corpus.key}")))

    @cached_property
    def _fine(self) -> bool:
        """Also where they were asked for before: what is held is never made smaller."""
        held: Any = self.writer.group(self.path).attrs.get("points")
        return "fine" in (self.settings.points, held)

    def _made_of(self, name: str) -> str:
        """Changes when the vectors would. The model's identity has the corpus in it, and with that the data."""
        identity = dict(self.model.identity) | {"version": VERSION, "fine": self._fine, "material": name}
        return str(content_hash(identity, *([self._sample_hash] if name == SAMPLE else [])))

    @cached_property
    def _sample_hash(self) -> NDArray[np.uint64]:
        """Of its sentences themselves, not of their blocks, whose last gets more when the corpus grows."""
        sentences = take_sentences(self.corpus, np.arange(self.sample.sentences))
        return np.array([self.model.block_hash(sentences)], np.uint64)

    def _material(self, name: str) -> Material:
        if name == SAMPLE:
            return sample_material(self.writer, self.corpus, self.sample)
        return review_material(self.checkpoint, self._reviews, int(name.removeprefix("review-")))

    @cached_property
    def _model(self) -> "PointModel":
        from ingest.encode.point_model import PointModel

        return PointModel(self.checkpoint, device=self.device, fine=self._fine, batch_tokens=self.settings.batch)

    def _write(self, name: str, views: list[FeatureViewName]) -> None:
        """A material anew, in one transaction; with it go its views, which have to be drawn again."""
        material, parent = self._material(name), self.writer.group(self.path)
        if name in parent:
            self.writer.delete(f"{self.path}/{name}")
        group = self._group(name)
        clipped = write_vectors(group, material, self._model)
        if clipped:
            print(
                f"{clipped:,} numbers of the feature points are beyond the range of float16 and were clipped.",
                flush=True,
            )
        write_measures(group, material)
        group.attrs.update(
            material.facts
            | {
                "tokens": material.block.tokens,
                "points": "fine" if self._fine else "standard",
                "clipped": clipped,
                "views": [],
                "value_views": [],
                "views_before": list(map(str, views)),
                "version": VERSION,
                "features_hash": self._made_of(name),
            }
        )
        held: Any = parent.attrs.get("materials", [])
        parent.attrs.update({"materials": list(dict.fromkeys([*held, name])), "points": group.attrs["points"]})
        self.writer.commit(f"{self.model.key}: feature points of {name}, {material.block.tokens:,} tokens")

    # -- pictures -----------------------------------------------------------------------------------

    def _views_there(self, name: str) -> list[FeatureViewName]:
        """Also those that an interrupted ingest has not drawn again."""
        attributes: Any = self._group(name).attrs
        views = dict.fromkeys([*attributes.get("views", []), *attributes.get("views_before", [])])
        return [FeatureViewName.parse(view) for view in views]

    def _pending(self, name: str, there: list[FeatureViewName]) -> list[Picture]:
        """Of those asked for, and those that went when the material was written anew, what is not drawn."""
        group = self._group(name)
        held: Any = group.attrs["views"]
        feature = array_of(group, "feature")
        points = [str(point) for point in np.asarray(array_of(group, "point")[:])]
        asked = self.settings.feature_names if name in self._asked else []
        names = dict.fromkeys([*asked, *(view for view in there if str(view) not in held)])
        if not names:
            return []
        pictures: list[Picture] = [
            FeaturePicture(view, self._method(view.projection), points, feature.shape[1], partial(read_point, feature))
            for view in names
        ]
        values: Any = group.attrs["value_views"]
        lost = {view.projection for view in there} - set(values)
        kinds = {"pca", *lost, *(view.projection for view in names)}
        pictures += [
            ValuePicture(self._method(kind), array_of(group, "value")) for kind in FITTED_TOKENS if kind in kinds
        ]
        return [picture for picture in pictures if not is_drawn(group, picture)]

    def _method(self, projection: str) -> Method:
        """PCA has neither settings nor a seed."""
        if projection == "pca":
            return Method(projection, 0, {})
        own: dict[str, dict[str, Any]] = {
            "tsne": {"perplexity": PERPLEXITY, "steps": STEPS},
            "umap": {"neighbors": self.settings.neighbors, "min_dist": self.settings.min_dist},
        }
        return Method(projection, seed32(self.settings.seed), own[projection] | {"metric": self.settings.metric})

"""Hashes in stores of earlier versions: a changed hash would compute their pictures again for nothing."""

from typing import Any

import numpy as np
import pytest
import torch
import zarr

from ingest.encode.feature_points import FeaturePoints
from ingest.encode.sample import split_sentences
from ingest.encode.tensors import ModelGroup
from ingest.projections.feature_pictures import FeaturePicture, ValuePicture, view_hash
from ingest.projections.head_view import HeadVectors
from ingest.projections.projection import Projection
from ingest.run.checkpoint import Checkpoint
from ingest.run.settings import DEFAULT_VIEWS, Settings
from ingest.text.blocks import PlannedCorpus, plan
from ingest.text.reviews import Data
from store.schema.pictures import ViewName

#: Hashes that Headscape 0.2 computed.
FITS = {
    "pca-exact-2d": 10349612490422728587,
    "attention-raw-2d": 5023225689552044960,
    "pca-exact-3d": 6158411019392344422,
    "attention-raw-3d": 10782721570868157014,
    "pca-raw-2d": 12819003292426988405,
    "pca-centroid-2d": 3280607317186440418,
    "pca-scaled-2d": 16458792403291409826,
    "pca-sphere-2d": 3533369864324310179,
    "pca-shared-2d": 1291457394470189796,
    "attentionviz-centroid-2d": 7446998599820986246,
    "tsne-raw-2d": 14035946849319694140,
    "umap-raw-2d": 11691976798516286054,
    "tsne-raw-3d": 17026167013559267701,
    "umap-raw-3d": 13654305238309087040,
}
VIEWS = {
    "pca-joint": "3381654849015436754",
    "umap-joint": "14667026475713196044",
    "tsne-each": "10617106872828944790",
    "umap-L00.mixed": "11329052107323111461",
}
VALUES = {"pca": "7105154723108617388", "umap": "2751647933847490594"}
MATERIALS = {"sample": "10483864234875691391", "review-3": "934112050733145233"}

SETTINGS = Settings(seed=7, neighbors=20, min_dist=0.2, metric="cosine", points="fine")
MODEL = ModelGroup("model", {"weights": "abc"})


class EmptyStore:
    """A writer's store in which every group is empty."""

    def group(self, _path: str) -> zarr.Group:
        return zarr.open_group({}, mode="a")


@pytest.fixture(scope="module")
def corpus() -> PlannedCorpus:
    """A planned corpus of 300 sentences of 10 tokens, in 3 blocks."""
    tokens = np.arange(3000, dtype=np.int32)
    blocks = plan(np.full(300, 10, np.int32), tokens, np.zeros(3000, np.uint8), length=1024)
    return PlannedCorpus("corpus", blocks)


@pytest.fixture(scope="module")
def head_vectors() -> zarr.Group:
    group = zarr.open_group({}, mode="w")
    group.attrs["features_hash"] = "123"
    return group


def test_fits_of_heads_are_those_of_stored_pictures(corpus: PlannedCorpus) -> None:
    writer: Any = EmptyStore()
    head_vectors = HeadVectors(writer, MODEL, corpus, split_sentences(corpus), seed=7, device="cpu")
    assert {name: head_vectors.fit_hash(ViewName.parse(name)) for name in DEFAULT_VIEWS} == FITS


def test_pictures_of_feature_points_are_those_of_stored_ones(head_vectors: zarr.Group) -> None:
    names = [ViewName.parse_points(name) for name in VIEWS]
    pictures = [
        FeaturePicture(name, Projection.of_points(SETTINGS, name.projection), [], 0, lambda *_: np.zeros(0))
        for name in names
    ]
    assert {picture.key: view_hash(head_vectors, picture) for picture in pictures} == VIEWS


def test_pictures_of_values_are_those_of_stored_ones(head_vectors: zarr.Group) -> None:
    value = zarr.create_array({}, shape=(1, 1, 1, 1), dtype="f2")
    pictures = [ValuePicture(Projection.of_points(SETTINGS, kind), value) for kind in VALUES]
    assert {picture.key: view_hash(head_vectors, picture) for picture in pictures} == VALUES


def test_vectors_at_feature_points_are_those_of_stored_token_sets(corpus: PlannedCorpus) -> None:
    writer: Any = EmptyStore()
    checkpoint, data = Checkpoint.__new__(Checkpoint), Data.__new__(Data)
    sample = split_sentences(corpus).fitted
    points = FeaturePoints(writer, MODEL, corpus, sample, SETTINGS, checkpoint, data, torch.device("cpu"))
    assert {name: points.features_hash(name) for name in MATERIALS} == MATERIALS

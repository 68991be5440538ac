"""Stage `features`: the vectors of every token set at the feature points, brought up to date.

A token set is the sample of the corpus or a whole review. It is written whole in one transaction, which deletes
its pictures; `ingest.projections` draws these again. Vectors are computed in float32 whatever dtype encoded the corpus, and
written shard by shard, then similarity and explained variance of the points.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from os import cpu_count
from typing import Any

import numpy as np
import torch
import zarr
from numpy.typing import NDArray

from ingest.encode.encoder import BATCH_TOKENS
from ingest.encode.hooked_model import HookedModel
from ingest.encode.loading import class_names, classifier_class, load_model
from ingest.encode.sample import (
    Sample,
    TokenSet,
    evenly,
    find_review,
    has_review,
    review_token_set,
    sample_token_set,
    take_sentences,
)
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint, held_token_sets
from ingest.run.errors import IngestError
from ingest.run.parallel import one_thread_each, side_by_side
from ingest.run.progress import bar, say
from ingest.run.settings import USUAL, Limits, Settings
from ingest.text.blocks import Batch, Block, PlannedCorpus, content_hash, make_batches
from ingest.text.corpus import label_names
from ingest.text.reviews import Data, Reviews, read_reviews
from store.kernels.features import explained_share, linear_cka, summed_cosine
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema import BLOCK, TILE
from store.schema.features import CLASS_PROBABILITY, FACTORS, FEATURE_ARRAYS, SAMPLE, point_names
from store.schema.pictures import ViewName

VERSION = "features/1"
#: Tokens on which CKA is computed: it takes a product of matrices for every two points.
CKA_TOKENS = 5_000
#: Tokens whose vectors at all points are in memory at once while they are compared.
COMPARED_TOKENS = 1_000


def check_features(settings: Settings, checkpoint: Checkpoint, data: Data) -> None:
    """Refuse at once a point or a review that does not exist, not after the hours of an ingest."""
    points = point_names(checkpoint.family.size(checkpoint.config, "num_hidden_layers"), fine=settings.points == "fine")
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
        """Bring token sets up to date; `views` holds the pictures of each by its name."""
        for name, own in views.items():
            if self.features_hash(name) != self.group(name).attrs.get("features_hash"):
                self._write(name, own)

    def _wanted_reviews(self) -> list[int]:
        """Numbers of the reviews to compute; the default is left out where the data has no such review, or an empty one."""
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
        """Whether fine points are computed: by the settings, or because the store has them and never loses points."""
        held: Any = self.writer.group(self.path).attrs.get("points")
        return "fine" in (self.settings.points, held)

    def features_hash(self, name: str) -> str:
        """Hash of everything the vectors of a token set depend on. The model's identity includes corpus and data."""
        identity = dict(self.model.identity) | {"version": VERSION, "fine": self._fine, "material": name}
        return str(content_hash(identity, *([self._sample_hash] if name == SAMPLE else [])))

    @cached_property
    def _sample_hash(self) -> NDArray[np.uint64]:
        """Hash of the sample's sentences, not of their blocks: the last block gets more sentences when the corpus grows."""
        sentences = take_sentences(self.corpus, np.arange(self.sample.sentences))
        return np.array([self.model.block_hash(sentences)], np.uint64)

    def _token_set(self, name: str) -> TokenSet:
        if name == SAMPLE:
            return sample_token_set(self.writer, self.corpus, self.sample)
        splitter = str(self.writer.group(f"corpus/{self.corpus.key}").attrs["splitter"])
        number = int(name.removeprefix("review-"))
        return review_token_set(self.checkpoint, self._reviews, number, splitter=splitter)

    @cached_property
    def _model(self) -> "PointModel":
        settings, largest = self.settings, self.limits.largest_feature
        return PointModel(
            self.checkpoint, device=self.device, fine=self._fine, batch_tokens=settings.batch, largest=largest
        )

    def _write(self, name: str, views: list[ViewName]) -> None:
        """Write a token set anew in one transaction, which deletes its pictures."""
        token_set, parent = self._token_set(name), self.writer.group(self.path)
        if name in parent:
            self.writer.delete(f"{self.path}/{name}")
        group = self.group(name)
        write_token_set(group, token_set, self._model, features_hash=self.features_hash(name), views_before=views)
        held: Any = parent.attrs.get("materials", [])
        parent.attrs.update({"materials": list(dict.fromkeys([*held, name])), "points": group.attrs["points"]})
        self.writer.commit(f"{self.model.key}: feature points of {name}, {token_set.block.tokens:,} tokens")


@dataclass(frozen=True)
class FeatureVectors:
    """Vectors at the feature points, of some inputs.

    Attributes
    ----------
    feature
        (point, token, feature).
    value
        (layer, head, token, channel).
    class_probability
        (sentence, class), without classes where the model is no classifier.
    clipped
        Count of numbers beyond the range of float16, which were clipped to it.
    """

    feature: NDArray[np.float16]
    value: NDArray[np.float16]
    class_probability: NDArray[np.float32]
    clipped: int


class PointModel:
    """A loaded checkpoint with hooks at its feature points, and its classifier if it has one."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: torch.device,
        fine: bool,
        batch_tokens: int | None = None,
        largest: float = Limits.largest_feature,
    ) -> None:
        self.model = HookedModel(checkpoint, device=device, dtype=torch.float32)
        self.fine = fine
        self._largest = largest
        self._batch_tokens = batch_tokens or BATCH_TOKENS[device.type]
        self.points = point_names(self.model.layers, fine=fine)
        self.model.listen_at_points(self.points)
        self.class_names = class_names(checkpoint)
        self._family = checkpoint.family
        self._classifier = (
            load_model(checkpoint, classifier_class(checkpoint)).to(device).eval() if self.class_names else None
        )

    def run(self, block: Block) -> FeatureVectors:
        """Vectors at the feature points of every sentence of the block, by one forward pass."""
        features, layers = self.model.heads * self.model.channels, self.model.layers
        feature = np.empty((len(self.points), block.tokens, features), np.float16)
        value = np.empty((layers, self.model.heads, block.tokens, self.model.channels), np.float16)
        probability = np.empty((block.sentences, len(self.class_names)), np.float32)
        into = FeatureVectors(feature, value, probability, 0)
        batches = make_batches(block, tokens=self._batch_tokens)
        first = np.cumsum(block.lengths) - block.lengths
        workers = cpu_count() if self.model.device.type == "cpu" else 1
        with one_thread_each(workers), ThreadPoolExecutor(workers, "features") as pool:
            clipped = sum(pool.map(lambda batch: self._run(batch, first, into), batches))
        return FeatureVectors(feature, value, probability, clipped)

    def _run(self, batch: Batch, first: NDArray[np.integer], into: FeatureVectors) -> int:
        """Store the vectors of a batch; returns the count of clipped numbers."""
        token_ids, real = (torch.from_numpy(array).to(self.model.device) for array in (batch.token_ids, batch.real))
        capture = self.model.run(token_ids, None if batch.real.all() else real)
        clipped = 0
        for number, point in enumerate(self.points):
            into.feature[number, batch.rows], beyond = as_half(capture.points[point][real], self._largest)
            clipped += beyond
        for layer, value in enumerate(capture.value):
            half, beyond = as_half(value[real], self._largest)
            into.value[layer][:, batch.rows] = half.swapaxes(0, 1)
            clipped += beyond
        if self._classifier is not None:
            sentences = np.searchsorted(first, batch.rows[np.cumsum(batch.real.sum(axis=1)) - 1], side="right") - 1
            into.class_probability[sentences] = self._classify(capture.points[self.points[-1]], real)
        return clipped

    def _classify(self, last: torch.Tensor, real: torch.Tensor) -> NDArray[np.float32]:
        """Probabilities (sentence, class) from the last vectors (sentence, token, feature)."""
        assert self._classifier is not None
        with torch.inference_mode():
            logits = self._family.guess_labels(self._classifier, last, real)
            probability: NDArray[np.float32] = torch.softmax(logits, dim=-1).cpu().numpy()
        return probability


def as_half(vectors: torch.Tensor, largest: float) -> tuple[NDArray[np.float16], int]:
    """The vectors clipped to the largest number, in float16, and how many numbers were clipped."""
    beyond = int((vectors.abs() > largest).sum())
    return vectors.clamp(-largest, largest).half().cpu().numpy(), beyond


def parts(block: Block, *, tokens: int) -> Iterator[Block]:
    """The sentences of a block in parts of at most `tokens` tokens, or of one longer sentence."""
    stops = np.cumsum(block.lengths)
    start = 0
    while start < block.sentences:
        before = int(stops[start] - block.lengths[start])
        stop = max(start + 1, int(np.searchsorted(stops, before + tokens, side="right")))
        rows = slice(before, int(stops[stop - 1]))
        yield Block(
            0, rows.stop - rows.start, block.lengths[start:stop], block.token_ids[rows], block.token_flags[rows]
        )
        start = stop


def write_token_set(
    group: zarr.Group,
    token_set: TokenSet,
    model: PointModel,
    *,
    features_hash: str,
    views_before: Sequence[ViewName] = (),
) -> None:
    """Fill an empty group with a token set: everything but its pictures."""
    clipped = write_vectors(group, token_set, model)
    if clipped:
        say(f"Clipped {clipped:,} numbers of the feature points to the range of float16.")
    write_measures(group, token_set)
    group.attrs.update(
        token_set.facts
        | {
            "tokens": token_set.block.tokens,
            "points": "fine" if model.fine else "standard",
            "clipped": clipped,
            "views": [],
            "value_views": [],
            "views_before": list(map(str, views_before)),
            "version": VERSION,
            "features_hash": features_hash,
        }
    )


def write_vectors(group: zarr.Group, token_set: TokenSet, model: PointModel) -> int:
    """Fill the arrays of an empty group; returns how many numbers were beyond the range of float16."""
    _create(group, token_set, model)
    clipped, probability = 0, []
    with bar(f"features of {token_set.name}", total=token_set.block.tokens, unit="tokens") as progress:
        shard = int((array_of(group, "feature").shards or ())[1])
        vectors = (model.run(part) for part in parts(token_set.block, tokens=shard))
        for start, piece in _in_shards(vectors, shard):
            stop = start + piece.feature.shape[1]
            array_of(group, "feature")[:, start:stop] = piece.feature
            array_of(group, "value")[:, :, start:stop] = piece.value
            probability.append(piece.class_probability)
            clipped += piece.clipped
            progress.update(stop - start)
    if model.class_names:
        _write_classes(group, np.concatenate(probability), model.class_names)
    return clipped


def _in_shards(vectors: Iterator[FeatureVectors], shard: int) -> Iterator[tuple[int, FeatureVectors]]:
    """The vectors in pieces of whole shards, the last with the rest; each with the index of its first token."""
    start, held = 0, None
    for more in vectors:
        held = more if held is None else _joined(held, more)
        whole = held.feature.shape[1] // shard * shard
        if whole:
            yield start, _cut(held, slice(0, whole))
            start, held = start + whole, _rest(held, whole)
    if held is not None and held.feature.shape[1]:
        yield start, held


def _joined(first: FeatureVectors, second: FeatureVectors) -> FeatureVectors:
    return FeatureVectors(
        np.concatenate([first.feature, second.feature], axis=1),
        np.concatenate([first.value, second.value], axis=2),
        np.concatenate([first.class_probability, second.class_probability]),
        first.clipped + second.clipped,
    )


def _cut(vectors: FeatureVectors, rows: slice) -> FeatureVectors:
    return FeatureVectors(
        vectors.feature[:, rows], vectors.value[:, :, rows], vectors.class_probability, vectors.clipped
    )


def _rest(vectors: FeatureVectors, start: int) -> FeatureVectors:
    """The vectors from token `start` on; probabilities and counts went with the piece before."""
    return FeatureVectors(
        vectors.feature[:, start:].copy(), vectors.value[:, :, start:].copy(), vectors.class_probability[:0], 0
    )


def _create(group: zarr.Group, token_set: TokenSet, model: PointModel) -> None:
    hooked, tokens = model.model, token_set.block.tokens
    names: dict[str, Any] = {
        "point": list(model.points),
        "layer": range(hooked.layers),
        "head": range(hooked.heads),
        "factor": list(FACTORS),
    }
    sizes = {name: len(values) for name, values in names.items()} | {"other_point": len(model.points)}
    sizes |= {"token": tokens, "feature": hooked.heads * hooked.channels, "channel": hooked.channels}
    tile = min(TILE, tokens)
    sizes |= {"tile": tile, "shard": tile * min(BLOCK // TILE, -(-tokens // tile))}
    create_arrays(group, FEATURE_ARRAYS, sizes)
    for name, values in names.items():
        array_of(group, name)[:] = np.array(values, object if FEATURE_ARRAYS[name].dtype == "str" else None)
    for name, column in token_set.columns.items():
        array_of(group, name)[:] = column


def _write_classes(group: zarr.Group, probability: NDArray[np.float32], names: list[str]) -> None:
    sizes = dict(zip(CLASS_PROBABILITY.dims, probability.shape, strict=True))
    create_arrays(group, {"class_probability": CLASS_PROBABILITY}, sizes)
    array_of(group, "class_probability")[:] = probability
    group.attrs["class_names"] = names


def write_measures(group: zarr.Group, token_set: TokenSet) -> None:
    """Write the similarity of the points and their explained variance, from the stored vectors."""
    feature = array_of(group, "feature")
    array_of(group, "similarity")[:] = _similarity(feature)
    chosen = evenly(feature.shape[1], CKA_TOKENS)
    vectors = [read_point(feature, point)[chosen] for point in range(feature.shape[0])]
    array_of(group, "cka")[:] = linear_cka(vectors, each=side_by_side)
    group.attrs["cka_tokens"] = len(chosen)
    array_of(group, "explained")[:] = _explained(feature, token_set)


def _similarity(feature: zarr.Array[Any]) -> NDArray[np.float64]:
    tokens = feature.shape[1]

    def summed(start: int) -> NDArray[np.float64]:
        return summed_cosine(np.asarray(feature[:, start : start + COMPARED_TOKENS]).astype(np.float32))

    sums: NDArray[np.float64] = np.sum(side_by_side(summed, range(0, tokens, COMPARED_TOKENS)), axis=0)
    return sums / tokens


def _explained(feature: zarr.Array[Any], token_set: TokenSet) -> NDArray[np.float64]:
    """Share of the variance that each factor explains: (factor, point)."""
    groups = {
        "token": token_set.columns["token_id"],
        "position": token_set.columns["position"],
        "sentence": token_set.columns["sentence_index"],
        "label": token_set.label,
    }

    def shares(point: int) -> list[float]:
        vectors = read_point(feature, point)
        return [explained_share(vectors, groups[factor]) for factor in FACTORS]

    return np.transpose(side_by_side(shares, range(feature.shape[0])))


def read_point(feature: zarr.Array[Any], point: int, tokens: int | None = None) -> NDArray[np.float32]:
    """Vectors (token, feature) of a point, for all tokens or for the first `tokens`."""
    return np.asarray(feature[point, :tokens]).astype(np.float32)

"""Write the vectors of a token set shard by shard, with similarity and explained variance of its points."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.point_model import PointModel, Vectors, parts
from ingest.encode.sample import evenly
from ingest.encode.token_set import TokenSet
from ingest.run.parallel import side_by_side
from ingest.run.progress import bar
from store.kernels.features import explained_share, linear_cka, summed_cosine
from store.repository.arrays import array_of, create_arrays
from store.schema import BLOCK, TILE
from store.schema.features import CLASS_PROBABILITY, FACTORS, FEATURE_ARRAYS

#: Tokens on which CKA is computed: it takes a product of matrices for every two points.
CKA_TOKENS = 5_000
#: Tokens whose vectors at all points are in memory at once while they are compared.
COMPARED_TOKENS = 1_000


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


def _in_shards(vectors: Iterator[Vectors], shard: int) -> Iterator[tuple[int, Vectors]]:
    """The same vectors in pieces of whole shards, the last with what is left; each with its first token."""
    start, held = 0, None
    for more in vectors:
        held = more if held is None else _joined(held, more)
        whole = held.feature.shape[1] // shard * shard
        if whole:
            yield start, _cut(held, slice(0, whole))
            start, held = start + whole, _rest(held, whole)
    if held is not None and held.feature.shape[1]:
        yield start, held


def _joined(first: Vectors, second: Vectors) -> Vectors:
    return Vectors(
        np.concatenate([first.feature, second.feature], axis=1),
        np.concatenate([first.value, second.value], axis=2),
        np.concatenate([first.class_probability, second.class_probability]),
        first.clipped + second.clipped,
    )


def _cut(vectors: Vectors, rows: slice) -> Vectors:
    return Vectors(vectors.feature[:, rows], vectors.value[:, :, rows], vectors.class_probability, vectors.clipped)


def _rest(vectors: Vectors, start: int) -> Vectors:
    """What `_cut` has not: what is of sentences went with the first piece."""
    return Vectors(
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
    """(factor, point)."""
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
    """Vectors (token, feature) of a point, of all tokens or of the first so many."""
    return np.asarray(feature[point, :tokens]).astype(np.float32)

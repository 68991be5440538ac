"""Stage `projections`: fit a picture of every head on a sample, place every other token by the same formula.

`pca-exact`: principal components of unit vectors in exact mode, where the cosine orders keys exactly as attention does.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.blocks import Block, content_hash
from ingest.corpus import PlannedCorpus
from ingest.fidelity import judge_view
from ingest.progress import bar
from ingest.tensors import ModelGroup
from store.groups import array_of, create_arrays
from store.kernels.normalization import exact_mode, unit
from store.kernels.projection import fit_pca, place
from store.schema import MEASURES, ROLES, TILE, VIEW_ARRAYS
from store.writer import Writer

VIEW = "pca-exact"
VERSION = "pca-exact/1"
COMPONENTS = 2
#: The picture is fitted on the first whole sentences within so many tokens, a uniform sample of the corpus.
FIT_TOKENS = 20_000


@dataclass(frozen=True)
class Fit:
    """The formula that places a layer's queries and keys."""

    radius: NDArray[np.float64]
    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    explained: NDArray[np.float64]


def sample_rows(corpus: PlannedCorpus) -> tuple[NDArray[np.int64], int]:
    """Rows of the sentences the picture is fitted on, and how many sentences that are; at least one."""
    lengths = np.concatenate([block.lengths for block in corpus.blocks])
    sentences = max(1, int(np.searchsorted(np.cumsum(lengths), FIT_TOKENS, side="right")))
    tokens = int(lengths[:sentences].sum())
    rows = np.concatenate([block.index * block.length + np.arange(block.tokens) for block in corpus.blocks])
    return rows[:tokens], sentences


def project_corpus(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> bool:
    """Bring the view up to date; False if there was nothing to do."""
    rows, sentences = sample_rows(corpus)
    sample_hash = _sample_hash(model, corpus, rows)
    path = f"{model.path}/views/{VIEW}"
    blocks = _pending(writer.group(path), corpus, model, sample_hash)
    if (
        not blocks
        and writer.group(model.path).attrs.get("views") == [VIEW]
        and writer.group(path).attrs.get("sentences") == corpus.sentences
    ):
        return False
    _prepare(writer, path, model, corpus)
    if writer.group(path).attrs.get("sample_hash") != str(sample_hash):
        _fit(writer, path, model, rows, sentences, sample_hash)
    began = time.monotonic()
    done = corpus.tokens - sum(block.tokens for block in blocks)
    with bar("projections", total=corpus.tokens, unit="tokens", done=done) as progress:
        for block in blocks:
            _place(writer, path, model, block, _view_hash(model, block, sample_hash))
            progress.update(block.tokens)
    judge_view(writer, path, model, corpus, fitted=sentences)
    _finish(writer, path, model, corpus, seconds=time.monotonic() - began)
    return True


def _sample_hash(model: ModelGroup, corpus: PlannedCorpus, rows: NDArray[np.int64]) -> int:
    """Changes when the fit would: with the sample's rows, or the numbers of the blocks they stand in."""
    blocks = corpus.blocks[: int(rows[-1]) // corpus.blocks[0].length + 1]
    return content_hash({"version": VERSION}, rows, np.array([model.block_hash(block) for block in blocks], np.uint64))


def _view_hash(model: ModelGroup, block: Block, sample_hash: int) -> int:
    return content_hash({"sample": sample_hash, "block": model.block_hash(block)})


def _pending(group: zarr.Group, corpus: PlannedCorpus, model: ModelGroup, sample_hash: int) -> list[Block]:
    done = np.asarray(array_of(group, "view_hash")[:]) if "view_hash" in group else np.zeros(0, np.uint64)
    return [
        block
        for block in corpus.blocks
        if block.index >= len(done) or int(done[block.index]) != _view_hash(model, block, sample_hash)
    ]


def _prepare(writer: Writer, path: str, model: ModelGroup, corpus: PlannedCorpus) -> None:
    layers, heads, rows, channels = array_of(writer.group(model.path), "query").shape
    group = writer.group(path)
    length = corpus.blocks[0].length
    sizes = {
        "layer": layers,
        "head": heads,
        "token": rows,
        "block": length,
        "task": rows // length,
        "tile": min(TILE, length),
    }
    sizes |= {"role": len(ROLES), "component": COMPONENTS, "feature": channels + 1, "measure": len(MEASURES)}
    create_arrays(group, VIEW_ARRAYS, sizes)
    for name, values in {"layer": np.arange(layers), "head": np.arange(heads)}.items():
        array_of(group, name)[:] = values
    for name, names in {"role": ROLES, "measure": MEASURES}.items():
        array_of(group, name)[:] = np.array(names, dtype=object)


def _fit(
    writer: Writer, path: str, model: ModelGroup, rows: NDArray[np.int64], sentences: int, sample_hash: int
) -> None:
    group, source = writer.group(path), writer.group(model.path)
    layers = array_of(source, "query").shape[0]
    with bar("fit", total=layers, unit="layers") as progress:
        for layer in range(layers):
            fit = fit_layer(*(_vectors(source, name, layer, slice(0, int(rows[-1]) + 1))[:, rows] for name in ROLES))
            array_of(group, "radius")[layer], array_of(group, "mean")[layer] = fit.radius, fit.mean
            array_of(group, "components")[layer], array_of(group, "explained")[layer] = fit.axes, fit.explained
            progress.update()
    group.attrs.update(
        {
            "title": "PCA of unit vectors, exact mode",
            "method": "pca",
            "normalization": "exact",
            "version": VERSION,
            "fitted_on": f"queries and keys of the first {sentences:,} sentences, {len(rows):,} tokens",
            "sample_sentences": sentences,
            "sample_tokens": len(rows),
            "sample_hash": str(sample_hash),
            "placed": "every other token by the same formula: (unit vector - mean) . components",
        }
    )
    # Until every block is placed on the new axes, readers rather see no picture than one of two fits.
    writer.group(model.path).attrs["views"] = []
    writer.commit(f"{model.key}: fit of {VIEW}")


def fit_layer(query: NDArray[np.float32], key: NDArray[np.float32]) -> Fit:
    """Fit every head of a layer on (head, token, channel) queries and keys together."""
    radius = np.sqrt((key * key).sum(axis=-1, dtype=np.float64)).max(axis=-1)
    points = np.concatenate(_normalized(query, key, radius), axis=1)
    mean, axes, explained = zip(*(fit_pca(head, components=COMPONENTS) for head in points), strict=True)
    return Fit(radius, np.stack(mean), np.stack(axes), np.stack(explained))


def _normalized(query: NDArray[np.float32], key: NDArray[np.float32], radius: NDArray[np.float64]) -> tuple[Any, Any]:
    exact_query, exact_key = exact_mode(query.astype(np.float64), key.astype(np.float64), radius)
    return unit(exact_query), unit(exact_key)


def _vectors(group: zarr.Group, name: str, layer: int, rows: slice) -> NDArray[np.float32]:
    return np.asarray(array_of(group, name)[layer, :, rows]).astype(np.float32)


def _place(writer: Writer, path: str, model: ModelGroup, block: Block, view_hash: int) -> None:
    group, source = writer.group(path), writer.group(model.path)
    rows = slice(block.rows.start, block.rows.start + block.tokens)
    layers, heads = array_of(source, "query").shape[:2]
    coordinates = np.full((layers, heads, len(ROLES), block.length, COMPONENTS), np.nan, np.float32)
    beyond = np.zeros((layers, heads), np.int64)
    for layer in range(layers):
        radius, mean, axes = (np.asarray(array_of(group, name)[layer]) for name in ("radius", "mean", "components"))
        query, key = (_vectors(source, name, layer, rows) for name in ROLES)
        for role, points in enumerate(_normalized(query, key, radius)):
            coordinates[layer, :, role, : block.tokens] = place(points, mean, axes)
        beyond[layer] = (np.sqrt((key * key).sum(axis=-1, dtype=np.float64)) > radius[:, None]).sum(axis=-1)
    array_of(group, "coordinates")[:, :, :, block.rows] = coordinates
    array_of(group, "block_low")[block.index] = np.nanmin(coordinates, axis=(2, 3))
    array_of(group, "block_high")[block.index] = np.nanmax(coordinates, axis=(2, 3))
    array_of(group, "block_beyond")[block.index] = beyond
    array_of(group, "view_hash")[block.index] = np.uint64(view_hash)
    writer.commit(f"{model.key}: {VIEW} block {block.index}")


def _finish(writer: Writer, path: str, model: ModelGroup, corpus: PlannedCorpus, *, seconds: float) -> None:
    writer.group(path).attrs.update(
        {
            "sentences": corpus.sentences,
            "tokens": corpus.tokens,
            "blocks": len(corpus.blocks),
            "seconds": round(seconds, 1),
        }
    )
    writer.commit(f"{model.key}: {VIEW} of {corpus.tokens:,} tokens")

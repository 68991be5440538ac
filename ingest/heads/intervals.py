"""95% intervals of every head statistic.

By bootstrap, from the statistics per token that the store holds already. Of a model that stores these of its first
sentences only, from sums over all sentences.
"""

from concurrent.futures import Executor

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.encoder import SQUARES
from ingest.encode.tensors import ModelGroup
from ingest.run.parallel import cores, side_by_side
from ingest.text.blocks import Batch, Block, PlannedCorpus, make_batches
from store.kernels.intervals import Replicates, draw_counts, find_segments, squared_sums
from store.kernels.statistics import row_weights, source_rows
from store.means import intervals_of_blocks
from store.repository.arrays import array_of
from store.repository.writer import Writer
from store.schema.model import SOURCES

VERSION, SUMS_VERSION = "intervals/3", "intervals of sums/1"
#: Padded tokens whose statistics are in memory at once.
BATCH_TOKENS = 2048


def write_intervals(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, *, seed: int) -> None:
    """Write the intervals: bootstrap over the sentences of the plan, block by block, layer by layer.

    Not committed: `complete` does that together with the statistics that the intervals are of.
    """
    group, version = writer.group(model.path), _version(corpus)
    heads, layers = _of_sums(group, corpus) if version == SUMS_VERSION else _of_draws(group, corpus, seed)
    array_of(group, "head_interval")[:] = heads
    array_of(group, "layer_interval")[:] = layers
    group.attrs["intervals_version"] = version


def intervals_outdated(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> bool:
    """Whether the intervals are of another version of this code, or were computed in the other way."""
    return writer.group(model.path).attrs.get("intervals_version") != _version(corpus)


def _version(corpus: PlannedCorpus) -> str:
    return VERSION if len(corpus.stored.blocks) == len(corpus.blocks) else SUMS_VERSION


def _of_draws(group: zarr.Group, corpus: PlannedCorpus, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of heads and of layers, by bootstrap."""
    statistics, layers, heads, _ = array_of(group, "token_statistic").shape
    replicates = Replicates(sources=len(SOURCES), statistics=statistics, layers=layers, heads=heads)
    with cores() as pool:
        for block in corpus.blocks:
            _add_block(group, block, draw_counts(seed, block.index, block.sentences), replicates, pool)
    return replicates.interval(), replicates.layer_interval()


def _add_block(
    group: zarr.Group, block: Block, counts: NDArray[np.float64], replicates: Replicates, pool: Executor
) -> None:
    real = np.ones(block.tokens, bool)
    segments = [find_segments(rows, block.lengths) for rows in source_rows(block.token_flags, real)]
    present = [counts[segment.sentences] for segment in segments]
    for source, segment in enumerate(segments):
        replicates.count(source, segment, counts)

    def add_layer(layer: int) -> None:
        values = _stored(group, block, layer)
        for source, segment in enumerate(segments):
            replicates.add(layer, source, segment.means(values), present[source])

    list(pool.map(add_layer, range(len(replicates.sums))))


def _stored(group: zarr.Group, block: Block, layer: int) -> NDArray[np.float64]:
    """Statistics (statistic, head, token) of a block in a layer."""
    stored = np.asarray(array_of(group, "token_statistic")[:, layer, :, block.rows])
    return stored[..., : block.tokens].astype(np.float64)


def _of_sums(group: zarr.Group, corpus: PlannedCorpus) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of heads and of layers, from sums of squares; those of blocks that were encoded without are added first."""
    for block in corpus.blocks:
        if np.isnan(array_of(group, SQUARES[0])[block.index, 0, 0, 0, 0]):
            _write_squares(group, block)
    return intervals_of_blocks(group, len(corpus.blocks))


def _write_squares(group: zarr.Group, block: Block) -> None:
    """Write the sums of squares of a block from its stored statistics."""
    batches = make_batches(block, tokens=BATCH_TOKENS)
    layers = range(array_of(group, "token_statistic").shape[1])
    parts = side_by_side(lambda layer: _squares(_stored(group, block, layer), batches), layers)
    for name, of_layers in zip(SQUARES, zip(*parts, strict=True), strict=True):
        array_of(group, name)[block.index] = np.stack(of_layers, axis=2)


def _squares(values: NDArray[np.float64], batches: list[Batch]) -> list[NDArray[np.float64]]:
    """`SQUARES` of a layer from the statistics (statistic, head, token) of a block."""
    parts = []
    for batch in batches:
        padded = np.zeros((*batch.real.shape, *values.shape[:2]))
        padded[batch.real] = np.moveaxis(values[..., batch.rows], -1, 0)
        rows = source_rows(batch.flags, batch.real).astype(np.float64)
        parts.append(squared_sums(padded, row_weights(rows)))
    return [np.sum(each, axis=0) for each in zip(*parts, strict=True)]

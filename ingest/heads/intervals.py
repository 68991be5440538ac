"""95 % intervals of every head statistic, from the statistics per token that the store holds already."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.tensors import ModelGroup
from ingest.text.blocks import Block
from ingest.text.corpus import PlannedCorpus
from store.kernels.bootstrap import Replicates, draw_counts, find_segments
from store.kernels.statistics import source_rows
from store.repository.arrays import array_of
from store.repository.writer import Writer
from store.schema.model import SOURCES

VERSION = "intervals/3"
#: Layers read and added at the same time.
STREAMS = 2


def write_intervals(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, *, seed: int) -> None:
    """Write the intervals: bootstrap over the sentences of the plan, block by block, layer by layer.

    Not committed: `complete` does that together with the statistics that the intervals are of.
    """
    group = writer.group(model.path)
    statistics, layers, heads, _ = array_of(group, "token_statistic").shape
    replicates = Replicates(sources=len(SOURCES), statistics=statistics, layers=layers, heads=heads)
    with ThreadPoolExecutor(STREAMS, "intervals") as pool:
        for block in corpus.blocks:
            _add_block(group, block, draw_counts(seed, block.index, block.sentences), replicates, pool)
    array_of(group, "head_interval")[:] = replicates.interval()
    array_of(group, "layer_interval")[:] = replicates.layer_interval()
    group.attrs["intervals_version"] = VERSION


def intervals_outdated(writer: Writer, model: ModelGroup) -> bool:
    """Whether the intervals are of another version of this code."""
    return writer.group(model.path).attrs.get("intervals_version") != VERSION


def _add_block(
    group: zarr.Group, block: Block, counts: NDArray[np.float64], replicates: Replicates, pool: ThreadPoolExecutor
) -> None:
    real = np.ones(block.tokens, bool)
    segments = [find_segments(rows, block.lengths) for rows in source_rows(block.token_flags, real)]
    present = [counts[segment.sentences] for segment in segments]
    for source, segment in enumerate(segments):
        replicates.count(source, segment, counts)

    def add_layer(layer: int) -> None:
        stored = np.asarray(array_of(group, "token_statistic")[:, layer, :, block.rows])
        values = stored[..., : block.tokens].astype(np.float64)
        for source, segment in enumerate(segments):
            replicates.add(layer, source, segment.means(values), present[source])

    list(pool.map(add_layer, range(len(replicates.sums))))

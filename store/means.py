"""Means over sentences: of the whole corpus from the stored sums of its blocks, of a part from the stored tokens.

A part is read piece by piece: one number (a statistic or a mixing ratio) of some consecutive blocks at a time, so that
memory does not depend on the size of the corpus, and a reader sees the progress.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from store.kernels.bootstrap import Replicates, Segments, draw_counts, find_segments
from store.kernels.moments import interval_of_sums
from store.kernels.statistics import mean_over_sentences, source_rows
from store.repository.arrays import array_of
from store.repository.errors import StoreError
from store.schema.array import BLOCK
from store.schema.model import BOUNDS, SOURCES, SQUARE_ARRAYS

Floats = NDArray[np.floating]
#: Bytes of stored numbers that a thread reads at once.
READ_BYTES = 4 << 20
#: Called with the finished share, 0 to 1; an error that it raises ends the computation.
Watch = Callable[[float], None]
#: Names of the numbers of a part, as those of the part minus the rest.
_DIFFERENCE = {
    "mean": "difference",
    "interval": "difference_interval",
    "layer_interval": "difference_layer_interval",
}
#: Blocks whose sums are in memory at once.
AT_ONCE = 64


def sum_of_blocks(group: zarr.Group, name: str, blocks: int) -> NDArray[np.float64 | np.int64]:
    """Sum of an array over its first `blocks` tasks, in a fixed order."""
    array = array_of(group, name)
    parts = [range(start, min(start + AT_ONCE, blocks)) for start in range(0, blocks, AT_ONCE)]
    total: NDArray[np.float64 | np.int64] = sum(
        (np.asarray(array[part.start : part.stop]).sum(axis=0) for part in parts),
        np.zeros(array.shape[1:], array.dtype),
    )
    return total


def means_of_blocks(group: zarr.Group, blocks: int) -> dict[str, NDArray[np.float64 | np.int64]]:
    """Means over the sentences of the first `blocks` tasks, by the name of their array in `MODEL_ARRAYS`.

    Parameters
    ----------
    group
        Group of the model.
    blocks
        Number of finished blocks.

    Returns
    -------
    head_statistic (source, statistic, layer, head), layer_mixing (source, ratio, layer), head_profile (offset, layer,
    head), received_at (position, layer, head), tokens_at (position).
    """
    by_source, by_position = (sum_of_blocks(group, name, blocks) for name in ("block_count", "block_tokens_at"))
    sums = {
        "head_statistic": ("block_sum", by_source),
        "layer_mixing": ("block_mixing_sum", by_source),
        "head_profile": ("block_profile", by_source[:1]),
        "received_at": ("block_received_at", by_position),
    }
    means = {name: mean_over_sentences(sum_of_blocks(group, of, blocks), count) for name, (of, count) in sums.items()}
    return {**means, "tokens_at": by_position}


def intervals_of_blocks(group: zarr.Group, blocks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """95 % intervals of the means of `means_of_blocks`, from sums of squares: of heads, and of the mean over heads.

    Returns
    -------
    (bound, source, statistic, layer, head) and (bound, source, statistic, layer).
    """
    names = ("block_sum", "block_count", *SQUARE_ARRAYS)
    sums, counts, squares, of_layers = (sum_of_blocks(group, name, blocks) for name in names)
    return interval_of_sums(sums, squares, counts), interval_of_sums(sums.mean(axis=-1), of_layers, counts)


@dataclass(frozen=True)
class PartBlock:
    """The chosen tokens of one block of the token axis.

    Attributes
    ----------
    index
        Number of the block.
    rows
        Ascending rows of the token axis: (token,).
    segments
        Rows of each source among them.
    sentences
        Number of sentences of the whole block.
    """

    index: int
    rows: NDArray[np.int64]
    segments: tuple[Segments, ...]
    sentences: int


def part_means(
    stored: xr.DataArray,
    tokens: xr.Dataset,
    real: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    watch: Watch = lambda _: None,
) -> xr.DataArray:
    """Mean over sentences of the mean over the chosen rows of each source.

    Sentences without such rows do not count. Over all rows these are the stored means, up to float32.

    Parameters
    ----------
    stored
        (number, ..., token), lazy: one number of each token, such as a statistic, per layer and head.
    tokens
        token_flags and sentence_index (token).
    real
        Ascending rows of the token axis that are not padding.
    chosen
        Which of them are in the part: bool of the shape of `real`.
    watch
        Called after every piece.

    Returns
    -------
    (source, number, ...) in float64, NaN where no sentence has such rows.

    Raises
    ------
    StoreError
        Where `chosen` has another shape or dtype.
    """
    blocks = _part_blocks(tokens, real, chosen)
    return _labelled(_Sums(stored, blocks, watch).means(), stored)


def part_statistics(
    stored: xr.DataArray,
    tokens: xr.Dataset,
    real: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    *,
    seed: int,
    watch: Watch = lambda _: None,
) -> xr.Dataset:
    """Means of head statistics as `part_means`, with 95 % intervals by bootstrap over the sentences of the part.

    The draws are those of an ingest with this seed: over all tokens the intervals are those of the store.

    Returns
    -------
    mean (source, statistic, layer, head), interval (bound, source, statistic, layer, head), and layer_interval (bound,
    source, statistic, layer) of the mean over heads.
    """
    return _counted(stored, _part_blocks(tokens, real, chosen), seed, watch).with_intervals()


def contrast_statistics(
    stored: xr.DataArray,
    tokens: xr.Dataset,
    real: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    *,
    seed: int,
    watch: Watch = lambda _: None,
) -> xr.Dataset:
    """Head statistics of the chosen tokens, as `part_statistics`, and how they differ from those of all other tokens.

    Both means are counted alike: a sentence that has chosen and other tokens counts in each with its own of them.

    Returns
    -------
    Those of `part_statistics`, and `difference`, `difference_interval` and `difference_layer_interval` of their dims: the
    chosen tokens minus the others. The draws of a sentence are the same in both, so that the intervals are paired.
    """
    part = _counted(stored, _part_blocks(tokens, real, chosen), seed, lambda share: watch(share / 2))
    rest = _counted(stored, _part_blocks(tokens, real, ~chosen), seed, lambda share: watch((1 + share) / 2))
    between = part.replicates.difference_interval(rest.replicates)
    of_layers = part.replicates.layer_difference_interval(rest.replicates)
    minus = _with_intervals(part.mean - rest.mean, between, of_layers)
    return part.with_intervals().merge(minus.rename(_DIFFERENCE))


class _Sums:
    """Sums over sentences (source, number, ...) of the sentences' means, and how many sentences count (source)."""

    def __init__(
        self,
        stored: xr.DataArray,
        blocks: Sequence[PartBlock],
        watch: Watch,
        replicates: Replicates | None = None,
        seed: int = 0,
    ) -> None:
        self.stored, self.replicates, self.seed = stored.variable, replicates, seed
        self.sums = np.zeros((len(SOURCES), *stored.shape[:-1]))
        self.counts = np.zeros(len(SOURCES), np.int64)
        self._add_all(list(_runs(blocks, max(1, READ_BYTES // self._block_bytes))), watch)

    def means(self) -> NDArray[np.float64]:
        """(source, number, ...), NaN where no sentence has rows of a source."""
        return mean_over_sentences(self.sums, self.counts)

    @property
    def _block_bytes(self) -> int:
        """Bytes of one number of a block."""
        return int(np.prod(self.stored.shape[1:-1])) * BLOCK * self.stored.dtype.itemsize

    def _add_all(self, runs: Sequence[Sequence[PartBlock]], watch: Watch) -> None:
        numbers = len(self.stored)
        # Threads of BLAS beside those of the pool took three times the time of the cores.
        with ThreadPoolExecutor(os.cpu_count(), "part") as pool, threadpool_limits(1, "blas"):
            for index, run in enumerate(runs):
                draws = list(pool.map(self._draw, run))
                pieces = pool.map(lambda number, run=run, draws=draws: self._add(number, run, draws), range(numbers))
                for finished, _ in enumerate(pieces, index * numbers + 1):
                    watch(finished / (len(runs) * numbers))
                for block, draw in zip(run, draws, strict=True):
                    self._count(block, draw)

    def _draw(self, block: PartBlock) -> NDArray[np.float32] | None:
        if self.replicates is None:
            return None
        return draw_counts(self.seed, block.index, block.sentences).astype(np.float32)  # small whole numbers: exact

    def _add(self, number: int, run: Sequence[PartBlock], draws: Sequence[NDArray[np.float32] | None]) -> None:
        start, stop = int(run[0].rows[0]), int(run[-1].rows[-1]) + 1
        values: Floats = self.stored[number, ..., start:stop].values
        for block, draw in zip(run, draws, strict=True):
            own = values.take(block.rows - start, axis=-1).astype(np.float32)
            means = sentence_means(own, block.segments, block.sentences)
            self.sums[:, number] += means.sum(axis=-1, dtype=np.float64)
            if self.replicates is not None and draw is not None:
                self.replicates.add_statistic(number, means, draw)

    def _count(self, block: PartBlock, draw: NDArray[np.float32] | None) -> None:
        self.counts += [len(source.sentences) for source in block.segments]
        if self.replicates is not None and draw is not None:
            for number, source in enumerate(block.segments):
                self.replicates.count(number, source, draw)


class _Counted(NamedTuple):
    """Means (source, statistic, layer, head) with the replicates of their intervals."""

    mean: xr.DataArray
    replicates: Replicates

    def with_intervals(self) -> xr.Dataset:
        """`mean`, `interval` and `layer_interval`."""
        return _with_intervals(self.mean, self.replicates.interval(), self.replicates.layer_interval())


def _counted(stored: xr.DataArray, blocks: Sequence[PartBlock], seed: int, watch: Watch) -> _Counted:
    numbers, layers, heads, _ = stored.shape
    replicates = Replicates(sources=len(SOURCES), statistics=numbers, layers=layers, heads=heads, dtype=np.float32)
    return _Counted(_labelled(_Sums(stored, blocks, watch, replicates, seed).means(), stored), replicates)


def _with_intervals(mean: xr.DataArray, interval: NDArray[np.float64], of_layers: NDArray[np.float64]) -> xr.Dataset:
    dims = ("bound", *map(str, mean.dims))
    return xr.Dataset(
        {
            "mean": mean,
            "interval": (dims, _around(mean.values, interval)),
            "layer_interval": (dims[:-1], _around(mean.values.mean(axis=-1), of_layers)),
        },
        {"bound": list(BOUNDS)},
    )


def _part_blocks(tokens: xr.Dataset, real: NDArray[np.int64], chosen: NDArray[np.bool_]) -> list[PartBlock]:
    """Blocks that have chosen tokens."""
    if chosen.shape != real.shape or chosen.dtype != bool:
        raise StoreError(
            f"`chosen` has shape {chosen.shape} and dtype {chosen.dtype}. Pass a bool for each of the {len(real)} tokens."
        )
    flags, sentence = tokens.token_flags.values, tokens.sentence_index.values
    ends = np.searchsorted(real, np.arange(0, len(sentence) + BLOCK, BLOCK)).tolist()
    blocks = []
    for index, (start, stop) in enumerate(pairwise(ends)):
        if (rows := real[start:stop][chosen[start:stop]]).size:
            first, last = int(sentence[real[start]]), int(sentence[real[stop - 1]])
            segments = part_segments(flags[rows], sentence[rows] - first)
            blocks.append(PartBlock(index, rows, segments, last - first + 1))
    return blocks


def _runs(blocks: Sequence[PartBlock], longest: int) -> Iterator[list[PartBlock]]:
    """Runs of consecutive blocks, each of at most `longest` blocks."""
    run: list[PartBlock] = []
    for block in blocks:
        if run and (len(run) == longest or block.index != run[-1].index + 1):
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _around(mean: NDArray[np.float64], interval: NDArray[np.float64]) -> NDArray[np.float64]:
    """The interval (bound, ...), widened to hold its mean: where all sentences agree, only rounding separates them."""
    low, high = interval
    return np.stack([np.minimum(low, mean), np.maximum(high, mean)])


def _labelled(means: NDArray[np.float64], stored: xr.DataArray) -> xr.DataArray:
    dims = [str(name) for name in stored.dims[:-1]]
    coordinates = {"source": list(SOURCES)} | {name: stored[name].values for name in dims}
    return xr.DataArray(means, dims=("source", *dims), coords=coordinates, name="part_means")


def part_segments(flags: NDArray[np.integer], sentence: NDArray[np.integer]) -> tuple[Segments, ...]:
    """Rows of each source among the tokens of a part.

    Parameters
    ----------
    flags, sentence
        Flags of each token and index of its sentence, from 0 and ascending: (token,).

    Returns
    -------
    One for each of `store.schema.model.SOURCES`.
    """
    lengths = np.bincount(sentence)
    return tuple(find_segments(rows, lengths) for rows in source_rows(flags, np.ones(len(flags), bool)))


def sentence_means(values: Floats, segments: Sequence[Segments], sentences: int) -> NDArray[np.float32]:
    """Mean over the rows of each source in each sentence.

    Parameters
    ----------
    values
        (..., token).
    segments
        Rows of each source.
    sentences
        Number of sentences.

    Returns
    -------
    (source, ..., sentence) in float32, 0 where a sentence has no such rows.
    """
    means = np.zeros((len(segments), *values.shape[:-1], sentences), np.float32)
    for own, source in zip(means, segments, strict=True):
        own[..., source.sentences] = source.means(values)
    return means

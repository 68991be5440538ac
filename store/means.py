"""Means over sentences from the sums of the blocks, as ingest stores them and as verification finds them again."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from store.errors import StoreError
from store.kernels.bootstrap import Replicates, Segments, draw_counts, find_segments
from store.kernels.statistics import mean_over_sentences, source_rows
from store.repository.arrays import array_of
from store.schema.array import BLOCK
from store.schema.model import BOUNDS, SOURCES

#: Blocks whose sums are in memory at once.
AT_ONCE = 64


def sum_of_blocks(group: zarr.Group, name: str, blocks: int) -> NDArray[np.float64 | np.int64]:
    """Sum of an array over its first `blocks` tasks, in the same order every time."""
    array = array_of(group, name)
    parts = [range(start, min(start + AT_ONCE, blocks)) for start in range(0, blocks, AT_ONCE)]
    total: NDArray[np.float64 | np.int64] = sum(
        (np.asarray(array[part.start : part.stop]).sum(axis=0) for part in parts),
        np.zeros(array.shape[1:], array.dtype),
    )
    return total


def means_of_blocks(group: zarr.Group, blocks: int) -> dict[str, NDArray[np.float64 | np.int64]]:
    """Every mean of `schema.MODEL_ARRAYS` over the sentences of the first `blocks` tasks, by its name, and `tokens_at`."""
    by_source, by_position = (sum_of_blocks(group, name, blocks) for name in ("block_count", "block_tokens_at"))
    counts = {
        "head_statistic": ("block_sum", by_source),
        "layer_mixing": ("block_mixing_sum", by_source),
        "head_profile": ("block_profile", by_source[:1]),
        "received_at": ("block_received_at", by_position),
    }
    means = {name: mean_over_sentences(sum_of_blocks(group, of, blocks), count) for name, (of, count) in counts.items()}
    return {**means, "tokens_at": by_position}


Floats = NDArray[np.floating]
#: Bytes of stored numbers that a thread reads at once.
READ_BYTES = 4 << 20
#: Takes the share that is done, 0 to 1; what it raises ends the work.
Watch = Callable[[float], None]


@dataclass(frozen=True)
class PartBlock:
    """The chosen tokens of one block of the token axis.

    Attributes
    ----------
    index
        Number of the block.
    rows
        (token,), ascending rows of the token axis.
    segments
        The rows of each source among them.
    sentences
        Sentences of the whole block.
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
    """Mean over sentences of the mean over the chosen rows of each source: (source, number, ...) in float64.

    Sentences without such rows do not count; NaN where none has any. Over all rows these are the stored means, to float32.

    Parameters
    ----------
    stored
        (number, ..., token), lazy: a name of the numbers, then what they are of.
    tokens
        token_flags and sentence_index (token).
    real
        Ascending rows of the token axis that are not padding.
    chosen
        Which of them are in the part, as bool. StoreError where it is not one for each.
    watch
        Called after every piece.
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
    """Means of head statistics as `part_means`, and their 95 % intervals by bootstrap over the part's sentences.

    The draws are those of an ingest with this seed, so that the intervals of all tokens are those of the store.

    Returns
    -------
    mean (source, statistic, layer, head), interval (bound, source, statistic, layer, head) and layer_interval (bound,
    source, statistic, layer), of the mean over heads.
    """
    numbers, layers, heads, _ = stored.shape
    replicates = Replicates(sources=len(SOURCES), statistics=numbers, layers=layers, heads=heads, dtype=np.float32)
    blocks = _part_blocks(tokens, real, chosen)
    mean = _labelled(_Sums(stored, blocks, watch, replicates, seed).means(), stored)
    dims = ("bound", *map(str, mean.dims))
    return xr.Dataset(
        {
            "mean": mean,
            "interval": (dims, _around(mean.values, replicates.interval())),
            "layer_interval": (dims[:-1], _around(mean.values.mean(axis=-1), replicates.layer_interval())),
        },
        {"bound": list(BOUNDS)},
    )


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
        """Of one number."""
        return int(np.prod(self.stored.shape[1:-1])) * BLOCK * self.stored.dtype.itemsize

    def _add_all(self, runs: Sequence[Sequence[PartBlock]], watch: Watch) -> None:
        numbers = len(self.stored)
        # Threads of BLAS beside those of the pool took three times the time of the cores.
        with ThreadPoolExecutor(os.cpu_count(), "part") as pool, threadpool_limits(1, "blas"):
            for place, run in enumerate(runs):
                draws = list(pool.map(self._draw, run))
                pieces = pool.map(lambda number, run=run, draws=draws: self._add(number, run, draws), range(numbers))
                for done, _ in enumerate(pieces, place * numbers + 1):
                    watch(done / (len(runs) * numbers))
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


def _part_blocks(tokens: xr.Dataset, real: NDArray[np.int64], chosen: NDArray[np.bool_]) -> list[PartBlock]:
    """The blocks that have chosen tokens."""
    if chosen.shape != real.shape or chosen.dtype != bool:
        raise StoreError(f"A part of the corpus is given by a bool for each token. Give {len(real)} of them.")
    flags, sentence = tokens.token_flags.values, tokens.sentence_index.values
    ends = np.searchsorted(real, np.arange(0, len(sentence) + BLOCK, BLOCK)).tolist()
    found = []
    for index, (start, stop) in enumerate(pairwise(ends)):
        if (rows := real[start:stop][chosen[start:stop]]).size:
            first, last = int(sentence[real[start]]), int(sentence[real[stop - 1]])
            segments = part_segments(flags[rows], sentence[rows] - first)
            found.append(PartBlock(index, rows, segments, last - first + 1))
    return found


def _runs(blocks: Sequence[PartBlock], most: int) -> Iterator[list[PartBlock]]:
    """Blocks that stand one after the other on the token axis, at most so many."""
    run: list[PartBlock] = []
    for block in blocks:
        if run and (len(run) == most or block.index != run[-1].index + 1):
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _around(mean: NDArray[np.float64], interval: NDArray[np.float64]) -> NDArray[np.float64]:
    """The interval (bound, ...), no narrower than its mean: where all sentences are alike, rounding alone parts them."""
    low, high = interval
    return np.stack([np.minimum(low, mean), np.maximum(high, mean)])


def _labelled(means: NDArray[np.float64], stored: xr.DataArray) -> xr.DataArray:
    dims = [str(name) for name in stored.dims[:-1]]
    coordinates = {"source": list(SOURCES)} | {name: stored[name].values for name in dims}
    return xr.DataArray(means, dims=("source", *dims), coords=coordinates, name="part_means")


def part_segments(flags: NDArray[np.integer], sentence: NDArray[np.integer]) -> tuple[Segments, ...]:
    """The rows of each source among a part's tokens.

    Parameters
    ----------
    flags, sentence
        (token,), flags and number of the sentence of every token; tokens of a sentence stand together, numbers from 0.

    Returns
    -------
    One for each of `schema.SOURCES`.
    """
    lengths = np.bincount(sentence)
    return tuple(find_segments(rows, lengths) for rows in source_rows(flags, np.ones(len(flags), bool)))


def sentence_means(values: Floats, segments: Sequence[Segments], sentences: int) -> NDArray[np.float32]:
    """Mean over each sentence's rows of each source: (source, ..., sentence) from (..., token).

    0 where a sentence has no such rows. Values in float16 are added in float32, whose rounding is far below theirs.
    """
    means = np.zeros((len(segments), *values.shape[:-1], sentences), np.float32)
    for own, source in zip(means, segments, strict=True):
        own[..., source.sentences] = source.means(values)
    return means

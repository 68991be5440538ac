"""Means over sentences: of the whole corpus from the stored sums of its blocks, of a part from the stored tokens.

A part is read piece by piece: one number (a statistic or a mixing ratio) of some consecutive blocks at a time, so that
memory does not depend on the size of the corpus, and a reader sees the progress.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import xarray as xr
import zarr
from numpy.typing import ArrayLike, NDArray

from store.kernels.intervals import Replicates, SentenceRows, draw_counts, interval_of_sums, order_rows
from store.kernels.statistics import mean_over_sentences, source_rows
from store.process import one_thread
from store.repository.arrays import array_of
from store.repository.errors import StoreError
from store.schema.model import BOUNDS, SOURCES, SQUARE_ARRAYS

Floats = NDArray[np.floating]
T = TypeVar("T")
R = TypeVar("R")
#: Most bytes of stored numbers that a thread reads at once.
READ_BYTES = 4 << 20
#: Called with the finished share, 0 to 1; an error that it raises ends the computation.
Watch = Callable[[float], None]
#: Name of a part's number -> name of its difference from the rest.
_DIFFERENCE = {
    "mean": "difference",
    "interval": "difference_interval",
    "layer_interval": "difference_layer_interval",
}
#: Number of blocks whose sums are in memory at once.
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
    """95% intervals of `means_of_blocks`, from sums of squares: for heads, and for the mean over heads.

    Returns
    -------
    (bound, source, statistic, layer, head) and (bound, source, statistic, layer).
    """
    names = ("block_sum", "block_count", *SQUARE_ARRAYS)
    sums, counts, squares, of_layers = (sum_of_blocks(group, name, blocks) for name in names)
    return interval_of_sums(sums, squares, counts), interval_of_sums(sums.mean(axis=-1), of_layers, counts)


def check_chosen(given: ArrayLike, tokens: int) -> NDArray[np.bool_]:
    """Whether each token of the corpus is chosen: (token,). StoreError unless `given` has a bool for each."""
    chosen = np.asarray(given)
    if chosen.shape != (tokens,) or chosen.dtype != bool:
        raise StoreError(
            f"`chosen` has shape {chosen.shape} and dtype {chosen.dtype}. Pass a bool for each of the {tokens} tokens."
        )
    return chosen


class PartBlock(NamedTuple):
    """The chosen tokens of one block of the token axis.

    Attributes
    ----------
    number
        Number of the block.
    rows
        Ascending rows of the token axis: (token,).
    first, sentences
        Index of the first sentence of the block, and number of its sentences.
    """

    number: int
    rows: NDArray[np.int64]
    first: int
    sentences: int


@dataclass(frozen=True)
class ChosenTokens:
    """The tokens of a part of a corpus.

    Attributes
    ----------
    tokens
        token_flags and sentence_index (token).
    real
        Ascending rows of the token axis that are not padding.
    chosen
        Whether each of these rows is in the part: bool, with the shape of `real`.
    block
        Number of rows of a block of the token axis.

    Raises
    ------
    StoreError
        Where `chosen` has another shape or dtype.
    """

    tokens: xr.Dataset
    real: NDArray[np.int64]
    chosen: NDArray[np.bool_]
    block: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "chosen", check_chosen(self.chosen, len(self.real)))

    def blocks(self) -> list[PartBlock]:
        """Blocks that have chosen tokens."""
        chosen, real, sentence = self.chosen, self.real, self.tokens.sentence_index.values
        ends = np.searchsorted(real, np.arange(0, len(sentence) + self.block, self.block)).tolist()
        blocks = []
        for index, (start, stop) in enumerate(pairwise(ends)):
            if (rows := real[start:stop][chosen[start:stop]]).size:
                first, last = int(sentence[real[start]]), int(sentence[real[stop - 1]])
                blocks.append(PartBlock(index, rows, first, last - first + 1))
        return blocks


class PartRun(NamedTuple):
    """Consecutive blocks that are read at once.

    Attributes
    ----------
    blocks
        The blocks.
    start, stop
        The first chosen row of the token axis, and the one after the last.
    rows
        The chosen rows, counted from `start`, by source and sentence; sentences count from the first sentence of the first block.
    """

    blocks: Sequence[PartBlock]
    start: int
    stop: int
    rows: SentenceRows

    @classmethod
    def of(cls, blocks: Sequence[PartBlock], tokens: xr.Dataset) -> "PartRun":
        """A run of blocks of a corpus; `tokens` has token_flags and sentence_index (token)."""
        rows = np.concatenate([block.rows for block in blocks])
        flags, sentence = (tokens[name].values[rows] for name in ("token_flags", "sentence_index"))
        ordered = order_rows(source_rows(flags, np.ones(len(rows), bool)), sentence - blocks[0].first)
        start = int(rows[0])
        return cls(blocks, start, int(rows[-1]) + 1, ordered._replace(order=(rows - start)[ordered.order]))

    def draws(self, seed: int) -> NDArray[np.float32]:
        """Draws of each sentence with chosen rows in each replicate: (sentence, replicate)."""
        drawn = [draw_counts(seed, block.number, block.sentences) for block in self.blocks]
        counts: NDArray[np.float32] = np.concatenate(drawn)[self.rows.sentences].astype(np.float32)
        return counts  # small whole numbers: exact


def part_means(
    stored: xr.DataArray, part: ChosenTokens, watch: Watch = lambda _: None, *, read_bytes: int = READ_BYTES
) -> xr.DataArray:
    """Mean over sentences of the mean over the chosen rows of each source.

    Sentences without chosen rows do not count. Over all rows the result equals the stored means, up to float32.

    Parameters
    ----------
    stored
        (number, ..., token), lazy: numbers of each token, such as statistics, per layer and head.
    part
        The chosen rows.
    watch
        Called after every piece.
    read_bytes
        Most bytes of stored numbers that a thread reads at once, but at least one number of a block.

    Returns
    -------
    (source, number, ...) in float64, NaN where no sentence has chosen rows.
    """
    return _labelled(_Sums(stored, part, watch, read_bytes=read_bytes).means(), stored)


def part_statistics(
    stored: xr.DataArray, part: ChosenTokens, *, seed: int, watch: Watch = lambda _: None
) -> xr.Dataset:
    """Means of head statistics, see `part_means`, with 95% intervals by bootstrap over the sentences of the part.

    An ingest with this seed has the same draws: over all tokens the intervals equal the stored ones.

    Returns
    -------
    mean (source, statistic, layer, head), interval (bound, source, statistic, layer, head), and layer_interval (bound,
    source, statistic, layer) of the mean over heads.
    """
    return _counted(stored, part, seed, watch).with_intervals()


def contrast_statistics(
    stored: xr.DataArray, own: ChosenTokens, others: ChosenTokens, *, seed: int, watch: Watch = lambda _: None
) -> xr.Dataset:
    """Head statistics of a part, see `part_statistics`, and their differences from the statistics of `others`.

    A sentence with chosen and other tokens counts in both means, with its chosen and its other tokens respectively.

    Returns
    -------
    Arrays of `part_statistics`, and `difference`, `difference_interval` and `difference_layer_interval` of the same dims: the
    chosen tokens minus the others. The draws of a sentence are the same in both, so that the intervals are paired.
    """
    part = _counted(stored, own, seed, lambda share: watch(share / 2))
    rest = _counted(stored, others, seed, lambda share: watch((1 + share) / 2))
    between = part.replicates.difference_interval(rest.replicates)
    of_layers = part.replicates.layer_difference_interval(rest.replicates)
    minus = _with_intervals(part.mean - rest.mean, between, of_layers)
    return part.with_intervals().merge(minus.rename(_DIFFERENCE))


class _Sums:
    """Sums over sentences of their means (source, number, ...), and numbers of sentences that count (source)."""

    def __init__(
        self,
        stored: xr.DataArray,
        part: ChosenTokens,
        watch: Watch,
        replicates: Replicates | None = None,
        seed: int = 0,
        *,
        read_bytes: int = READ_BYTES,
    ) -> None:
        self.stored, self.tokens, self.replicates, self.seed = stored.variable, part.tokens, replicates, seed
        block_bytes = int(np.prod(stored.shape[1:-1])) * part.block * stored.dtype.itemsize  # bytes of one number
        self.sums = np.zeros((len(SOURCES), *stored.shape[:-1]))
        self.counts = np.zeros(len(SOURCES), np.int64)
        # Small numbers without intervals are read at once: a shard has all of them, so that each shard is read once.
        is_small = replicates is None and len(stored) * block_bytes <= read_bytes
        self._at_once = len(stored) if is_small else 1
        longest = max(1, read_bytes // (self._at_once * block_bytes))
        self._add_all(list(_runs(part.blocks(), longest)), watch)

    def means(self) -> NDArray[np.float64]:
        """Means (source, number, ...), NaN where no sentence has rows of a source."""
        return mean_over_sentences(self.sums, self.counts)

    def _add_all(self, runs: Sequence[Sequence[PartBlock]], watch: Watch) -> None:
        pieces = [slice(start, start + self._at_once) for start in range(0, len(self.stored), self._at_once)]
        # Threads of BLAS beside those of the pool took three times the time of the cores.
        with ThreadPoolExecutor(os.cpu_count(), "part") as pool, one_thread("blas"):
            prepared = _one_ahead(pool, self._prepared, runs)
            for index, (run, draws) in enumerate(prepared):
                added = pool.map(lambda piece, run=run, draws=draws: self._add(piece, run, draws), pieces)
                for finished, _ in enumerate(added, index * len(pieces) + 1):
                    watch(finished / (len(runs) * len(pieces)))
                self._count(run, draws)

    def _prepared(self, blocks: Sequence[PartBlock]) -> tuple[PartRun, NDArray[np.float32] | None]:
        run = PartRun.of(blocks, self.tokens)
        return run, None if self.replicates is None else run.draws(self.seed)

    def _add(self, piece: slice, run: PartRun, draws: NDArray[np.float32] | None) -> None:
        """Add some of the numbers of a run."""
        values: Floats = self.stored[piece, ..., run.start : run.stop].values
        means = run.rows.means(values)
        self.sums[:, piece] += means.sum(axis=-1, dtype=np.float64)[run.rows.of_source]
        if self.replicates is not None and draws is not None:
            for place, number in enumerate(range(len(self.stored))[piece]):
                self.replicates.add_statistic(number, means[:, place], draws, run.rows.of_source)

    def _count(self, run: PartRun, draws: NDArray[np.float32] | None) -> None:
        present = (run.rows.sizes > 0)[run.rows.of_source]
        self.counts += present.sum(axis=1)
        if self.replicates is not None and draws is not None:
            self.replicates.count_all(present, draws)


class _Counted(NamedTuple):
    """Means (source, statistic, layer, head) with the replicates of their intervals."""

    mean: xr.DataArray
    replicates: Replicates

    def with_intervals(self) -> xr.Dataset:
        """The arrays `mean`, `interval` and `layer_interval`."""
        return _with_intervals(self.mean, self.replicates.interval(), self.replicates.layer_interval())


def _counted(stored: xr.DataArray, part: ChosenTokens, seed: int, watch: Watch) -> _Counted:
    numbers, layers, heads, _ = stored.shape
    replicates = Replicates(sources=len(SOURCES), statistics=numbers, layers=layers, heads=heads, dtype=np.float32)
    return _Counted(_labelled(_Sums(stored, part, watch, replicates, seed).means(), stored), replicates)


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


def _runs(blocks: Sequence[PartBlock], longest: int) -> Iterator[list[PartBlock]]:
    """Runs of consecutive blocks, each of at most `longest` blocks."""
    run: list[PartBlock] = []
    for block in blocks:
        if run and (len(run) == longest or block.number != run[-1].number + 1):
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _one_ahead(pool: ThreadPoolExecutor, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Results of work on each item; the work on the next item begins before a result is handed out."""
    begun = None
    for item in items:
        following = pool.submit(work, item)
        if begun is not None:
            yield begun.result()
        begun = following
    if begun is not None:
        yield begun.result()


def _around(mean: NDArray[np.float64], interval: NDArray[np.float64]) -> NDArray[np.float64]:
    """The interval (bound, ...), widened to hold its mean: where all sentences agree, only rounding separates them."""
    low, high = interval
    return np.stack([np.minimum(low, mean), np.maximum(high, mean)])


def _labelled(means: NDArray[np.float64], stored: xr.DataArray) -> xr.DataArray:
    dims = [str(name) for name in stored.dims[:-1]]
    coordinates = {"source": list(SOURCES)} | {name: stored[name].values for name in dims}
    return xr.DataArray(means, dims=("source", *dims), coords=coordinates, name="part_means")

"""Measurements of heads over all sentences: the divergence of every two heads, and the intervals of every statistic.

Stage `divergence`: the divergence of every two heads, and a map on which heads that attend alike are near each other. Then 95%
intervals of every head statistic, by bootstrap, from the statistics per token that the store holds already; for a model that
stores these for its first sentences only, from sums over all sentences.
"""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from os import cpu_count

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.encoder import SQUARES
from ingest.encode.sample import Sample, Spans, lengths, take_sentences, whole_sample
from ingest.encode.tensors import ModelGroup
from ingest.projections.fits import seed32
from ingest.run.parallel import cores, side_by_side
from ingest.run.progress import bar
from ingest.run.settings import USUAL, Limits
from ingest.text.blocks import Batch, Block, PlannedCorpus, content_hash, make_batches
from store.bias import read_bias
from store.kernels.attention import Vectors, attention_pattern
from store.kernels.bias import AttentionBias
from store.kernels.heads import TILE, divergence_sums, map_stress
from store.kernels.intervals import Replicates, draw_counts, find_segments, squared_sums
from store.kernels.statistics import row_weights, source_rows
from store.means import intervals_of_blocks
from store.process import one_thread
from store.repository.arrays import array_of, create_arrays, read_vectors
from store.repository.tiles import read_slices
from store.repository.writer import Writer
from store.schema.model import DIVERGENCE_ARRAYS, ROLES, SOURCES

VERSION = "divergence/2"
#: Weights of a head in memory at once, on a core and on a GPU, which has more memory and needs more to be busy.
CPU_WEIGHTS = 8 * TILE
GPU_WEIGHTS = 64 * TILE
INTERVALS_VERSION, SUMS_VERSION = "intervals/3", "intervals of sums/1"
#: Padded tokens whose statistics are in memory at once.
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class QueryBatch:
    """Query rows of sentences of one length, which are computed together."""

    #: Rows of the sentences' tokens: (sentence, token).
    rows: NDArray[np.int64]
    #: Places of the queries among the sentences' tokens.
    queries: slice

    @property
    def tokens(self) -> int:
        """Number of query rows."""
        return int(self.rows[:, self.queries].size)


def update_divergence(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    sample: Sample,
    device: str,
    seed: int,
    limits: Limits = USUAL,
) -> bool:
    """Bring the divergence up to date; False if there was nothing to do.

    Measured over the sample on a CPU, over the whole corpus elsewhere. Written at once and not committed: `complete` commits it
    with the size of the plan, so that readers see no part of it, and none of sentences that they do not see yet.
    """
    group = writer.group(f"{model.path}/divergence")
    measured = sample if device == "cpu" else whole_sample(corpus)
    # A divergence measured over more sentences is kept where there is no GPU.
    enough = max(measured.sentences, int(str(group.attrs.get("sentences", 0))))
    if group.attrs.get("divergence_hash") == _hash(enough, model, corpus, seed):
        return False
    sums = _divergence(writer, model, corpus, measured, device)
    _write(group, sums, measured, seed, limits)
    group.attrs["divergence_hash"] = _hash(measured.sentences, model, corpus, seed)
    return True


def _hash(sentences: int, model: ModelGroup, corpus: PlannedCorpus, seed: int) -> str:
    """Hash of the first sentences, not of their blocks: the last block gets more sentences when the corpus grows."""
    first = take_sentences(corpus, np.arange(min(sentences, corpus.sentences)))
    return str(content_hash({"version": VERSION, "seed": seed}, np.array([model.block_hash(first)], np.uint64)))


def _divergence(
    writer: Writer, model: ModelGroup, corpus: PlannedCorpus, sample: Sample, device: str
) -> NDArray[np.float64]:
    """Sums (layer, head, other_layer, other_head) over the tokens of the sample."""
    source = writer.group(model.path)
    layers, heads = array_of(source, "query").shape[:2]
    sums = np.zeros((layers * heads, layers * heads))
    with bar("divergence", total=sample.tokens, unit="tokens") as progress:
        for spans in _by_block(sample.spans, corpus.blocks[0].length):
            for part, own in _block_sums(source, spans, device):
                sums += own
                progress.update(part.tokens)
    return sums.reshape(layers, heads, layers, heads)


def _by_block(spans: Spans, length: int) -> list[Spans]:
    """Spans (sentence, 2) of the sentences of each block: queries and keys of a block are in memory for all layers at once."""
    blocks = spans[:, 0] // length
    return np.split(spans, np.flatnonzero(np.diff(blocks)) + 1)


def _block_sums(source: zarr.Group, spans: Spans, device: str) -> Iterator[tuple[QueryBatch, NDArray[np.float64]]]:
    """Parts of a block's sentences, each with its sums (head, other_head); each core takes one part."""
    first, stop = int(spans[0, 0]), int(spans[-1, 1])
    bias = read_bias(source)
    query, key = (_read(source, name, slice(first, stop), whole=bias is not None) for name in ROLES)
    weights = CPU_WEIGHTS if device == "cpu" else GPU_WEIGHTS
    parts = list(parts_of(spans - first, weights))
    with ThreadPoolExecutor(cpu_count() if device == "cpu" else 1, "divergence") as pool:
        yield from zip(parts, pool.map(partial(_part_sums, query, key, bias, device), parts), strict=True)


def _read(source: zarr.Group, name: str, rows: slice, *, whole: bool) -> Vectors:
    """Vectors (head, token, channel) of all layers' heads; `whole` adds the constant of keys, which softmax ignores."""
    array = array_of(source, name)
    if whole:
        return np.concatenate([read_vectors(source, name, layer, rows) for layer in range(array.shape[0])])
    stored = np.asarray(array[:, :, rows])
    return stored.reshape(-1, *stored.shape[2:])


def parts_of(spans: Spans, weights: int) -> Iterator[QueryBatch]:
    """All query rows of the sentences in parts of at most `weights` weights of a head, or of one row."""
    sizes = lengths(spans)
    for length in np.unique(sizes).tolist():
        starts = spans[sizes == length, 0]
        sentences, queries = max(1, weights // length**2), max(1, weights // length)
        for first in range(0, len(starts), sentences):
            rows = starts[first : first + sentences, None] + np.arange(length)
            for query in range(0, length, queries):
                yield QueryBatch(rows, slice(query, query + queries))


def _part_sums(
    query: Vectors, key: Vectors, bias: AttentionBias | None, device: str, part: QueryBatch
) -> NDArray[np.float64]:
    """Sums (head, other_head) over the query rows of a part."""
    queries = query[:, part.rows[:, part.queries]].astype(np.float32)
    keys = key[:, part.rows].astype(np.float32)
    places = np.arange(keys.shape[-2])
    of_queries = bias and bias.at(places[part.queries], places)
    if device == "cpu":
        return np.asarray(divergence_sums(attention_pattern(queries, keys, bias=of_queries)), np.float64)
    import torch

    on_device = (torch.from_numpy(vectors).to(device) for vectors in (queries, keys))
    pattern = attention_pattern(*on_device, bias=of_queries)
    return np.asarray(divergence_sums(pattern, tile=GPU_WEIGHTS).cpu(), np.float64)


def head_map(
    divergence: NDArray[np.float64], *, seed: int, fits: int = USUAL.map_fits, steps: int = USUAL.map_steps
) -> NDArray[np.float64]:
    """Places (head, 2) whose distances are as near as possible to the divergences (head, other_head).

    Metric multidimensional scaling with Clark et al.'s settings (General_Analysis), and a seed, which they had not;
    out of `fits` fits from random places, the fit with the least stress.
    """
    from sklearn.manifold import MDS

    if not divergence.any():  # one head, or heads that all attend alike
        return np.zeros((len(divergence), 2))
    # Several cores may add up a product of matrices in another order.
    with one_thread():
        fit = MDS(
            2, metric="precomputed", n_init=fits, init="random", eps=1e-10, max_iter=steps, random_state=seed32(seed)
        )
        places: NDArray[np.float64] = fit.fit_transform(divergence)
    return places


def _write(group: zarr.Group, sums: NDArray[np.float64], sample: Sample, seed: int, limits: Limits) -> None:
    layers, heads = sums.shape[:2]
    mean = (sums / sample.tokens).reshape(layers * heads, -1)
    place = head_map(mean, seed=seed, fits=limits.map_fits, steps=limits.map_steps)
    sizes = {"layer": layers, "head": heads, "other_layer": layers, "other_head": heads, "component": 2}
    create_arrays(group, DIVERGENCE_ARRAYS, sizes)
    for name in ("layer", "head", "other_layer", "other_head"):
        array_of(group, name)[:] = np.arange(sizes[name])
    array_of(group, "divergence")[:] = sums
    array_of(group, "place")[:] = place.reshape(layers, heads, 2)
    group.attrs.update(
        {
            "tokens": sample.tokens,
            "sentences": sample.sentences,
            "measured_on": f"the first {sample.sentences:,} sentences, {sample.tokens:,} tokens",
            "stress": map_stress(mean, place),
            "seed": seed,
            "version": VERSION,
        }
    )


def write_intervals(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, *, seed: int) -> None:
    """Write the intervals: bootstrap over the sentences of the plan, block by block, layer by layer.

    Not committed: `complete` commits them together with the statistics.
    """
    group, version = writer.group(model.path), _version(corpus)
    heads, layers = _of_sums(group, corpus) if version == SUMS_VERSION else _of_draws(group, corpus, seed)
    array_of(group, "head_interval")[:] = heads
    array_of(group, "layer_interval")[:] = layers
    group.attrs["intervals_version"] = version


def intervals_outdated(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> bool:
    """Whether the intervals are of another version of this code, or were computed by the other method (draws or sums)."""
    return writer.group(model.path).attrs.get("intervals_version") != _version(corpus)


def _version(corpus: PlannedCorpus) -> str:
    return INTERVALS_VERSION if len(corpus.stored.blocks) == len(corpus.blocks) else SUMS_VERSION


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
    array = array_of(group, "token_statistic")
    statistics, _, heads, _ = array.shape
    tokens = slice(block.rows.start, block.rows.start + block.tokens)
    selection = (slice(0, statistics), slice(layer, layer + 1), slice(0, heads), tokens)
    return read_slices(array, selection)[:, 0].astype(np.float64)


def _of_sums(group: zarr.Group, corpus: PlannedCorpus) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of heads and of layers, from sums of squares; blocks that were encoded without squares get them first."""
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

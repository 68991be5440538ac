"""Read everything in a store, recompute a sample of it, and name what is corrupt."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import zarr
from icechunk import IcechunkError
from numpy.typing import NDArray

from store.corpus import Corpus
from store.groups import array_of
from store.kernels.attention import attention_pattern
from store.kernels.statistics import mean_over_sentences, token_statistics
from store.repository import first_line
from store.schema import PAD
from store.snapshot import Snapshot

#: Sentences whose statistics are recomputed from their queries and keys.
SAMPLE = 50
#: Per-token statistics are float16: half a unit in the last place, and as much again for queries and keys.
TOLERANCE = 5e-3


def verify(snapshot: Snapshot) -> Iterator[str]:
    """Every finding as one sentence; nothing when the store is sound. Reads shard by shard: memory stays small."""
    findings = 0
    for path, array in _arrays(snapshot.root, ""):
        for finding in _unreadable(path, array):
            findings += 1
            yield finding
    if findings:
        return
    for key in snapshot.models:
        corpus = snapshot.corpus(key)
        yield from _wrong_rows(corpus)
        yield from _missing_numbers(corpus)
        yield from _wrong_statistics(corpus)
        yield from _wrong_means(corpus, snapshot.group(f"models/{key}"))
        if "divergence" in snapshot.group(f"models/{key}"):
            yield from _wrong_divergence(corpus)


def _arrays(group: zarr.Group, path: str) -> Iterator[tuple[str, zarr.Array[Any]]]:
    for name, member in group.members():
        here = f"{path}/{name}"
        if isinstance(member, zarr.Group):
            yield from _arrays(member, here)
        else:
            yield here, member


def _unreadable(path: str, array: zarr.Array[Any]) -> Iterator[str]:
    """Read the array in pieces of whole shards."""
    piece = array.shards or array.chunks
    starts = [range(0, size, step) for size, step in zip(array.shape, piece, strict=True)]
    for corner in product(*starts):
        where = tuple(slice(start, start + step) for start, step in zip(corner, piece, strict=True))
        try:
            array[where]
        except (IcechunkError, ValueError, RuntimeError, OSError, IndexError) as error:
            yield f"{path} cannot be read at {_spelled(array, corner)}: {first_line(error)}."


def _spelled(array: zarr.Array[Any], corner: tuple[int, ...]) -> str:
    dims = getattr(array.metadata, "dimension_names", None) or [""] * len(corner)
    return ", ".join(f"{dim} {start}" for dim, start in zip(dims, corner, strict=True))


def _wrong_rows(corpus: Corpus) -> Iterator[str]:
    """Sentences and tokens must tell the same story."""
    sentences, tokens = corpus.sentences, corpus.tokens
    owner = np.repeat(np.arange(corpus.n_sentences), sentences.row_size.values)
    if len(owner) != len(corpus.rows) or not np.array_equal(tokens.sentence_index.values[corpus.rows], owner):
        yield f"{corpus.name}: the tokens' sentences do not match the sentences' lengths."
    elif len(corpus.rows) != corpus.n_tokens:
        yield f"{corpus.name}: {len(corpus.rows)} tokens are there, {corpus.n_tokens} were recorded."
    if not (np.diff(sentences.sentence_hash.values.astype(object)) > 0).all():
        yield f"{corpus.name}: the sentences are not in the order of their hash."


def _missing_numbers(corpus: Corpus) -> Iterator[str]:
    """No real token may lack its vectors."""
    for name, array in (("query", corpus.query), ("key", corpus.key)):
        for layer in range(corpus.layers):
            real = (corpus.tokens.token_flags.values & PAD) == 0
            first_channel = array[layer, :, :, 0].values
            if np.isnan(first_channel[:, real]).any():
                yield f"{corpus.name}: layer {layer} of {name} has tokens without numbers."


def _wrong_statistics(corpus: Corpus) -> Iterator[str]:
    """Statistics of sentences spread over the corpus must follow from their queries and keys."""
    for sentence in sorted({int(index) for index in np.linspace(0, corpus.n_sentences - 1, SAMPLE)}):
        worst = _disagreement(corpus, sentence)
        if worst > TOLERANCE:
            yield f"{corpus.name}: the statistics of sentence {sentence} do not follow from its queries and keys (off by {worst:.2g})."


def _disagreement(corpus: Corpus, sentence: int) -> float:
    """Largest error relative to 1 + the value; counts of keys may differ by keys at the threshold and are left out."""
    rows = corpus.sentence_rows(sentence)
    query, key = (np.asarray(array[:, :, rows], np.float32) for array in (corpus.query, corpus.key))
    flags = corpus.tokens.token_flags.values[rows]
    expected = token_statistics(attention_pattern(query, key), flags, np.ones(len(flags), bool))
    stored = corpus.token_statistic[:, :, :, rows].load()
    smooth = [name != "attended_keys" for name in stored.statistic.values]
    error: NDArray[np.float64] = np.abs(stored.values.astype(np.float64) - expected) / (1 + np.abs(expected))
    return float(error[smooth].max())


def _wrong_means(corpus: Corpus, group: zarr.Group) -> Iterator[str]:
    """Head statistics must be the blocks' sums over the sentences, unless a larger ingest has begun to add blocks."""
    blocks = int(corpus.attributes["blocks"])
    sums, counts = (np.asarray(array_of(group, name)[:blocks]).sum(axis=0) for name in ("block_sum", "block_count"))
    if int(counts[0]) != corpus.n_sentences:
        return
    expected = mean_over_sentences(sums, counts)
    if not np.allclose(corpus.head_statistic.values, expected, rtol=1e-12, equal_nan=True):
        yield f"{corpus.name}: the head statistics are not the means of the blocks' sums."


def _wrong_divergence(corpus: Corpus) -> Iterator[str]:
    """Two heads are as far apart as they are, whichever comes first, and none is apart from itself."""
    heads = corpus.layers * corpus.heads
    apart = corpus.divergence.divergence.values.reshape(heads, heads)
    if not np.isfinite(apart).all():
        yield f"{corpus.name}: the divergence of its heads is not finite."
    elif not np.array_equal(apart, apart.T):
        yield f"{corpus.name}: the divergence of its heads is not symmetric."
    elif np.diagonal(apart).any():
        yield f"{corpus.name}: a head diverges from itself."

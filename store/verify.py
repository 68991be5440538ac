"""Check every file of a store, read every array, recompute a sample, and name what is corrupt."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import zarr
from icechunk import IcechunkError
from numpy.typing import NDArray

from store.corpus import Corpus
from store.errors import StoreCorrupt
from store.features import TOKEN_ARRAYS, Features
from store.kernels.attention import attention_pattern
from store.kernels.divergence import LARGEST_DIVERGENCE
from store.kernels.features import summed_cosine
from store.kernels.statistics import sink_threshold, token_statistics
from store.means import means_of_blocks, sum_of_blocks
from store.repository.access import INGEST, MAIN, branch_problem, first_line, holds_snapshots, local_path
from store.repository.arrays import array_of, has_checksums
from store.repository.checksums import Checksums
from store.schema.corpus import PAD
from store.schema.features import SAMPLE
from store.schema.model import BOUNDS
from store.snapshot import Snapshot

#: Number of sentences whose statistics are recomputed from their queries and keys.
RECOMPUTED = 50
#: Per-token statistics are float16: half a unit in the last place, and as much again for queries and keys.
TOLERANCE = 5e-3
#: Of per-token statistics in float16, relative: half a unit in the last place. Weights are summed before they are rounded.
ROUNDED = 5e-4
#: Means and intervals are of the same numbers, in float64.
EXACT = 1e-9
#: Intervals of older stores are of rounded numbers, their means are not.
OLDER_INTERVALS, OLDER_ROUNDED = "intervals/2", 1e-3
#: Tokens whose vectors at all feature points are in memory at once.
TOKENS = 1_000
#: Of a cosine of vectors in float16, summed in float32.
COSINE_ROUNDED = 1e-4
#: What is a mean over sentences, for a person.
MEANS = {
    "head_statistic": "the head statistics",
    "layer_mixing": "the mixing ratios of the layers",
    "head_profile": "the profiles by distance",
    "received_at": "the weights by position",
    "tokens_at": "the tokens by position",
}


def verify(snapshot: Snapshot) -> Iterator[str]:
    """Every finding in the arrays as one sentence; none when they are sound. Reads shard by shard: memory stays small."""
    findings = 0
    yield from _unlisted(snapshot)
    for path, array in _arrays(snapshot.root, ""):
        for finding in _unreadable(path, array):
            findings += 1
            yield finding
    if findings:
        return
    for key in snapshot.models:
        corpus, group = snapshot.corpus(key), snapshot.group(f"models/{key}")
        yield from _wrong_rows(corpus)
        yield from _missing_numbers(corpus)
        yield from _wrong_statistics(corpus)
        yield from _wrong_means(corpus, group)
        yield from _wrong_profiles(corpus)
        yield from _wrong_intervals(corpus)
        if "divergence" in group:
            yield from _wrong_divergence(corpus)
        if "importance" in group and "importance_hash" in group["importance"].attrs:
            yield from _wrong_importance(corpus)
        yield from wrong_features(corpus)


def wrong_files(url: str) -> Iterator[str]:
    """Every file of a local store that is lost or differs from what was published; object stores check their own."""
    path = local_path(url)
    if path is not None and holds_snapshots(path):
        yield from filter(None, (branch_problem(path, branch) for branch in (MAIN, INGEST)))
        yield from Checksums(path).wrong_files()


def unprotected(snapshot: Snapshot) -> str | None:
    """A sentence where damage to the store may pass, since it was written before there were checksums."""
    arrays = [has_checksums(array) for _, array in _arrays(snapshot.root, "")]
    if all(arrays):
        return None
    said = f"{arrays.count(False)} of {len(arrays)} arrays carry no checksums, as an older Headscape wrote them"
    return f"{said}: a flipped bit in them may pass. Ingest into another place to protect all of them."


def _unlisted(snapshot: Snapshot) -> Iterator[str]:
    """Who writes arrays with checksums lists the files too."""
    path = local_path(snapshot.url)
    listed = path is None or f"snapshots/{snapshot.id}" in Checksums(path).listed
    if not listed and unprotected(snapshot) is None:
        yield f"The file `checksums` does not list snapshot {snapshot.id}."


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
        except (StoreCorrupt, IcechunkError, ValueError, RuntimeError, OSError, IndexError) as error:
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
    """Statistics of sentences spread over the corpus must follow from their queries, keys and value norms."""
    for sentence in sorted({int(index) for index in np.linspace(0, corpus.n_sentences - 1, RECOMPUTED)}):
        worst = _disagreement(corpus, sentence)
        if worst > TOLERANCE:
            yield f"{corpus.name}: the statistics of sentence {sentence} do not follow from its queries and keys (off by {worst:.2g})."


def _disagreement(corpus: Corpus, sentence: int) -> float:
    """Largest error relative to 1 + the value; what may jump by a rounding error is left out."""
    rows = corpus.sentence_rows(sentence)
    query, key, norm = (
        np.asarray(array[:, :, rows], np.float32) for array in (corpus.query, corpus.key, corpus.value_norm)
    )
    flags = corpus.tokens.token_flags.values[rows]
    expected = token_statistics(attention_pattern(query, key), flags, np.ones(len(flags), bool), norm)
    stored = corpus.token_statistic[:, :, :, rows].load()
    names = list(stored.statistic.values)
    error: NDArray[np.float64] = np.abs(stored.values.astype(np.float64) - expected) / (1 + np.abs(expected))
    error[names.index("attended_keys")] = 0
    error[names.index("to_sink"), _may_be_a_sink(expected[names.index("received")])] = 0
    mixed = 1 - expected[names.index("to_self")].mean(axis=1)
    stored_mixed = corpus.token_mixing.sel(ratio="attn_w")[:, rows].values.astype(np.float64)
    return max(_largest(error), _largest(stored_mixed - mixed))


def _largest(error: NDArray[np.float64]) -> float:
    """Infinite where there is no number."""
    return float(np.nan_to_num(np.abs(error), nan=np.inf).max())


def _may_be_a_sink(received: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Heads in which a token stands at the threshold, so that a rounding error decides: (layer, head)."""
    rows = np.float64(received.shape[-1])
    return np.asarray((np.abs(received - sink_threshold(rows)) < TOLERANCE * rows).any(axis=-1))


def _wrong_means(corpus: Corpus, group: zarr.Group) -> Iterator[str]:
    """Means must be the blocks' sums over the sentences, unless a larger ingest has begun to add blocks."""
    blocks = int(corpus.attributes["blocks"])
    if int(sum_of_blocks(group, "block_count", blocks)[0]) != corpus.n_sentences:
        return
    for name, expected in means_of_blocks(group, blocks).items():
        if not np.allclose(np.asarray(array_of(group, name)[:]), expected, rtol=1e-12, equal_nan=True):
            yield f"{corpus.name}: {MEANS[name]} are not the means of the blocks' sums."


def _wrong_profiles(corpus: Corpus) -> Iterator[str]:
    """What is counted twice must be the same: by offset as by statistic, and all that is given is received."""
    over_all = corpus.head_statistic.sel(source="all")
    for offset, name in ((-1, "to_previous"), (0, "to_self"), (1, "to_next")):
        if not np.allclose(corpus.head_profile.sel(offset=offset), over_all.sel(statistic=name), ROUNDED, 1e-7):
            yield f"{corpus.name}: the profiles by distance do not agree with the statistic {name}."
    received = (corpus.received_at * corpus.received_at["count"]).sum("position")
    for name, whole in (
        ("by distance", corpus.head_profile.sum("offset")),
        ("by position", received / corpus.n_sentences),
    ):
        if not np.allclose(whole, 1, rtol=1e-4):
            yield f"{corpus.name}: attention {name} does not add up to 1."


def _wrong_intervals(corpus: Corpus) -> Iterator[str]:
    """An interval must hold the mean that it is of, wherever two sentences count."""
    counted = [source for source, sentences in corpus.attributes["source_sentences"].items() if sentences > 1]
    means = corpus.head_statistic.sel(source=counted)
    rounded = OLDER_ROUNDED if corpus.attributes["intervals_version"] == OLDER_INTERVALS else EXACT
    for interval, mean, what in (
        (corpus.head_interval, means, "heads"),
        (corpus.layer_interval, means.mean("head"), "layers"),
    ):
        low, high = (interval.sel(bound=bound, source=counted) for bound in BOUNDS)
        slack = rounded * (1 + abs(mean))
        if not bool(((low - slack <= mean) & (mean <= high + slack)).all()):
            yield f"{corpus.name}: intervals of {what} do not hold their means."


def _wrong_importance(corpus: Corpus) -> Iterator[str]:
    """What a head is worth is a number."""
    if not np.isfinite(corpus.importance.change).all():
        yield f"{corpus.name}: what its heads are worth is not finite."


def _wrong_divergence(corpus: Corpus) -> Iterator[str]:
    """Two heads are as far apart as they are, whichever comes first, and none is apart from itself."""
    heads = corpus.layers * corpus.heads
    apart = corpus.divergence.divergence.values.reshape(heads, heads)
    if not np.isfinite(apart).all():
        yield f"{corpus.name}: the divergence of its heads is not finite."
    elif not np.array_equal(apart, apart.T):
        yield f"{corpus.name}: the divergence of its heads is not symmetric."
    elif apart.max() > LARGEST_DIVERGENCE * corpus.divergence.attrs["tokens"] * (1 + ROUNDED):
        yield f"{corpus.name}: heads are farther apart than any can be."
    elif np.diagonal(apart).any():
        yield f"{corpus.name}: a head diverges from itself."


def wrong_features(corpus: Corpus) -> Iterator[str]:
    """Every finding as one sentence."""
    for material in corpus.materials:
        features, said = corpus.features(material), f"{corpus.name}: the feature points of {material}"
        if material == SAMPLE and not _are_of_the_corpus(features, corpus):
            yield f"{said} are not of the corpus' tokens."
        if not _is_finite(features):
            yield f"{said} are not all finite."
        elif not _follows(features):
            yield f"{said} are not as like each other as their similarity says."


def _are_of_the_corpus(features: Features, corpus: Corpus) -> bool:
    """Token by token, by their rows."""
    rows = features.tokens.row.values
    own, others = features.tokens, corpus.tokens
    return (
        len(rows) > 0
        and int(rows.max()) < others.sizes["token"]
        and all(np.array_equal(own[name].values, others[name].values[rows]) for name in TOKEN_ARRAYS[1:])
    )


def _is_finite(features: Features) -> bool:
    vectors = all(bool(np.isfinite(features.feature[point].values).all()) for point in range(len(features.points)))
    return vectors and all(bool(np.isfinite(layer.values).all()) for layer in features.value)


def _follows(features: Features) -> bool:
    """Recomputed from the stored vectors."""
    sums = np.zeros((len(features.points),) * 2)
    for start in range(0, features.n_tokens, TOKENS):
        sums += summed_cosine(features.feature[:, start : start + TOKENS].values.astype(np.float32))
    return bool(np.allclose(sums / features.n_tokens, features.similarity.values, atol=COSINE_ROUNDED))

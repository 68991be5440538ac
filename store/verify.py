"""Check a store: compare files with checksums, read every array, recompute samples of statistics, words and relations; list findings."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import xarray as xr
import zarr
from icechunk import IcechunkError
from numpy.typing import NDArray

from store.corpus import Corpus
from store.features import TOKEN_ARRAYS, Features
from store.kernels.bias import Mask
from store.kernels.features import summed_cosine
from store.kernels.heads import LARGEST_DIVERGENCE
from store.kernels.roles import Sieves
from store.kernels.rules import targets_of
from store.kernels.statistics import sink_threshold, vector_statistics
from store.means import intervals_of_blocks, means_of_blocks, sum_of_blocks
from store.mend import older_branches
from store.mixing import ArrivalShares
from store.reach import reaches_follow
from store.repository.access import INGEST, MAIN, branch_problem, first_line, holds_snapshots, local_path
from store.repository.arrays import array_of, has_checksums
from store.repository.checksums import Checksums
from store.repository.errors import StoreCorrupt
from store.schema.corpus import PAD
from store.schema.features import SAMPLE
from store.schema.model import BOUNDS, counted_size
from store.snapshot import Snapshot
from store.verify_words import wrong_words

#: Number of sentences whose statistics are recomputed from their queries and keys.
RECOMPUTED = 50
#: Error of a recomputed statistic: the statistic, the queries and the keys are rounded to float16.
TOLERANCE = 5e-3
#: Relative error of numbers in float16: half a unit in the last place.
ROUNDED = 5e-4
#: Error of a sum of shares in float32.
SHARES_ROUNDED = 1e-4
#: Relative error of means and intervals, which are recomputed from the same numbers in float64.
EXACT = 1e-9
#: Version of intervals in older stores, which are computed from rounded numbers, and their relative error.
OLDER_INTERVALS, OLDER_ROUNDED = "intervals/2", 1e-3
#: Number of tokens whose vectors are in memory at once.
TOKENS = 1_000
#: Error of a cosine of vectors in float16, summed in float32.
COSINE_ROUNDED = 1e-4
#: Array of means over sentences -> its name in findings.
MEANS = {
    "head_statistic": "the head statistics",
    "layer_mixing": "the mixing ratios of the layers",
    "head_profile": "the profiles by relative position",
    "received_at": "the attention received by position",
    "tokens_at": "the numbers of tokens by position",
}

#: Array of intervals -> its name in findings; they follow from sums where only the first sentences have vectors.
INTERVALS = {"head_interval": "the intervals of heads", "layer_interval": "the intervals of layers"}


def verify(snapshot: Snapshot, recomputed: int = RECOMPUTED) -> Iterator[str]:
    """Check the arrays of a snapshot, shard by shard: memory does not depend on the size of the store.

    Statistics of `recomputed` sentences are computed again from their queries and keys.

    Returns
    -------
    A sentence for each finding; nothing where all arrays are sound.
    """
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
        yield from _wrong_statistics(corpus, recomputed)
        yield from _wrong_means(corpus, group)
        yield from _wrong_profiles(corpus)
        yield from _wrong_intervals(corpus)
        if "divergence" in group:
            yield from _wrong_divergence(corpus)
        if "importance" in group and "importance_hash" in group["importance"].attrs:
            yield from _wrong_importance(corpus)
        if "roles" in group and "roles_hash" in group["roles"].attrs:
            yield from _wrong_roles(corpus, recomputed)
        if "mixing" in group and "sentences" in group["mixing"].attrs:
            yield from _wrong_mixing(corpus, group, recomputed)
        yield from wrong_features(corpus)
        yield from wrong_words(corpus, _across(corpus, recomputed))


def wrong_files(url: str) -> Iterator[str]:
    """A sentence for each file of a local store that is missing or has changed. Object storage checks its own files."""
    path = local_path(url)
    if path is not None and holds_snapshots(path):
        yield from filter(None, (branch_problem(path, branch) for branch in (MAIN, INGEST)))
        yield from older_branches(path)
        yield from Checksums(path).wrong_files()


def unprotected(snapshot: Snapshot) -> str | None:
    """A warning where arrays carry no checksums, since an older Headscape wrote them; None where all do."""
    arrays = [has_checksums(array) for _, array in _arrays(snapshot.root, "")]
    if all(arrays):
        return None
    problem = f"{arrays.count(False)} of {len(arrays)} arrays carry no checksums, since an older Headscape wrote them"
    return f"{problem}: a flipped bit in them may go unnoticed. Ingest into another place to protect all arrays."


def _unlisted(snapshot: Snapshot) -> Iterator[str]:
    """A finding where arrays carry checksums but the list of files' checksums lacks the snapshot."""
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
    """Read an array shard by shard; a finding for each that cannot be read."""
    piece = array.shards or array.chunks
    starts = [range(0, size, step) for size, step in zip(array.shape, piece, strict=True)]
    for corner in product(*starts):
        where = tuple(slice(start, start + step) for start, step in zip(corner, piece, strict=True))
        try:
            array[where]
        except (StoreCorrupt, IcechunkError, ValueError, RuntimeError, OSError, IndexError) as error:
            yield f"{path} cannot be read at {_spelled(array, corner)}: {_reason(error)}."


def _reason(error: BaseException) -> str:
    """The first sentence of an error, without its full stop; later sentences of zarr show checksums as Python bytes."""
    return re.split(r"\.(?:\s|$)", first_line(error))[0]


def _spelled(array: zarr.Array[Any], corner: tuple[int, ...]) -> str:
    dims = getattr(array.metadata, "dimension_names", None) or [""] * len(corner)
    return ", ".join(f"{dim} {start}" for dim, start in zip(dims, corner, strict=True))


def _wrong_rows(corpus: Corpus) -> Iterator[str]:
    """Sentences and tokens must agree with each other."""
    sentences, tokens = corpus.sentences, corpus.tokens
    owner = np.repeat(np.arange(corpus.n_sentences), sentences.row_size.values)
    if len(owner) != len(corpus.rows) or not np.array_equal(tokens.sentence_index.values[corpus.rows], owner):
        yield f"{corpus.name}: the sentence indices of the tokens do not match the lengths of the sentences."
    elif len(corpus.rows) != corpus.n_tokens:
        yield f"{corpus.name}: {len(corpus.rows)} tokens are stored, {corpus.n_tokens} were recorded."
    if not (np.diff(sentences.sentence_hash.values.astype(object)) > 0).all():
        yield f"{corpus.name}: the sentences are not in the order of their hash."


def _missing_numbers(corpus: Corpus) -> Iterator[str]:
    """Every token must have its vectors."""
    for name, array in (("query", corpus.query), ("key", corpus.key)):
        for layer in range(corpus.layers):
            real = (corpus.tokens.token_flags.values & PAD) == 0
            first_channel = array[layer, :, :, 0].values
            if np.isnan(first_channel[:, real]).any():
                yield f"{corpus.name}: tokens of layer {layer} lack their {name}."


def _across(corpus: Corpus, count: int) -> list[int]:
    """A number of sentences spread across the corpus, or all."""
    return [int(sentence) for sentence in np.unique(np.linspace(0, corpus.n_sentences - 1, count).astype(int))]


def _wrong_statistics(corpus: Corpus, recomputed: int) -> Iterator[str]:
    """Statistics of sentences across the corpus must follow from their queries, keys and value norms."""
    for run in _runs(corpus, _across(corpus, recomputed)):
        start, stop = corpus.sentence_rows(run[0]).start, corpus.sentence_rows(run[-1]).stop
        arrays = (corpus.query, corpus.key, corpus.value_norm, corpus.token_statistic)
        mixed = corpus.token_mixing.sel(ratio="attn_w")
        read = [array.isel(token=slice(start, stop)).load() for array in (*arrays, mixed)]
        for sentence in run:
            rows = corpus.sentence_rows(sentence)
            within = slice(rows.start - start, rows.stop - start)
            worst = _disagreement(corpus, rows, [array.isel(token=within) for array in read])
            if worst > TOLERANCE:
                yield f"{corpus.name}: the statistics of sentence {sentence} do not follow from its queries and keys (off by {worst:.2g})."


def _runs(corpus: Corpus, sentences: list[int]) -> Iterator[list[int]]:
    """Runs of consecutive sentences within the tokens that are read at once, as a read takes longer than a statistic."""
    run: list[int] = []
    for sentence in sentences:
        first = corpus.sentence_rows(run[0]).start if run else 0
        if run and (sentence > run[-1] + 1 or corpus.sentence_rows(sentence).stop - first > TOKENS):
            yield run
            run = []
        run.append(sentence)
    if run:
        yield run


def _disagreement(corpus: Corpus, rows: slice, read: list[xr.DataArray]) -> float:
    """Largest error relative to 1 + the value, without numbers in which rounding at a threshold decides.

    `read` has the sentence's queries, keys, value norms, token statistics and the mixing ratio of its attention.
    """
    query, key, norm = (array.values.astype(np.float32) for array in read[:3])
    stored, stored_mixed = read[3:]
    flags = corpus.tokens.token_flags.values[rows]
    biases = [corpus.bias and corpus.bias.part(layer) for layer in range(corpus.layers)]
    layers = zip(query, key, norm, corpus.masks, biases, strict=True)
    expected = np.stack(
        [vector_statistics(queries, keys, flags, own, mask, bias=bias) for queries, keys, own, mask, bias in layers],
        axis=1,
    )
    names = list(stored.statistic.values)
    lacking = [names.index(name) for name in corpus.missing_statistics]
    error: NDArray[np.float64] = np.abs(stored.values.astype(np.float64) - expected) / (1 + np.abs(expected))
    error[[names.index("attended_keys"), *lacking]] = 0
    error[names.index("to_sink"), _may_be_a_sink(expected[names.index("received")], corpus.masks)] = 0
    mixed = 1 - expected[names.index("to_self")].mean(axis=1)
    return max(_largest(error), _largest(stored_mixed.values.astype(np.float64) - mixed))


def _largest(error: NDArray[np.float64]) -> float:
    """Largest absolute error, infinite where a number is missing."""
    return float(np.nan_to_num(np.abs(error), nan=np.inf).max())


def _may_be_a_sink(received: NDArray[np.float32], masks: Sequence[Mask]) -> NDArray[np.bool_]:
    """Heads in which a token is so near the sink threshold that a rounding error decides: (layer, head)."""
    rows = received.shape[-1]
    threshold = np.stack([sink_threshold(rows, rows, mask) for mask in masks])[:, None]
    return np.asarray((np.abs(received - threshold) < TOLERANCE * rows).any(axis=-1))


def _wrong_mixing(corpus: Corpus, group: zarr.Group, recomputed: int) -> Iterator[str]:
    """All tokens must have products; shares by origin must follow from products and patterns."""
    mixing = corpus.mixing
    rows = corpus.rows[: int(corpus.sentences.row_size.values[: mixing.attrs["sentences"]].sum())]
    # |M x|^2 of each token is the last product.
    if not (mixing["product"].variable[:, -1, rows].values >= 0).all():
        yield f"{corpus.name}: tokens lack the products that context mixing follows from."
        return
    starts = [corpus.sentence_rows(sentence) for sentence in range(mixing.attrs["sampled_sentences"])]
    spans = np.array([(own.start, own.stop) for own in starts])
    found = ArrivalShares.of(group, spans, corpus.tokens.token_flags.values, seed=mixing.attrs["seed"])
    if not np.allclose(found.mean, mixing.arrival.values, atol=SHARES_ROUNDED, equal_nan=True):
        yield f"{corpus.name}: what arrives in the sample does not follow from the products and the patterns."
    if not reaches_follow(corpus, group, _across(corpus, recomputed)):
        yield f"{corpus.name}: what each token reaches does not follow from the products and the patterns."


def _wrong_means(corpus: Corpus, group: zarr.Group) -> Iterator[str]:
    """Means must follow from the sums of the blocks, unless a larger ingest has begun to add blocks."""
    blocks = counted_size(corpus.attributes, "blocks")
    if int(sum_of_blocks(group, "block_count", blocks)[0]) != corpus.counted_sentences:
        return
    for name, expected in means_of_blocks(group, blocks).items():
        if not np.allclose(np.asarray(array_of(group, name)[:]), expected, rtol=1e-12, equal_nan=True):
            yield f"{corpus.name}: {MEANS[name]} do not follow from the sums of the blocks."
    if "counted_blocks" in corpus.attributes:
        for name, expected in zip(INTERVALS, intervals_of_blocks(group, blocks), strict=True):
            if not np.allclose(np.asarray(array_of(group, name)[:]), expected, rtol=EXACT, equal_nan=True):
                yield f"{corpus.name}: {INTERVALS[name]} do not follow from the sums of the blocks."


def _wrong_profiles(corpus: Corpus) -> Iterator[str]:
    """Profiles must agree with the statistics, and add up to 1."""
    over_all = corpus.head_statistic.sel(source="all")
    for offset, name in ((-1, "to_previous"), (0, "to_self"), (1, "to_next")):
        if not np.allclose(corpus.head_profile.sel(offset=offset), over_all.sel(statistic=name), ROUNDED, 1e-7):
            yield f"{corpus.name}: the profiles by relative position disagree with the statistic {name}."
    received = (corpus.received_at * corpus.received_at["count"]).sum("position")
    for name, whole in (
        ("by relative position", corpus.head_profile.sum("offset")),
        ("by position", received / corpus.counted_sentences),
    ):
        if not np.allclose(whole, 1, rtol=1e-4):
            yield f"{corpus.name}: attention {name} does not add up to 1."


def _wrong_intervals(corpus: Corpus) -> Iterator[str]:
    """An interval must contain its mean, where two or more sentences count. Early in its ingest, a model has no intervals."""
    if "intervals_version" not in corpus.attributes:
        return
    counted = [source for source, sentences in corpus.attributes["source_sentences"].items() if sentences > 1]
    means = corpus.head_statistic.sel(source=counted).drop_sel(statistic=list(corpus.missing_statistics))
    rounded = OLDER_ROUNDED if corpus.attributes["intervals_version"] == OLDER_INTERVALS else EXACT
    for interval, mean, what in (
        (corpus.head_interval, means, "heads"),
        (corpus.layer_interval, means.mean("head"), "layers"),
    ):
        low, high = (interval.sel(bound=bound, source=counted) for bound in BOUNDS)
        slack = rounded * (1 + abs(mean))
        if not bool(((low - slack <= mean) & (mean <= high + slack)).all()):
            yield f"{corpus.name}: intervals of {what} do not contain their means."


def _wrong_importance(corpus: Corpus) -> Iterator[str]:
    """Head importance must be finite."""
    if not np.isfinite(corpus.importance.change).all():
        yield f"{corpus.name}: head importance is not finite."


def _wrong_divergence(corpus: Corpus) -> Iterator[str]:
    """Divergence must be finite, symmetric, at most ln 2 per token, and 0 of a head from itself."""
    heads = corpus.layers * corpus.heads
    apart = corpus.divergence.divergence.values.reshape(heads, heads)
    if not np.isfinite(apart).all():
        yield f"{corpus.name}: the divergence between heads is not finite."
    elif not np.array_equal(apart, apart.T):
        yield f"{corpus.name}: the divergence between heads is not symmetric."
    elif apart.max() > LARGEST_DIVERGENCE * corpus.divergence.attrs["tokens"] * (1 + ROUNDED):
        yield f"{corpus.name}: the divergence between heads exceeds ln 2 per token."
    elif np.diagonal(apart).any():
        yield f"{corpus.name}: a head diverges from itself."


def _wrong_roles(corpus: Corpus, recomputed: int) -> Iterator[str]:
    """Shares of roles must sum to 1, scores lie within 0 and 1, and biases follow from the attention and the text."""
    shares = corpus.roles.share
    known = shares.where(shares.notnull(), 1 / shares.sizes["role"])  # unknown where the sentences have no words
    if not np.allclose(known.sum("role"), 1, atol=SHARES_ROUNDED) or (known < -SHARES_ROUNDED).any():
        yield f"{corpus.name}: the shares of the roles are not parts of a whole."
    if not ((corpus.rules.iou >= 0) & (corpus.rules.iou <= 1 + ROUNDED)).all():
        yield f"{corpus.name}: an overlap of rules with attention is not between 0 and 1."
    biases = corpus.role_biases
    names = biases.sieve.values.tolist()
    for place, sentence in enumerate(biases.sentence.values.tolist()[:recomputed]):
        tokens = {mask: corpus.rule_text.sentence(sentence, mask) for mask in {*corpus.masks}}
        sieves = {mask: Sieves.of(targets_of(names, of) > 0, of.is_word, mask) for mask, of in tokens.items()}
        expected = np.stack(
            [sieves[mask].bias(corpus.weights(sentence, layer=layer)) for layer, mask in enumerate(corpus.masks)]
        )
        if not np.allclose(biases.values[:, :, place], expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            yield f"{corpus.name}: the biases of roles in sentence {sentence} do not follow from its attention."


def wrong_features(corpus: Corpus) -> Iterator[str]:
    """A sentence for each finding in the feature points of a model."""
    for token_set in corpus.token_sets:
        features, title = corpus.features(token_set), f"{corpus.name}: the feature points of {token_set}"
        if token_set == SAMPLE and not _are_of_the_corpus(features, corpus):
            yield f"{title} are not those of the tokens of the corpus."
        if not _is_finite(features):
            yield f"{title} are not all finite."
        elif not _follows(features):
            yield f"{title} contradict their stored similarity."


def _are_of_the_corpus(features: Features, corpus: Corpus) -> bool:
    """Whether the tokens of the sample equal the tokens of the corpus, row by row."""
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
    """Whether the stored similarity follows from the stored vectors."""
    sums = np.zeros((len(features.points),) * 2)
    for start in range(0, features.n_tokens, TOKENS):
        sums += summed_cosine(features.feature[:, start : start + TOKENS].values.astype(np.float32))
    return bool(np.allclose(sums / features.n_tokens, features.similarity.values, atol=COSINE_ROUNDED))

"""Stage `normalizations`: the constants of every normalisation for every head, and the correlations they reach.

A head's scale and translation are chosen by the weighted correlation of dot product and distance (AttentionViz, section 4.2).
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import cpu_count
from typing import Any, TypeVar

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.sample import Sample, Split, lengths, read_rows, span_rows
from ingest.encode.tensors import ModelGroup
from ingest.run.progress import bar
from ingest.text.blocks import PlannedCorpus
from store.kernels.projection import (
    FEWEST_PAIRS,
    NEAREST_SHARE,
    centroid_shift,
    cosine_distance,
    normalized,
    spearman,
    sphere_centre,
    weighted_correlation,
)
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writable, Writer
from store.schema import check_complete
from store.schema.pictures import NORMALIZATION_ARRAYS, NORMALIZATIONS

Floats = NDArray[np.floating]
#: The correlation of dot products and distances, and the number of pairs that it is taken over.
Correlate = Callable[[Any, Any], tuple[Any, Any]]
#: Pairs a weighted correlation is taken over: the nearest 0.5% of them are three times what it needs.
PAIRS = int(3 * FEWEST_PAIRS / NEAREST_SHARE)
#: Candidates for c are powers of 2^(1/4), at first from 1/8 to 8; the paper's seven are 0.2, 0.4, 0.8, 1, 1.25, 2.5, 5.
STEP, GRID = 2**0.25, 12
#: The grid is widened while its best candidate lies on a border, at most to 2^8 and 2^-8.
WIDENED, WIDEST = 8, 32
#: Weights of all heads that are judged together, queries of a sentence with its keys.
JUDGED_WEIGHTS = 1 << 20


@dataclass(frozen=True)
class Pairs:
    """Queries and keys of the same sentence, as places in the sample: (pair,) each."""

    query: NDArray[np.int64]
    key: NDArray[np.int64]

    @classmethod
    def within(cls, sizes: NDArray[np.int64], *, most: int = PAIRS) -> "Pairs":
        """All pairs of the first sentences that have `most` pairs together; of all sentences where they have fewer.

        Long sentences may have more than twice as many: an even part of their pairs is taken.
        """
        pairs = np.cumsum(sizes**2)
        count = int(np.searchsorted(pairs, most)) + 1
        ends = np.cumsum(sizes[:count])
        if (every := int(pairs[:count][-1])) > 2 * most:
            chosen = np.linspace(0, every - 1, most).astype(np.int64)
            sentence = np.searchsorted(pairs, chosen, side="right")
            size = sizes[sentence]
            row, column = np.divmod(chosen - (pairs[sentence] - size**2), size)
            first = ends[sentence] - size
            return cls(first + row, first + column)
        each = [
            np.indices((size, size)).reshape(2, -1) + end - size for size, end in zip(sizes[:count], ends, strict=True)
        ]
        return cls(*np.concatenate(each, axis=1))

    @property
    def tokens(self) -> int:
        """Number of the sample's first tokens that hold all pairs."""
        return int(self.query.max()) + 1


@dataclass(frozen=True)
class Scaling:
    """The best candidate of one head: query c, key / c + shift."""

    scale: float
    shift: Floats
    correlation: float


def correlations(query: Floats, key: Floats, shift: Floats, pairs: Pairs) -> Floats:
    """Weighted correlation (candidate,) of q.k and the distance of q c and (k + shift) / c on the first grid, NaN with too few pairs."""
    dot = dot_products(query, key, pairs)
    terms = _Terms.of(query, key + shift, pairs)
    return np.array([weighted_correlation(dot, terms.distance(STEP**step))[0] for step in range(-GRID, GRID + 1)])


def dot_products(query: Floats, key: Floats, pairs: Pairs) -> Floats:
    """Products q.k (pair,) of queries and keys (token, channel) of a head."""
    products: Floats = np.einsum("pc,pc->p", query[pairs.query], key[pairs.key])
    return products


def pair_distances(query: Floats, key: Floats, shift: Floats, dot: Floats, pairs: Pairs) -> Floats:
    """Distance (pair,) of normalised queries and keys (token, channel) of a head.

    `dot` is q.k (pair,) before the normalisation; the shift of keys adds its product with the query, so that a pair costs no product.
    """
    squares = [(vectors * vectors).sum(axis=-1) for vectors in (query, key)]
    own = squares[0] - 2 * query[:, : len(shift)] @ shift
    return np.sqrt(np.clip(own[pairs.query] + squares[1][pairs.key] - 2 * dot, 0, None))


def choose_scaling(
    query: Floats, key: Floats, pairs: Pairs, *, correlate: Correlate = weighted_correlation, finer: int = 1
) -> Scaling:
    """Choose the translation (none or the centroids') and the c whose correlation is nearest to -1.

    `query`, `key` are (token, channel) of one head. With too few pairs c is 1 and the translation the paper's. The grid has
    `finer` steps in place of one.
    """
    dot = dot_products(query, key, pairs)
    centres = {"none": (np.zeros_like(query[0]), np.zeros_like(key[0])), "centroid": (query.mean(0), key.mean(0))}
    best = Scaling(1.0, centres["centroid"][0] - centres["centroid"][1], np.nan)
    for query_centre, key_centre in centres.values():
        terms = _Terms.of(query - query_centre, key - key_centre, pairs)
        scale, correlation = _search(dot, terms, correlate, finer)
        if not np.isnan(correlation) and not correlation >= best.correlation:
            best = Scaling(scale, query_centre * scale - key_centre / scale, correlation)
    return best


@dataclass(frozen=True)
class _Terms:
    """Terms of the squared distance, c^2 |q|^2 + |k|^2 / c^2 - 2 q.k, so that a candidate costs no product."""

    query_square: Floats
    key_square: Floats
    product: Floats

    @classmethod
    def of(cls, query: Floats, key: Floats, pairs: Pairs) -> "_Terms":
        squares = [(vectors * vectors).sum(axis=-1) for vectors in (query, key)]
        return cls(squares[0][pairs.query], squares[1][pairs.key], dot_products(query, key, pairs))

    def distance(self, scale: float) -> Floats:
        square = scale**2 * self.query_square + self.key_square / scale**2 - 2 * self.product
        return np.sqrt(np.clip(square, 0, None))


def _search(dot: Floats, terms: _Terms, correlate: Correlate, finer: int) -> tuple[float, float]:
    """The candidate with the lowest correlation, and this correlation; NaN where there are too few pairs."""
    correlation_of: dict[int, float] = {}
    factor, steps = STEP ** (1 / finer), range(-GRID * finer, GRID * finer + 1)
    while True:
        correlation_of |= {
            step: float(correlate(dot, terms.distance(factor**step))[0]) for step in steps if step not in correlation_of
        }
        if np.isnan(list(correlation_of.values())).any():
            return 1.0, np.nan
        best = min(correlation_of, key=lambda step: correlation_of[step])
        if best not in (min(correlation_of), max(correlation_of)) or abs(best) >= WIDEST * finer:
            return factor**best, correlation_of[best]
        steps = range(best - WIDENED * finer, best + WIDENED * finer + 1)


VERSION = "normalizations/1"
#: Arrays of a layer's heads, with one value for each normalisation.
_WRITTEN = ("scale", "shift", "radius", "weighted_correlation", "pairs", "spearman")

T = TypeVar("T")


@dataclass(frozen=True)
class Constants:
    """Constants of a normalisation for some heads: scale (head,), shift (head, channel), radius (head,) in exact mode."""

    scale: Floats
    shift: Floats
    radius: Floats | None = None

    @classmethod
    def unchanged(cls, heads: int, channels: int) -> "Constants":
        """Constants that leave queries and keys as they are."""
        return cls(np.ones(heads), np.zeros((heads, channels)))

    def of_layer(self, layer: int | slice) -> "Constants":
        """The constants of a layer, or of some heads: of an index or a slice of the first dim."""
        return Constants(self.scale[layer], self.shift[layer], None if self.radius is None else self.radius[layer])

    def apply(self, query: Floats, key: Floats) -> tuple[Floats, Floats]:
        """Normalised queries and keys (head, token, channel [+ 1])."""
        moved: tuple[Floats, Floats] = normalized(query, key, scale=self.scale, shift=self.shift, radius=self.radius)
        return moved

    def apply_in_float32(self, query: Floats, key: Floats) -> tuple[Floats, Floats]:
        """Normalised vectors in float32; exact mode computes in float64, as long keys would lose the difference of two squares."""
        if self.radius is None:
            return Constants(self.scale.astype(np.float32), self.shift.astype(np.float32)).apply(query, key)
        heads = [self.of_layer(slice(head, head + 1)).apply(query[[head]], key[[head]]) for head in range(len(key))]
        exact_query, exact_key = (
            np.concatenate(each, dtype=np.float32, casting="same_kind") for each in zip(*heads, strict=True)
        )
        return exact_query, exact_key


@dataclass(frozen=True)
class LayerVectors:
    """Queries and keys (head, token, channel) of a layer as they are stored, and the constants of a normalisation.

    Without constants the vectors are shown as they are: raw, or normalised before.
    """

    query: Floats
    key: Floats
    constants: Constants | None = None

    @cached_property
    def normalized(self) -> tuple[Floats, Floats]:
        """Normalised queries and keys, in float32."""
        return (
            (self.query, self.key) if self.constants is None else self.constants.apply_in_float32(self.query, self.key)
        )


def normalize_corpus(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, split: Split) -> bool:
    """Bring the constants up to date; False if there was nothing to do."""
    group, sample = writer.group(f"{model.path}/normalizations"), split.fitted
    # The hash covers the sentences that judge, too: as long as there are few, growth adds to them.
    read = replace(sample, rows=np.union1d(sample.rows, span_rows(split.judging)))
    wanted = str(read.content_hash(model, corpus, version=VERSION, held_out=len(split.held_out) > 0))
    if group.attrs.get("hash") == wanted and _names(group) == list(NORMALIZATIONS):
        return False
    _fill(writer, model, split, layers=_create(writer, model))
    group.attrs.update(
        {
            "hash": wanted,
            "fitted_on": f"the first {sample.sentences:,} sentences, {sample.tokens:,} tokens",
            "judged_on": split.judged_on,
        }
    )
    writer.commit(f"{model.key}: normalisations")
    return True


def _create(writer: Writer, model: ModelGroup) -> int:
    """Create the empty arrays of the constants; returns the number of layers."""
    group = writer.group(f"{model.path}/normalizations")
    layers, heads, _, channels = array_of(writer.group(model.path), "query").shape
    sizes = {"layer": layers, "head": heads, "channel": channels, "normalization": len(NORMALIZATIONS)}
    create_arrays(group, NORMALIZATION_ARRAYS, sizes)
    array_of(group, "normalization")[:] = np.array(list(NORMALIZATIONS), dtype=object)
    array_of(group, "layer")[:], array_of(group, "head")[:] = np.arange(layers), np.arange(heads)
    return layers


def _fill(writer: Writer, model: ModelGroup, split: Split, *, layers: int) -> None:
    """Write the constants of every layer; `shared` needs the constants of all layers."""
    sample = split.fitted
    pairs = Pairs.within(lengths(sample.spans))
    with bar("normalizing", total=3 * layers, unit="layers") as progress:
        own = []
        for layer in range(layers):
            own.append(_own(writer, model, layer, sample, pairs))
            progress.update()
        shared = _shared(writer, model, sample, pairs, own, progress.update)
        for layer, constants in enumerate(own):
            _write(writer, model, layer, {**constants, "shared": shared}, split, pairs)
            progress.update()


def read_constants(writer: Writable, model: ModelGroup) -> dict[str, Constants]:
    """Constants of every normalisation, with a leading dim layer: `scale` (layer, head), and so on."""
    group = writer.group(f"{model.path}/normalizations")
    scale, shift, radius = (np.asarray(array_of(group, name)[:]) for name in ("scale", "shift", "radius"))
    return {
        name: Constants(scale[place], shift[place], None if np.isnan(radius[place]).all() else radius[place])
        for place, name in enumerate(_names(group))
    }


def _names(group: zarr.Group) -> list[str]:
    """The normalisations whose constants are stored."""
    return list(np.asarray(array_of(group, "normalization")[:])) if "normalization" in group else []


def _own(writer: Writer, model: ModelGroup, layer: int, sample: Sample, pairs: Pairs) -> dict[str, Constants]:
    """Constants of a layer by normalisation, for all that need no other layer."""
    query, key = read_rows(writer, model, layer, sample.rows)
    return {name: constants(query, key, pairs) for name, constants in OF_LAYER.items()}


def _moved(shift: Floats) -> Constants:
    """Constants that only translate the keys of each head (head, channel)."""
    return Constants(np.ones(len(shift)), shift)


def _unmoved(key: Floats) -> Constants:
    return _moved(np.zeros((len(key), key.shape[-1])))


def _scaled(query: Floats, key: Floats, pairs: Pairs) -> Constants:
    chosen = _each_head(lambda head: choose_scaling(query[head], key[head], pairs), len(key))
    return Constants(
        np.array([constants.scale for constants in chosen]), np.stack([constants.shift for constants in chosen])
    )


def _exact(key: Floats) -> Constants:
    return replace(_unmoved(key), radius=np.sqrt((key * key).sum(axis=-1)).max(axis=-1))


#: Every normalisation but `shared`, from the queries and keys (head, token, channel) of a layer, in float32, and pairs of them.
OF_LAYER: Mapping[str, Callable[[Floats, Floats, Pairs], Constants]] = {
    "raw": lambda _query, key, _pairs: _unmoved(key),
    "centroid": lambda query, key, _pairs: _moved(centroid_shift(query.astype(np.float64), key.astype(np.float64))),
    "scaled": _scaled,
    "sphere": lambda _query, key, _pairs: _moved(-sphere_centre(key.astype(np.float64))),
    "exact": lambda _query, key, _pairs: _exact(key.astype(np.float64)),
}
check_complete(__name__, [*OF_LAYER, "shared"], NORMALIZATIONS, "normalisation")


def _shared(
    writer: Writer,
    model: ModelGroup,
    sample: Sample,
    pairs: Pairs,
    own: list[dict[str, Constants]],
    update: Callable[[], object],
) -> Constants:
    """Constants of one translation for all heads, the mean of their centroid shifts, and the c that suits them best on average."""
    shift = np.mean([constants["centroid"].shift for constants in own], axis=(0, 1))
    grids = []
    for layer in range(len(own)):
        query, key = read_rows(writer, model, layer, sample.rows[: pairs.tokens])
        grids += _each_head(partial(_on_grid, query, key, shift, pairs), len(key))
        update()
    means = np.mean(grids, axis=0)
    scale = 1.0 if np.isnan(means).any() else STEP ** (int(means.argmin()) - GRID)
    heads = len(own[0]["raw"].scale)
    return Constants(np.full(heads, scale), np.tile(shift / scale, (heads, 1)))


def _on_grid(query: Floats, key: Floats, shift: Floats, pairs: Pairs, head: int) -> Floats:
    return correlations(query[head], key[head], shift, pairs)


def _write(
    writer: Writer, model: ModelGroup, layer: int, constants: Mapping[str, Constants], split: Split, pairs: Pairs
) -> None:
    group = writer.group(f"{model.path}/normalizations")
    fitted = read_rows(writer, model, layer, split.fitted.rows[: pairs.tokens])
    judged = read_rows(writer, model, layer, span_rows(split.judging))
    normalizations = [constants[name] for name in NORMALIZATIONS]
    spearmans = judge(*judged, normalizations, lengths(split.judging))
    dots = _each_head(lambda head: dot_products(fitted[0][head], fitted[1][head], pairs), len(fitted[0]))
    rows = []
    for normalization, spearman_of_head in zip(normalizations, spearmans, strict=True):
        correlation, count = _correlation(dots, normalization, *fitted, pairs)
        radius = np.full(len(normalization.scale), np.nan) if normalization.radius is None else normalization.radius
        rows.append((normalization.scale, normalization.shift, radius, correlation, count, spearman_of_head))
    for name, values in zip(_WRITTEN, zip(*rows, strict=True), strict=True):
        array_of(group, name)[:, layer] = np.stack(values)


def _correlation(
    dots: Sequence[Floats], normalization: Constants, query: Floats, key: Floats, pairs: Pairs
) -> tuple[Floats, Floats]:
    """Weighted correlation (head,) of q.k and the distance after a normalisation, and the pairs behind it."""

    def of_head(head: int) -> tuple[Floats, Floats]:
        one = slice(head, head + 1)
        moved_query, moved_key = (vectors[0] for vectors in normalization.of_layer(one).apply(query[one], key[one]))
        distance = pair_distances(moved_query, moved_key, normalization.shift[head], dots[head], pairs)
        correlation: tuple[Floats, Floats] = weighted_correlation(dots[head], distance)
        return correlation

    correlation, count = zip(*_each_head(of_head, len(query)), strict=True)
    return np.array(correlation), np.array(count)


def judge(
    query: Floats,
    key: Floats,
    normalizations: Sequence[Constants],
    sizes: NDArray[np.int64],
    *,
    together: int = JUDGED_WEIGHTS,
) -> Floats:
    """Spearman (normalization, head) of q.k and cosine distance per query of its sentence, mean over sentences.

    As in AttentionViz, section 5. Ranking takes most of the time: q.k is ranked once for all normalisations.
    """
    total = np.zeros((len(normalizations), len(query)))
    for size, end in zip(sizes, np.cumsum(sizes), strict=True):
        k, rows = key[:, end - size : end], max(1, together // (len(query) * int(size)))
        for first in range(end - size, end, rows):
            q = query[:, first : min(end, first + rows)]
            distances = [cosine_distance(*normalization.apply(q, k)) for normalization in normalizations]
            total += spearman(q @ np.swapaxes(k, -1, -2), np.stack(distances)) * (q.shape[1] / size)
    return total / len(sizes)


def _each_head(act: Callable[[int], T], heads: int) -> list[T]:
    """Call `act` for every head, on all cores: numpy releases the lock while it computes."""
    with ThreadPoolExecutor(cpu_count()) as pool:
        return list(pool.map(act, range(heads)))

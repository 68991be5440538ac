"""A view of the heads in the store: whether it is up to date, its fits, its places, its fidelity.

This module also has the queries and keys that pictures are computed from, their normalisations, and hashes of what pictures depend on.
Fidelity says of each head how well distance on screen tells attention, on held-out sentences. Its measures are those of
`store.kernels.projection`, of all rows of a head at once (`compiled_places.py`). What does not depend on the picture is ranked once for
all pictures.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.sample import Sample, Spans, Split, evenly, lengths, read_rows, span_rows
from ingest.encode.tensors import ModelGroup
from ingest.projections.normalizations import Constants, LayerVectors, read_constants
from ingest.projections.projection import PROJECTIONS, Parameters, PlaceGrid
from ingest.run.parallel import side_by_side
from ingest.run.settings import USUAL, Limits
from ingest.text.blocks import Block, PlannedCorpus, content_hash
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias
from store.kernels.projection import compared_neighbours, trust_of_excess, unit
from store.repository.arrays import array_of, create_arrays, write_block
from store.repository.tiles import read_slices
from store.repository.writer import Writable
from store.schema import TILE
from store.schema.model import ROLES
from store.schema.pictures import JUDGED, MEASURES, PARAMETERS, RAW, RECALL_KEYS, VIEW_ARRAYS, ViewName

#: Width of the cube over that of the fitted tokens' places, so that few other tokens lie outside.
MARGIN = 1.1
Floats = NDArray[np.floating]
#: Version of the fidelity: changes whenever the code changes its numbers.
VERSION = "fidelity/1"
Numbers = NDArray[np.int64]
#: Tokens whose queries and keys trustworthiness compares with each other: it takes the square of their number.
TRUSTED_TOKENS = 300
#: Queries, and keys from anywhere, of measure `across`.
ACROSS_QUERIES, ACROSS_KEYS = 100, 600


class HeadView:
    """A view group. `fit_hash` identifies what its fits are computed from, `block_hashes` what the blocks of the plan hold."""

    def __init__(
        self, writer: Writable, model: ModelGroup, name: ViewName, fit_hash: int, block_hashes: Sequence[int]
    ) -> None:
        self.writer, self.model, self.name, self.fit_hash = writer, model, name, fit_hash
        hashes = [content_hash({"fit": fit_hash, "block": block}) for block in block_hashes]
        self.view_hashes = np.array(hashes, np.uint64)
        self.path = f"{model.path}/views/{name}"
        self.layers = int(array_of(writer.group(model.path), "query").shape[0])

    @property
    def group(self) -> zarr.Group:
        """The view group in the current transaction."""
        return self.writer.group(self.path)

    # -- what is up to date -------------------------------------------------------------------------

    def unfitted(self) -> list[int]:
        """Layers whose fit is missing or was computed from something else."""
        done = self._read("fit_hash")
        return [layer for layer in range(self.layers) if layer >= len(done) or int(done[layer]) != self.fit_hash]

    def finished(self, corpus: PlannedCorpus) -> bool:
        """Whether the view is complete, for exactly this plan."""
        up_to_date = not self.unfitted() and not self.stale().any()
        return up_to_date and self.group.attrs.get("sentences") == corpus.sentences

    def stale(self) -> NDArray[np.bool_]:
        """Mask (block, layer) of the plan's blocks whose places are missing or were computed from something else."""
        done = self._read("view_hash")[: len(self.view_hashes)]
        stale = np.ones((len(self.view_hashes), self.layers), bool)
        stale[: len(done)] = done != self.view_hashes[: len(done), None]
        return stale

    def _read(self, name: str) -> NDArray[np.uint64]:
        group = self.group
        return np.asarray(array_of(group, name)[:]) if name in group else np.zeros((0, self.layers), np.uint64)

    @property
    def judged_hash(self) -> str:
        """Hash of what the fidelity was computed from; empty where a fit has changed since."""
        return str(self.group.attrs.get("judged_hash", ""))

    # -- writing ------------------------------------------------------------------------------------

    def prepare(self, *, features: int, length: int) -> None:
        """Create missing arrays, with room for the blocks of the model."""
        layers, heads, rows, _ = array_of(self.writer.group(self.model.path), "query").shape
        sizes = {"layer": layers, "head": heads, "token": rows, "block": length, "task": rows // length}
        sizes |= {"tile": min(TILE, length), "role": len(ROLES), "component": self.name.components}
        sizes |= {"feature": features, "measure": len(MEASURES), "judged": len(JUDGED)}
        create_arrays(self.group, VIEW_ARRAYS, sizes)
        for name, values in {"layer": np.arange(layers), "head": np.arange(heads)}.items():
            array_of(self.group, name)[:] = values
        for name, names in {"role": ROLES, "measure": MEASURES, "judged": JUDGED}.items():
            array_of(self.group, name)[:] = np.array(names, dtype=object)

    def write_fit(self, layer: int, parameters: Parameters, fitted: Floats) -> None:
        """Write a layer's formula, and the cubes around the places (head, role, token, component) of the fitted tokens."""
        self._create_parameters(parameters)
        self.group.attrs.pop("judged_hash", None)
        cubes = PlaceGrid.around(fitted, panels=1, margin=MARGIN)
        values: dict[str, Any] = {
            **parameters,
            "low": cubes.low,
            "side": cubes.side,
            "fit_hash": np.uint64(self.fit_hash),
        }
        for name, value in values.items():
            array_of(self.group, name)[layer] = value

    def _create_parameters(self, parameters: Parameters) -> None:
        """Arrays for the formula; anew where its size has changed, as with a sample of fewer tokens than before."""
        group, arrays = self.group, PARAMETERS[self.name.projection]
        sizes = {"layer": self.layers}
        for name, values in parameters.items():
            sizes |= dict(zip(arrays[name].dims[1:], values.shape, strict=True))
        for name in parameters:
            if name in group and array_of(group, name).shape[1:] != parameters[name].shape:
                del group[name]
        create_arrays(group, {name: arrays[name] for name in parameters}, sizes)

    def parameters(self, layer: int) -> Parameters:
        """A layer's formula."""
        return {name: np.asarray(array_of(self.group, name)[layer]) for name in PARAMETERS[self.name.projection]}

    def write_places(self, layer: int, block: Block, places: Floats) -> NDArray[np.int64]:
        """Write the places of a block's tokens in a layer: (head, role, token, component). Padding is 0.

        Writes whole chunks, so that several processes may place blocks; returns how many points of each head are outside its cube.
        """
        coordinates, outside = self._cubes[layer].encode(places)
        content = np.zeros((len(places), len(ROLES), block.length, self.name.components), np.uint16)
        content[:, :, : block.tokens] = coordinates
        write_block(array_of(self.group, "coordinates"), content, block=block.index, layer=layer)
        return outside

    def note_places(self, layer: int, block: Block, outside: NDArray[np.int64]) -> None:
        """Note that a block's tokens are placed in a layer, and how many points of each head are outside its cube."""
        array_of(self.group, "beyond")[block.index, layer] = outside
        array_of(self.group, "view_hash")[block.index, layer] = self.view_hashes[block.index]

    def places(self, layer: int, rows: NDArray[np.int64]) -> Floats:
        """Stored places (head, role, token, component) of ascending rows of the token axis, rounded as on screen."""
        coordinates, start = array_of(self.group, "coordinates"), int(rows[0])
        _, heads, roles, _, components = (slice(0, size) for size in coordinates.shape)
        span = slice(layer, layer + 1), heads, roles, slice(start, int(rows[-1]) + 1), components
        return self._cubes[layer].decode(read_slices(coordinates, span)[0][:, :, rows - start])

    @cached_property
    def _cubes(self) -> list[PlaceGrid]:
        """The cubes of every layer's heads; read when all are fitted."""
        low, side = (np.asarray(array_of(self.group, name)[:]) for name in ("low", "side"))
        return [PlaceGrid(*own) for own in zip(low, side, strict=True)]

    def write_fidelity(self, layer: int, judged: str, measures: Floats | float) -> None:
        """Write the measures (measure, head) of a layer; NaN where there was nothing to judge on."""
        array_of(self.group, "fidelity")[:, JUDGED.index(judged), layer] = measures

    def outside(self, blocks: int) -> int:
        """Number of points of the first blocks that are outside their cubes."""
        return int(np.asarray(array_of(self.group, "beyond")[:blocks]).sum())

    def describe(self, facts: Mapping[str, str | int | float]) -> None:
        """Write how the picture was computed, once it is whole."""
        self.group.attrs.update({**facts})


def has_been_whole(view: zarr.Group) -> bool:
    """Whether the view was complete before; False where an interrupted ingest began it."""
    return "sentences" in view.attrs


@dataclass(frozen=True)
class HeadVectors:
    """Queries and keys that pictures of heads are computed from, and their normalisations."""

    writer: Writable
    model: ModelGroup
    corpus: PlannedCorpus
    split: Split
    seed: int
    device: str
    limits: Limits = USUAL

    def view(self, name: ViewName) -> HeadView:
        """The view group, with the hashes of what its fits and places depend on."""
        return HeadView(self.writer, self.model, name, self.fit_hash(name), self.block_hashes)

    def fit_hash(self, name: ViewName) -> int:
        """Hash of everything the fits depend on. Its inputs never change, or every store would be fitted again."""
        row = PROJECTIONS[name.projection]
        seed = 0 if row.fit == "pca" else self.seed
        identity = {"view": str(name), "version": row.version, "seed": seed, "tokens": self.fit_sample(name).tokens}
        # A hash of the whole sample, also where the fit takes only a part of it: the normalisation's constants depend on it.
        return self.split.fitted.content_hash(self.model, self.corpus, **identity)

    def judged_hash(self, name: ViewName) -> str:
        """Hash of everything the fidelity depends on: the fit, and the sentences that judge it."""
        spans = self.split.held_out if len(self.split.held_out) else self.split.fitted.spans
        identity = {"version": VERSION, "fit": self.fit_hash(name)}
        return str(Sample(spans, span_rows(spans)).content_hash(self.model, self.corpus, **identity))

    @cached_property
    def block_hashes(self) -> list[int]:
        """Hash of every block of the plan, read once: every picture is compared with them."""
        return [self.model.block_hash(block) for block in self.corpus.blocks]

    @cached_property
    def constants(self) -> dict[str, Constants]:
        """Constants of every normalisation; they are complete before the first picture that needs any."""
        return read_constants(self.writer, self.model)

    def fit_sample(self, name: ViewName) -> Sample:
        """The sample that a picture is fitted on."""
        tokens = self.head_tokens(name)
        return self.split.fitted if tokens is None else self.split.fitted.first(tokens)

    def head_tokens(self, name: ViewName) -> int | None:
        """Tokens that a picture is fitted on; None is the whole sample."""
        tokens = PROJECTIONS[name.projection].head_tokens
        return None if tokens is None else min(tokens, self.limits.head_tokens)

    def normalized(self, layer: int, name: str, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Normalised queries and keys (head, token, channel) of a layer at rows of the token axis, in float32."""
        return self.layer_vectors(layer, rows, [name])[name].normalized

    def layer_vectors(self, layer: int, rows: NDArray[np.int64], names: Iterable[str]) -> dict[str, LayerVectors]:
        """Vectors of a layer at rows in several normalisations: read once, and normalised at first use."""
        query, key = read_rows(self.writer, self.model, layer, rows)
        return {name: LayerVectors(query, key, self._constants_of(layer, name)) for name in names}

    def _constants_of(self, layer: int, name: str) -> Constants | None:
        """Constants of a normalisation for the heads of a layer; None for raw vectors, which need no constants."""
        return None if name == RAW else self.constants[name].of_layer(layer)


@dataclass(frozen=True)
class Rows:
    """The keys of some queries of each head, ranked by attention; a row is of one query.

    Attributes
    ----------
    first
        Number of the first key of each row: (query,).
    starts
        Index of each row's first value among the values of all rows, and the end of the last row: (query + 1,).
    ranks
        For each head, centred ranks (value,) and the keys with the largest weights (query, rank), see `compiled_places.ranked_rows`.
    """

    first: Numbers
    starts: Numbers
    ranks: list[tuple[NDArray[np.float64], Numbers]]

    @classmethod
    def of(cls, values: Floats, first: Numbers, counts: Numbers, *, most: int) -> "Rows":
        """Rank weights or logits (head, value) of rows with `counts` keys."""
        from ingest.projections.compiled_places import ranked_rows

        starts = np.append(0, np.cumsum(counts))
        return cls(first, starts, side_by_side(lambda head: ranked_rows(head, starts, most), values.astype(np.float32)))

    def agreement(self, query: Floats, key: Floats) -> Floats:
        """Spearman correlation and recall of every row (head, measure, query) of places (head, token, component)."""
        from ingest.projections.compiled_places import agreement

        def of_head(
            places: Floats, others: Floats, ranks: tuple[NDArray[np.float64], Numbers]
        ) -> tuple[Floats, Floats]:
            return agreement(places, others, self.first, self.starts, ranks[0], ranks[1])

        heads = zip(query, key, self.ranks, strict=True)
        return np.array(side_by_side(lambda head: of_head(*head), heads))


@dataclass(frozen=True)
class Judge:
    """Judges the places of a layer's heads on some sentences, in any picture.

    Attributes
    ----------
    spans
        First row and end of each sentence in the arrays that it was made from, which hold nothing else: (sentence, 2).
    within
        Each query with the keys of its sentence.
    across
        Some queries with keys from anywhere.
    similarity
        Cosines of normalised vectors (point, point) of each head, by normalisation; infinite of a vector with itself.
    """

    spans: Spans
    within: Rows
    across: Rows
    similarity: dict[str, list[Floats]]

    @classmethod
    def of(cls, vectors: Mapping[str, LayerVectors], spans: Spans, bias: AttentionBias | None = None) -> "Judge":
        """Judge from the same vectors in one or several normalisations, and the bias that the model adds to logits within a sentence."""
        stored = next(iter(vectors.values()))
        query, key = stored.query, stored.key
        some, many = _anywhere(query.shape[1])
        anywhere = side_by_side(lambda head: (head[0][some] @ head[1][many].T).ravel(), zip(query, key, strict=True))
        return cls(
            spans,
            _within(query, key, spans, bias),
            Rows.of(np.stack(anywhere), np.zeros_like(some), np.full_like(some, len(many)), most=0),
            {name: side_by_side(_similarity, zip(*own.normalized, strict=True)) for name, own in vectors.items()},
        )

    def measures(self, places: Floats, normalization: str) -> Floats:
        """Fidelity of places (head, role, token, component) by each of `store.schema.pictures.MEASURES`: (measure, head).

        The first two are means over sentences.
        """
        query, key = places[:, 0], places[:, 1]
        some, many = _anywhere(places.shape[2])
        of_queries = self.within.agreement(query, key)
        within = (np.add.reduceat(of_queries, self.spans[:, 0], axis=-1) / lengths(self.spans)).mean(axis=-1)
        across = self.across.agreement(query[:, some], key[:, many])[:, 0].mean(axis=-1)
        trust = side_by_side(_trustworthiness, zip(places, self.similarity[normalization], strict=True))
        by_name = {"spearman": within[:, 0], "recall": within[:, 1], "trustworthiness": trust, "across": across}
        return np.stack([by_name[name] for name in MEASURES])


def _within(query: Floats, key: Floats, spans: Spans, bias: AttentionBias | None) -> Rows:
    """Each query with the keys of its sentence."""
    patterns = side_by_side(
        lambda span: attention_pattern(query[:, slice(*span)], key[:, slice(*span)], bias=bias).reshape(len(query), -1),
        spans,
    )
    sizes = lengths(spans)
    each = np.repeat(sizes, sizes)
    return Rows.of(np.concatenate(patterns, axis=1), np.repeat(spans[:, 0], sizes), each, most=RECALL_KEYS)


def _similarity(head: tuple[Floats, Floats]) -> Floats:
    """Cosines (point, point) of some of a head's queries and keys."""
    chosen = evenly(len(head[0]), TRUSTED_TOKENS)
    points = unit(np.concatenate([vectors[chosen] for vectors in head])).astype(np.float32)
    similarity = points @ points.T
    np.fill_diagonal(similarity, np.inf)
    return similarity


def _trustworthiness(head: tuple[Floats, Floats]) -> float:
    """Trustworthiness of places (role, token, component), from the similarity of their vectors."""
    from ingest.projections.compiled_places import excess_ranks

    places, similarity = head
    points = np.concatenate(list(places[:, evenly(places.shape[1], TRUSTED_TOKENS)]))
    count = compared_neighbours(len(points))
    return trust_of_excess(excess_ranks(similarity, points, count), points=len(points)) if count else float("nan")


def _anywhere(tokens: int) -> tuple[Numbers, Numbers]:
    return evenly(tokens, ACROSS_QUERIES), evenly(tokens, ACROSS_KEYS)

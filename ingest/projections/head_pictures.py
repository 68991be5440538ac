"""Pictures of every head: fitted layer by layer on a sample, every other token placed block by block, then judged.

A fit of a layer and the places of a layer each end in a commit. Pictures of one kind are placed and judged together:
queries and keys are read once for all of them, normalised once for each normalisation, and ranked once.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import groupby
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import Sample, Spans, Split, beginnings, lengths, span_rows
from ingest.encode.tensors import ModelGroup
from ingest.projections.attention_projection import AttentionProjection
from ingest.projections.head_view import HeadVectors, HeadView, Judge
from ingest.projections.normalizations import LayerVectors
from ingest.projections.projection import PROJECTIONS, Fits, HeadProjection, Nearest, Parameters, Read
from ingest.run.checkpoint import Checkpoint
from ingest.run.cluster import Cluster
from ingest.run.errors import IngestError
from ingest.run.parallel import core_count, side_by_side
from ingest.run.progress import bar
from ingest.run.settings import Limits, Settings
from ingest.text.blocks import Block, PlannedCorpus
from store.bias import read_bias
from store.phrases import one
from store.repository.arrays import array_of
from store.repository.writer import Writable, Writer
from store.schema.pictures import JUDGED, MEASURES, RAW, ViewName

Floats = NDArray[np.floating]


def check_views(settings: Settings, checkpoint: Checkpoint) -> None:
    """Refuse pictures that are trained on attention where it does not follow from the vectors that they show."""
    for name in settings.view_names:
        trained = PROJECTIONS[name.projection].fit == "attention"
        if trained and name.normalization != RAW and checkpoint.family.adds_products:
            raise IngestError(
                f"{name} cannot be trained on {checkpoint.name}: what {one(checkpoint.family.name)} adds to scores follows from raw queries "
                f"and keys. Give attention-{RAW}-{name.components}d in its stead."
            )


def pending_pictures(
    writer: Writer, head_vectors: HeadVectors, names: list[ViewName], cluster: Cluster | None = None
) -> list["HeadPictures"]:
    """The pictures that are not finished, in groups that are placed together."""
    pending = [
        [name for name in group if not head_vectors.view(name).finished(head_vectors.corpus)]
        for group in _placed_together(names)
    ]
    workers = None if cluster is None else partial(cluster.joined, writer)
    return [HeadPictures(head_vectors, group, workers) for group in pending if group]


def _placed_together(names: list[ViewName]) -> list[list[ViewName]]:
    """Pictures grouped by kind; t-SNE and UMAP are one kind."""
    groups: dict[str, list[ViewName]] = {}
    for name in names:
        row = PROJECTIONS[name.projection]
        groups.setdefault(row.fit if row.exact else "neighbours", []).append(name)
    return list(groups.values())


def finished_views(head_vectors: HeadVectors, names: list[ViewName]) -> list[str]:
    """The whole pictures: fewer dimensions first, then the most faithful on held-out sentences, or on those of the fit."""
    whole = [name for name in names if head_vectors.view(name).finished(head_vectors.corpus)]

    def rank(name: ViewName) -> tuple[int, float]:
        fidelity = array_of(head_vectors.view(name).group, "fidelity")
        held_out, fitted = (
            np.asarray(fidelity[MEASURES.index("spearman"), JUDGED.index(sentences)]) for sentences in JUDGED
        )
        return name.components, float(np.where(np.isnan(held_out), fitted, held_out).mean())

    return [str(name) for name in sorted(whole, key=rank)]


def record_finished_views(writer: Writer, head_vectors: HeadVectors, names: list[ViewName]) -> bool:
    """List the whole pictures in the model's attributes, the first that readers see in front; False if they are listed already."""
    attributes, whole = writer.group(head_vectors.model.path).attrs, finished_views(head_vectors, names)
    if attributes.get("views") == whole:
        return False
    attributes["views"] = whole
    writer.commit(f"{head_vectors.model.key}: views")
    return True


#: Runs a task on the items of every transaction, see `Cluster.joined`.
Workers = Callable[
    ["BlockPlaces", Iterable[Sequence["Placed"]]],
    Iterator[tuple[Sequence["Placed"], list[list[NDArray[np.int64]]]]],
]
#: A layer, a block, and the number of its first token among all tokens of the plan.
Placed = tuple[int, Block, int]


@dataclass(frozen=True)
class BlockPlaces:
    """Places a block in every picture of a layer, on a worker."""

    model: ModelGroup
    split: Split
    seed: int
    device: str
    limits: Limits
    names: list[ViewName]

    @classmethod
    def of(cls, head_vectors: HeadVectors, names: list[ViewName]) -> "BlockPlaces":
        """The task for some pictures, with no more of the sample than the places depend on."""
        tokens = max(head_vectors.head_tokens(name) or 0 for name in names)
        split = replace(head_vectors.split, fitted=head_vectors.split.fitted.first(tokens))
        return cls(head_vectors.model, split, head_vectors.seed, head_vectors.device, head_vectors.limits, names)

    def __call__(self, fork: Writable, item: Placed) -> list[NDArray[np.int64]]:
        """Place and write a block; returns, for each picture, how many points of each head are outside its cube."""
        layer, block, first = item
        vectors = _OfWorker(fork, self.model, PlannedCorpus("", []), self.split, self.seed, self.device, self.limits)
        pictures = HeadPictures(vectors, self.names)
        (places,) = pictures.places(layer, pictures.parameters(layer), [(block, first)])
        return pictures.write(layer, block, places)


class _OfWorker(HeadVectors):
    """A worker need not know what is up to date: it places what the driver sends."""

    def view(self, name: ViewName) -> HeadView:
        """The view group."""
        return HeadView(self.writer, self.model, name, 0, ())


@dataclass
class HeadPicture:
    """A picture: its group in the store, its projection, sample and reader of vectors, and the core seconds that its fits took."""

    view: HeadView
    projection: HeadProjection | AttentionProjection
    sample: Sample
    read: Read
    seconds: float = 0

    @cached_property
    def fits(self) -> Fits:
        """The fits of the layers that are not fitted, begun when first asked for."""
        return self.projection.begin(self.view.unfitted(), self.read)

    @property
    def normalization(self) -> str:
        """The normalisation of the vectors that the picture shows."""
        return self.view.name.normalization


class HeadPictures:
    """Pictures that are placed together, on workers where there are some."""

    def __init__(self, head_vectors: HeadVectors, names: list[ViewName], workers: Workers | None = None) -> None:
        self.head_vectors, self.names, self._workers = head_vectors, names, workers
        self._nearest: dict[tuple[str, int], Nearest] = {}
        self._placing = 0.0
        self.pictures = [
            HeadPicture(
                head_vectors.view(name), self._projection(name), head_vectors.fit_sample(name), self._reader(name)
            )
            for name in names
        ]

    def _reader(self, name: ViewName) -> Read:
        """Reads the fitted vectors of a layer once for all heads. Two layers are kept: those of one are placed while the next is fitted."""
        kept, reading = lru_cache(maxsize=2)(partial(self._fitted_vectors, name)), Lock()

        def read(layer: int) -> tuple[Floats, Floats]:
            with reading:
                return kept(layer)

        return read

    def _projection(self, name: ViewName) -> HeadProjection | AttentionProjection:
        row, head_vectors = PROJECTIONS[name.projection], self.head_vectors
        if row.fit == "attention":
            sizes = lengths(head_vectors.fit_sample(name).spans)
            steps = head_vectors.limits.attention_steps
            bias = read_bias(head_vectors.writer.group(head_vectors.model.path))
            return AttentionProjection(
                name, sizes, seed=head_vectors.seed, device=head_vectors.device, steps=steps, bias=bias
            )
        heads = int(array_of(head_vectors.writer.group(head_vectors.model.path), "query").shape[1])
        return HeadProjection(name, self._nearest_of(name), heads=heads, seed=head_vectors.seed)

    def _nearest_of(self, name: ViewName) -> Nearest:
        """The search for fitted points, shared by all pictures of a normalisation that are fitted on the same tokens."""
        key = name.normalization, self.head_vectors.fit_sample(name).tokens
        if key not in self._nearest:
            self._nearest[key] = Nearest(partial(self._fitted_vectors, name), device=self.head_vectors.device)
        return self._nearest[key]

    def _fitted_vectors(self, name: ViewName, layer: int) -> tuple[Floats, Floats]:
        rows = self.head_vectors.fit_sample(name).rows
        return self.head_vectors.normalized(layer, name.normalization, rows)

    def begin(self) -> None:
        """Start the fits of the layers that are not fitted. The heads of a layer are read when their turn is near."""
        for picture in self.pictures:
            _ = picture.fits

    def draw(self) -> Iterator[str]:
        """Fit every layer of every picture, then place and judge all pictures layer by layer."""
        for picture in self.pictures:
            self._unlist(picture.view)
            yield from self._fit(picture)
        unjudged = [picture for picture in self.pictures if not self._is_judged(picture.view)]
        began = time.monotonic()
        layers, key = self.pictures[0].view.layers, self.head_vectors.model.key
        stale = np.any([picture.view.stale() for picture in self.pictures], axis=0)
        title = str(self.names[0]) if len(self.names) == 1 else f"{len(self.names)} views"
        with bar(title, total=layers, unit="layers") as progress:
            blocks = [
                [block for block in self.head_vectors.corpus.blocks if stale[block.index, layer]]
                for layer in range(layers)
            ]
            for layer in self._placed(blocks):
                if unjudged:
                    self._judge(layer, unjudged)
                yield f"{key}: layer {layer} of {', '.join(map(str, self.names))}"
                progress.update()
        self._placing = time.monotonic() - began

    def _is_judged(self, view: HeadView) -> bool:
        """Whether the stored fidelity is of these fits on these sentences, as it may be after growth."""
        return view.judged_hash == self.head_vectors.judged_hash(view.name)

    def _unlist(self, view: HeadView) -> None:
        """Take a picture off the list until it is whole again, so that readers never see a part: a fit may change below its places."""
        attributes = self.head_vectors.writer.group(self.head_vectors.model.path).attrs
        shown = list(attributes.get("views", []))  # type: ignore[arg-type]
        if str(view.name) in shown:
            attributes["views"] = [name for name in shown if name != str(view.name)]

    def _fit(self, picture: HeadPicture) -> Iterator[str]:
        view, projection = picture.view, picture.projection
        key, layers = self.head_vectors.model.key, view.unfitted()
        channels = array_of(self.head_vectors.writer.group(self.head_vectors.model.path), "query").shape[-1]
        exact = view.name.normalization == "exact"
        view.prepare(features=channels + exact, length=self.head_vectors.corpus.blocks[0].length)
        yield f"{key}: room for {view.name}"
        with bar(f"fit {view.name}", total=len(layers), unit="layers") as progress:
            for layer, parameters, seconds in picture.fits(progress.update):
                vectors = LayerVectors(*picture.read(layer))
                view.write_fit(layer, parameters, projection.place(layer, parameters, vectors, 0))
                picture.seconds += seconds
                yield f"{key}: fit of {view.name}, layer {layer}"

    def _placed(self, blocks: list[list[Block]]) -> Iterator[int]:
        """Place the blocks of every layer; yield the layer when they are placed in the open transaction."""
        if self._workers is None:
            for layer, some in enumerate(blocks):
                self._place(layer, some)
                yield layer
            return
        task = BlockPlaces.of(self.head_vectors, self.names)
        items = [[(layer, block, self._first(block)) for block in some] for layer, some in enumerate(blocks)]
        for layer, (placed, outside) in enumerate(self._workers(task, items)):
            for (_, block, _), counts in zip(placed, outside, strict=True):
                self._note(layer, block, counts)
            yield layer

    def _place(self, layer: int, blocks: list[Block]) -> None:
        """Place the tokens of blocks, as many blocks at a time as there are cores."""
        parameters = self.parameters(layer)
        for start in range(0, len(blocks), at_once := core_count()):
            some = blocks[start : start + at_once]
            items = [(block, self._first(block)) for block in some]
            for block, places in zip(some, self.places(layer, parameters, items), strict=True):
                self._note(layer, block, self.write(layer, block, places))

    def _first(self, block: Block) -> int:
        """The number of the block's first token among all tokens of the plan."""
        return sum(earlier.tokens for earlier in self.head_vectors.corpus.blocks[: block.index])

    def write(self, layer: int, block: Block, places: list[Floats]) -> list[NDArray[np.int64]]:
        """Write places of a block; returns, for each picture, how many points of each head are outside its cube."""
        return [
            picture.view.write_places(layer, block, own) for picture, own in zip(self.pictures, places, strict=True)
        ]

    def _note(self, layer: int, block: Block, outside: list[NDArray[np.int64]]) -> None:
        for picture, count in zip(self.pictures, outside, strict=True):
            picture.view.note_places(layer, block, count)

    def parameters(self, layer: int) -> list[Parameters]:
        """The formula of a layer in every picture."""
        return [picture.view.parameters(layer) for picture in self.pictures]

    def places(
        self, layer: int, parameters: Sequence[Parameters], blocks: Sequence[tuple[Block, int]]
    ) -> list[list[Floats]]:
        """Places of blocks, each with the number of its first token, on one core each."""
        return side_by_side(lambda item: self._places(layer, parameters, *item), blocks)

    def _places(self, layer: int, parameters: Sequence[Parameters], block: Block, first: int) -> list[Floats]:
        """Places (head, role, token, component) of a block in every picture."""
        rows = block.rows.start + np.arange(block.tokens)
        vectors = self.head_vectors.layer_vectors(layer, rows, _normalizations(self.pictures))
        return [
            picture.projection.place(layer, own, vectors[picture.normalization], first)
            for picture, own in zip(self.pictures, parameters, strict=True)
        ]

    def _judge(self, layer: int, pictures: list[HeadPicture]) -> None:
        """Judge pictures on held-out sentences, and on some of those that each was fitted on."""
        self._judge_on("held_out", layer, self.head_vectors.split.held_out, pictures)
        most = self.head_vectors.limits.judged_sentences
        fitted = groupby(sorted(pictures, key=_fitted_tokens), key=_fitted_tokens)
        for _, alike in fitted:
            together = list(alike)
            self._judge_on("fitted", layer, beginnings(together[0].sample.spans[:most]), together)

    def _judge_on(self, judged: str, layer: int, spans: Spans, pictures: Sequence[HeadPicture]) -> None:
        if not len(spans):
            for picture in pictures:
                picture.view.write_fidelity(layer, judged, np.nan)
            return
        rows, ends = span_rows(spans), np.cumsum(lengths(spans))
        vectors = self.head_vectors.layer_vectors(layer, rows, _normalizations(pictures))
        bias = read_bias(self.head_vectors.writer.group(self.head_vectors.model.path), layer)
        judge = Judge.of(vectors, np.stack([ends - lengths(spans), ends], axis=-1), bias)
        for picture in pictures:
            measures = judge.measures(picture.view.places(layer, rows), picture.normalization)
            picture.view.write_fidelity(layer, judged, measures)

    def finish(self) -> str:
        """Describe every picture: with that it is whole. A picture takes the time of its fits, shared by the cores, and its part of placing."""
        for picture in self.pictures:
            self._describe(picture, picture.seconds / core_count() + self._placing / len(self.pictures))
        return f"{self.head_vectors.model.key}: {', '.join(map(str, self.names))} of {self.head_vectors.corpus.tokens:,} tokens"

    def _describe(self, picture: HeadPicture, seconds: float) -> None:
        view, projection, sample, corpus = picture.view, picture.projection, picture.sample, self.head_vectors.corpus
        name = view.name
        view.describe(
            {
                "title": name.title,
                "projection": name.projection,
                "normalization": name.normalization,
                "components": name.components,
                "seed": self.head_vectors.seed,
                "version": PROJECTIONS[name.projection].version,
                "fitted_on": f"queries and keys of the first {sample.sentences:,} sentences, {sample.tokens:,} tokens",
                "placed": projection.placed,
                "judged_on": self.head_vectors.split.judged_on,
                "judged_hash": self.head_vectors.judged_hash(name),
                "sample_sentences": sample.sentences,
                "sample_tokens": sample.tokens,
                "beyond": view.outside(len(corpus.blocks)),
                "sentences": corpus.sentences,
                "tokens": corpus.tokens,
                "blocks": len(corpus.blocks),
                "seconds": round(seconds, 1),
            }
        )


def _normalizations(pictures: Iterable[HeadPicture]) -> list[str]:
    return list(dict.fromkeys(picture.normalization for picture in pictures))


def _fitted_tokens(picture: HeadPicture) -> int:
    return picture.sample.tokens

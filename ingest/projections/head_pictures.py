"""Pictures of every head: fitted layer by layer on a sample, every other token placed block by block, then judged.

A fit of a layer and the places of a layer each end in a commit. Pictures that share a normalisation and search for the
same neighbours are placed together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import JUDGED_SENTENCES, Sample, Spans, Split, lengths, read_rows, span_rows
from ingest.encode.tensors import ModelGroup
from ingest.projections.attention_projection import AttentionProjection
from ingest.projections.fidelity import judge_layer
from ingest.projections.head_view import HeadView
from ingest.projections.methods import HeadProjection, Nearest, Neighbours, Pca
from ingest.projections.normalizations import Constants, read_constants
from ingest.projections.projection_settings import PROJECTIONS
from ingest.projections.stage import project
from ingest.run.progress import bar
from ingest.text.blocks import Block
from ingest.text.corpus import PlannedCorpus
from store.repository.arrays import array_of
from store.repository.writer import Writer
from store.schema.pictures import JUDGED, MEASURES, ViewName

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class HeadVectors:
    """Queries and keys that pictures of heads are computed from, and their normalisations."""

    writer: Writer
    model: ModelGroup
    corpus: PlannedCorpus
    split: Split
    seed: int
    device: str

    def view(self, name: ViewName) -> HeadView:
        """The view group, with the hashes of what its fits and places depend on."""
        return HeadView(self.writer, self.model, name, self.fit_hash(name), self.block_hashes)

    def fit_hash(self, name: ViewName) -> int:
        """Hash of everything the fits depend on. Its inputs never change, or every store would be fitted again."""
        row = PROJECTIONS[name.projection]
        seed = 0 if row.fit == "pca" else self.seed
        identity = {"view": str(name), "version": row.version, "seed": seed, "tokens": self.fit_sample(name).tokens}
        # Of the whole sample, also where the fit takes only a part of it: the normalisation's constants depend on it.
        return self.split.fitted.content_hash(self.model, self.corpus, **identity)

    @cached_property
    def block_hashes(self) -> list[int]:
        """Hash of every block of the plan, read once: every picture is compared with them."""
        return [self.model.block_hash(block) for block in self.corpus.blocks]

    @cached_property
    def constants(self) -> dict[str, Constants]:
        """Constants of every normalisation; they are complete before the first picture."""
        return read_constants(self.writer, self.model)

    def fit_sample(self, name: ViewName) -> Sample:
        """The sample that a picture is fitted on."""
        tokens = PROJECTIONS[name.projection].head_tokens
        return self.split.fitted if tokens is None else self.split.fitted.first(tokens)

    def normalized(self, layer: int, name: str, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Normalised queries and keys (head, token, channel) of a layer at rows of the token axis, in float32."""
        return self.normalize(layer, name, *read_rows(self.writer, self.model, layer, rows))

    def normalize(self, layer: int, name: str, query: Floats, key: Floats) -> tuple[Floats, Floats]:
        """Queries and keys of a layer that were read already, normalised, in float32."""
        query, key = self.constants[name].of_layer(layer).apply(query, key)
        return query.astype(np.float32), key.astype(np.float32)


def project_heads(head_vectors: HeadVectors, names: list[ViewName]) -> Iterator[list[ViewName]]:
    """Bring pictures up to date, group by group; yields the names of those that had something to do, once they are done."""
    groups = [list(group) for _, group in groupby(names, key=_placed_together)]
    pending = [
        [name for name in group if not head_vectors.view(name).finished(head_vectors.corpus)] for group in groups
    ]
    for drawing in project(head_vectors.writer, [HeadPictures(head_vectors, group) for group in pending if group]):
        yield drawing.names


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


def record_finished_views(head_vectors: HeadVectors, names: list[ViewName]) -> bool:
    """Name the pictures that are whole in the model's attributes, the one a reader sees first in front; False if they are named."""
    attributes, whole = head_vectors.writer.group(head_vectors.model.path).attrs, finished_views(head_vectors, names)
    if attributes.get("views") == whole:
        return False
    attributes["views"] = whole
    head_vectors.writer.commit(f"{head_vectors.model.key}: views")
    return True


def _placed_together(name: ViewName) -> tuple[str, ...]:
    """Names with the same key search for the same neighbours."""
    return (str(name),) if PROJECTIONS[name.projection].exact else ("neighbours", name.normalization)


class HeadPictures:
    """Pictures that are placed together: one, or several of the same normalisation that search for neighbours."""

    def __init__(self, head_vectors: HeadVectors, names: list[ViewName]) -> None:
        self.head_vectors, self.names = head_vectors, names
        self.sample = head_vectors.fit_sample(names[0])
        self.views = [head_vectors.view(name) for name in names]
        self.projections = [self._projection(name) for name in names]

    @cached_property
    def _nearest(self) -> Nearest:
        return Nearest(self._fitted_vectors, device=self.head_vectors.device)

    def _projection(self, name: ViewName) -> HeadProjection:
        row, head_vectors = PROJECTIONS[name.projection], self.head_vectors
        if row.fit == "pca":
            return Pca(name)
        if row.fit == "attention":
            return AttentionProjection(
                name, lengths(self.sample.spans), seed=head_vectors.seed, device=head_vectors.device
            )
        return Neighbours(name, self._nearest, seed=head_vectors.seed)

    def _fitted_vectors(self, layer: int) -> tuple[Floats, Floats]:
        return self.head_vectors.normalized(layer, self.names[0].normalization, self.sample.rows)

    def begin(self) -> None:
        """Do nothing: the heads of a layer are read when they are fitted."""

    def draw(self) -> Iterator[str]:
        """Fit every layer of every picture, then place and judge all pictures layer by layer."""
        for view, projection in zip(self.views, self.projections, strict=True):
            self._unlist(view)
            yield from self._fit(view, projection)
        layers, key = self.views[0].layers, self.head_vectors.model.key
        stale = np.any([view.stale() for view in self.views], axis=0)
        title = str(self.names[0]) if len(self.names) == 1 else f"{len(self.names)} views"
        with bar(title, total=layers, unit="layers") as progress:
            for layer in range(layers):
                self._place(layer, [block for block in self.head_vectors.corpus.blocks if stale[block.index, layer]])
                for view in self.views:
                    self._judge(view, layer)
                yield f"{key}: layer {layer} of {', '.join(map(str, self.names))}"
                progress.update()

    def _unlist(self, view: HeadView) -> None:
        """Until it is whole again, readers rather see no picture than a part of one: a fit may have changed below it."""
        attributes = self.head_vectors.writer.group(self.head_vectors.model.path).attrs
        shown = list(attributes.get("views", []))  # type: ignore[arg-type]
        if str(view.name) in shown:
            attributes["views"] = [name for name in shown if name != str(view.name)]

    def _fit(self, view: HeadView, projection: HeadProjection) -> Iterator[str]:
        key, layers = self.head_vectors.model.key, view.unfitted()
        channels = array_of(self.head_vectors.writer.group(self.head_vectors.model.path), "query").shape[-1]
        exact = view.name.normalization == "exact"
        view.prepare(features=channels + exact, length=self.head_vectors.corpus.blocks[0].length)
        yield f"{key}: room for {view.name}"
        with bar(f"fit {view.name}", total=len(layers), unit="layers") as progress:
            for layer, parameters in projection.fits(layers, self._fitted_vectors, progress.update):
                view.write_fit(layer, parameters, projection.place(layer, parameters, *self._fitted_vectors(layer), 0))
                yield f"{key}: fit of {view.name}, layer {layer}"

    def _place(self, layer: int, blocks: list[Block]) -> None:
        parameters = [view.parameters(layer) for view in self.views]
        for block in blocks:
            rows = block.rows.start + np.arange(block.tokens)
            first = sum(earlier.tokens for earlier in self.head_vectors.corpus.blocks[: block.index])
            vectors = self.head_vectors.normalized(layer, self.names[0].normalization, rows)
            for view, projection, own in zip(self.views, self.projections, parameters, strict=True):
                view.write_places(layer, block, projection.place(layer, own, *vectors, first))

    def _judge(self, view: HeadView, layer: int) -> None:
        judging = {"held_out": self.head_vectors.split.held_out, "fitted": self.sample.spans[:JUDGED_SENTENCES]}
        for judged, spans in judging.items():
            view.write_fidelity(layer, judged, self._measures(view, layer, spans) if len(spans) else np.nan)

    def _measures(self, view: HeadView, layer: int, spans: Spans) -> Floats:
        """`store.schema.pictures.MEASURES` of a layer's heads on some sentences: (measure, head)."""
        head_vectors, rows = self.head_vectors, span_rows(spans)
        query, key = read_rows(head_vectors.writer, head_vectors.model, layer, rows)
        ends = np.cumsum(lengths(spans))
        own = np.stack([ends - lengths(spans), ends], axis=-1)
        normalized = head_vectors.normalize(layer, view.name.normalization, query, key)
        return judge_layer(query, key, normalized, view.places(layer, rows), own)

    def finish(self, seconds: float) -> str:
        """Describe every picture: with that it is whole."""
        for view, projection in zip(self.views, self.projections, strict=True):
            self._describe(view, projection, seconds / len(self.views))
        return f"{self.head_vectors.model.key}: {', '.join(map(str, self.names))} of {self.head_vectors.corpus.tokens:,} tokens"

    def _describe(self, view: HeadView, projection: HeadProjection, seconds: float) -> None:
        name, sample, corpus = view.name, self.sample, self.head_vectors.corpus
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
                "sample_sentences": sample.sentences,
                "sample_tokens": sample.tokens,
                "beyond": view.outside(len(corpus.blocks)),
                "sentences": corpus.sentences,
                "tokens": corpus.tokens,
                "blocks": len(corpus.blocks),
                "seconds": round(seconds, 1),
            }
        )

"""Stage `projections`: pictures of every head. Fitted on a sample, every other token placed by a stated rule, then judged.

The unit of work is a layer; each ends in a commit. Pictures that share a normalisation and look for the same neighbours
are placed together.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import JUDGED_SENTENCES, Sample, Spans, Split, lengths, read_rows, span_rows
from ingest.encode.tensors import ModelGroup
from ingest.progress import bar
from ingest.projections.attention_projection import AttentionProjection
from ingest.projections.fidelity import judge_layer
from ingest.projections.fits import Projection
from ingest.projections.neighbours import Nearest, Neighbours
from ingest.projections.normalizations import Constants, read_constants
from ingest.projections.pca import Pca
from ingest.projections.picture import Picture
from ingest.text.blocks import Block
from ingest.text.corpus import PlannedCorpus
from store.repository.arrays import array_of
from store.repository.writer import Writer
from store.schema.pictures import JUDGED, MEASURES, ViewName

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Material:
    """What pictures are made of."""

    writer: Writer
    model: ModelGroup
    corpus: PlannedCorpus
    split: Split
    seed: int
    device: str

    def picture(self, name: ViewName) -> Picture:
        """The view group, and what its fits have to be made of."""
        kind = KINDS[name.projection]
        seed = 0 if kind is Pca else self.seed
        identity = {"view": str(name), "version": kind.version, "seed": seed, "tokens": self.fit_sample(name).tokens}
        # Of the whole sample, also where the fit takes only a part of it: the normalisation's constants depend on it.
        made_of = self.split.fitted.content_hash(self.model, self.corpus, **identity)
        return Picture(self.writer, self.model, name, made_of, self.block_hashes)

    @cached_property
    def block_hashes(self) -> list[int]:
        """What every block of the plan holds; every picture is compared with it, more than once."""
        return [self.model.block_hash(block) for block in self.corpus.blocks]

    @cached_property
    def constants(self) -> dict[str, Constants]:
        """Of every normalisation; they are whole before the first picture is begun."""
        return read_constants(self.writer, self.model)

    def fit_sample(self, name: ViewName) -> Sample:
        """What a picture is fitted on."""
        tokens = KINDS[name.projection].fit_tokens
        return self.split.fitted if tokens is None else self.split.fitted.first(tokens)

    def normalized(self, layer: int, name: str, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Normalised queries and keys (head, token, channel) of a layer at rows of the token axis, in float32."""
        return self.normalize(layer, name, *read_rows(self.writer, self.model, layer, rows))

    def normalize(self, layer: int, name: str, query: Floats, key: Floats) -> tuple[Floats, Floats]:
        """Queries and keys of a layer that were read already, normalised, in float32."""
        query, key = self.constants[name].of_layer(layer).apply(query, key)
        return query.astype(np.float32), key.astype(np.float32)


@dataclass(frozen=True)
class Task:
    """A picture to be made, and how."""

    picture: Picture
    projection: Projection
    sample: Sample

    @property
    def name(self) -> ViewName:
        """Of the view."""
        return self.picture.name


KINDS: dict[str, type[Pca] | type[AttentionProjection] | type[Neighbours]] = {
    "attention": AttentionProjection,
    "pca": Pca,
    "tsne": Neighbours,
    "umap": Neighbours,
    "attentionviz": Neighbours,
}


def project_corpus(material: Material, names: list[ViewName]) -> Iterator[list[ViewName]]:
    """Bring pictures up to date, group by group; yields the names of those that had something to do, once they are done."""
    for _, group in groupby(names, key=_group):
        pending = [name for name in group if not material.picture(name).finished(material.corpus)]
        if pending:
            _make(material, pending)
            yield pending


def finished_views(material: Material, names: list[ViewName]) -> list[str]:
    """Those that are whole: fewer dimensions first, then the most faithful on held-out sentences, or on those of the fit."""
    whole = [name for name in names if material.picture(name).finished(material.corpus)]

    def rank(name: ViewName) -> tuple[int, float]:
        fidelity = array_of(material.writer.group(material.picture(name).path), "fidelity")
        held_out, fitted = (np.asarray(fidelity[MEASURES.index("spearman"), JUDGED.index(one)]) for one in JUDGED)
        return name.components, float(np.where(np.isnan(held_out), fitted, held_out).mean())

    return [str(name) for name in sorted(whole, key=rank)]


def show_views(material: Material, names: list[ViewName]) -> bool:
    """Name the pictures that are whole in the model's attributes, the one a reader sees first in front; False if they are named."""
    attributes, whole = material.writer.group(material.model.path).attrs, finished_views(material, names)
    if attributes.get("views") == whole:
        return False
    attributes["views"] = whole
    material.writer.commit(f"{material.model.key}: views")
    return True


def _group(name: ViewName) -> tuple[str, ...]:
    """Names with the same key are placed together."""
    shared = KINDS[name.projection] is Neighbours
    return ("neighbours", name.normalization) if shared else (str(name),)


def _make(material: Material, names: list[ViewName]) -> None:
    tasks = _tasks(material, names)
    began = time.monotonic()
    for task in tasks:
        _hide(material, task.name)
        _fit(material, task)
    layers = tasks[0].picture.layers
    title = str(names[0]) if len(names) == 1 else f"{len(names)} views"
    stale = np.any([task.picture.stale() for task in tasks], axis=0)
    with bar(title, total=layers, unit="layers") as progress:
        for layer in range(layers):
            _place_layer(
                material, tasks, layer, [block for block in material.corpus.blocks if stale[block.index, layer]]
            )
            for task in tasks:
                _judge(material, task, layer)
            material.writer.commit(f"{material.model.key}: layer {layer} of {', '.join(map(str, names))}")
            progress.update()
    for task in tasks:
        _finish(material, task, seconds=(time.monotonic() - began) / len(tasks))


def _tasks(material: Material, names: list[ViewName]) -> list[Task]:
    """How each picture of a group is made; they share what is near what."""
    sample = material.fit_sample(names[0])

    def read(layer: int) -> tuple[Floats, Floats]:
        return material.normalized(layer, names[0].normalization, sample.rows)

    nearest = Nearest(read, device=material.device)
    return [Task(material.picture(name), _projection(material, name, sample, nearest), sample) for name in names]


def _projection(material: Material, name: ViewName, sample: Sample, nearest: Nearest) -> Projection:
    kind = KINDS[name.projection]
    if kind is Neighbours:
        return Neighbours(name, nearest, seed=material.seed)
    if kind is Pca:
        return Pca(name)
    return AttentionProjection(name, lengths(sample.spans), seed=material.seed, device=material.device)


def _hide(material: Material, name: ViewName) -> None:
    """Until it is whole again, readers rather see no picture than a part of one: a fit may have changed below it."""
    attributes = material.writer.group(material.model.path).attrs
    shown = list(attributes.get("views", []))  # type: ignore[arg-type]
    if str(name) in shown:
        attributes["views"] = [view for view in shown if view != str(name)]


def _fit(material: Material, task: Task) -> None:
    layers = task.picture.unfitted()
    exact = task.name.normalization == "exact"
    channels = array_of(material.writer.group(material.model.path), "query").shape[-1]
    task.picture.prepare(features=channels + exact, length=material.corpus.blocks[0].length)

    def read(layer: int) -> tuple[Floats, Floats]:
        return material.normalized(layer, task.name.normalization, task.sample.rows)

    with bar(f"fit {task.name}", total=len(layers), unit="layers") as progress:
        for layer, parameters in task.projection.fits(layers, read, progress.update):
            task.picture.write_fit(layer, parameters, task.projection.place(layer, parameters, *read(layer), 0))


def _place_layer(material: Material, tasks: list[Task], layer: int, blocks: list[Block]) -> None:
    parameters = [task.picture.parameters(layer) for task in tasks]
    for block in blocks:
        rows = block.rows.start + np.arange(block.tokens)
        first = sum(earlier.tokens for earlier in material.corpus.blocks[: block.index])
        vectors = material.normalized(layer, tasks[0].name.normalization, rows)
        for task, own in zip(tasks, parameters, strict=True):
            task.picture.write_places(layer, block, task.projection.place(layer, own, *vectors, first))


def _judge(material: Material, task: Task, layer: int) -> None:
    for judged, spans in {"held_out": material.split.held_out, "fitted": task.sample.spans[:JUDGED_SENTENCES]}.items():
        task.picture.write_fidelity(layer, judged, _measures(material, task, layer, spans) if len(spans) else np.nan)


def _measures(material: Material, task: Task, layer: int, spans: Spans) -> Floats:
    """`store.schema.pictures.MEASURES` of a layer's heads on some sentences: (measure, head)."""
    rows = span_rows(spans)
    query, key = read_rows(material.writer, material.model, layer, rows)
    ends = np.cumsum(lengths(spans))
    own = np.stack([ends - lengths(spans), ends], axis=-1)
    normalized = material.normalize(layer, task.name.normalization, query, key)
    return judge_layer(query, key, normalized, task.picture.places(layer, rows), own)


def _finish(material: Material, task: Task, *, seconds: float) -> None:
    name, sample, corpus = task.name, task.sample, material.corpus
    group = material.writer.group(task.picture.path)
    outside = int(np.asarray(array_of(group, "beyond")[: len(corpus.blocks)]).sum())
    task.picture.describe(
        {
            "title": name.title,
            "projection": name.projection,
            "normalization": name.normalization,
            "components": name.components,
            "seed": material.seed,
            "version": task.projection.version,
            "fitted_on": f"queries and keys of the first {sample.sentences:,} sentences, {sample.tokens:,} tokens",
            "placed": task.projection.placed,
            "judged_on": material.split.judged_on,
            "sample_sentences": sample.sentences,
            "sample_tokens": sample.tokens,
            "beyond": outside,
            "sentences": corpus.sentences,
            "tokens": corpus.tokens,
            "blocks": len(corpus.blocks),
            "seconds": round(seconds, 1),
        }
    )
    material.writer.commit(f"{material.model.key}: {name} of {corpus.tokens:,} tokens")

"""Stages `mentions`, as the data has them, and `coreference`: how often a head finds the antecedent of a mention."""

from collections.abc import Iterable
from functools import partial

import numpy as np
import torch
import zarr
from numpy.typing import NDArray

from ingest.encode.hooked_model import HookedModel
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint
from ingest.run.settings import Settings
from ingest.text.coreference import MentionSpans
from ingest.text.corpus import PlannedCorpus
from ingest.text.reviews import Data, read_reviews
from ingest.text.stored_sentences import check_texts
from ingest.words.antecedents import Antecedents, antecedents_of
from ingest.words.patterns import model_vectors, random_blocks, randomize, sentence_patterns, stored_vectors
from ingest.words.strongest import content_of_words, read_words
from store.kernels.bootstrap import ShareReplicates, draw_counts
from store.kernels.relations import halves
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.coreference import CHAINS, GAP, MENTION_ARRAYS
from store.schema.model import BOUNDS
from store.schema.relations import HALVES

VERSION, MENTIONS_VERSION = "coreference/1", "mentions/1"

Counts = dict[str, NDArray[np.generic]]
#: Index of a sentence, layer, attention between its words (head, query_word, key_word).
Patterns = Iterable[tuple[int, int, NDArray[np.float32]]]


def keep_mentions(writer: Writer, corpus: PlannedCorpus, settings: Settings, data: Data) -> bool:
    """Bring the mentions of the corpus up to date; False if there was nothing to do."""
    path = f"corpus/{corpus.key}/mentions"
    if not data.has_mentions or int(str(dict(writer.group(path).attrs).get("sentences", 0))) >= corpus.sentences:
        return False
    writer.delete(path)
    source, group = writer.group(f"corpus/{corpus.key}"), writer.group(path)
    reviews = read_reviews(data, text=settings.text, label=settings.label)
    check_texts(source, reviews, data.name)
    documents = np.asarray(array_of(source, "document")[: corpus.sentences])
    spans = [reviews.mentions(int(document)) for document in documents]
    sizes = np.array([len(each) for each in spans], np.int32)
    create_arrays(group, MENTION_ARRAYS, {"sentence": len(sizes), "mention": int(sizes.sum())})
    array_of(group, "mention_size")[:] = sizes
    for name, field in (("character_start", "start"), ("character_stop", "stop"), ("entity", "entity")):
        array_of(group, name)[:] = _column(spans, field)
    scheme = GAP if data.is_gap else CHAINS
    group.attrs.update({"sentences": corpus.sentences, "scheme": scheme, "version": MENTIONS_VERSION})
    writer.commit(f"mentions of {corpus.key}: {int(sizes.sum()):,}")
    return True


def _column(spans: list[MentionSpans], field: str) -> np.ndarray:
    return np.array([value for each in spans for value in getattr(each, field)], np.int32)


def find_coreference(
    writer: Writer, model: ModelGroup, corpus: PlannedCorpus, checkpoint: Checkpoint, device: torch.device, seed: int
) -> bool:
    """Bring the numbers up to date; False if there was nothing to do, or if the data has no coreference."""
    if "mentions" not in writer.group(f"corpus/{corpus.key}"):
        return False
    source, group = writer.group(f"corpus/{corpus.key}/words"), writer.group(f"{model.path}/coreference")
    identity = content_of_words(writer, model, corpus.blocks, version=VERSION, seed=seed)
    if group.attrs.get("coreference_hash") == identity:
        return False
    antecedents = antecedents_of(read_words(writer, corpus))
    wanted = frozenset(antecedents.sentence.tolist())
    stored = sentence_patterns(corpus.blocks, source, wanted, partial(stored_vectors, writer.group(model.path)))
    first = random_blocks(corpus.blocks)
    hooked = HookedModel(checkpoint, device=device, dtype=torch.float32)
    randomize(hooked.parts.encoder, hooked.config.initializer_range, seed)
    random = sentence_patterns(first, source, wanted, partial(model_vectors, hooked))
    shape = hooked.layers, hooked.heads
    found = found_by_heads(antecedents, shape, stored)
    counts = measured(antecedents, found, draw_counts(seed, 0, corpus.sentences))
    inside = antecedents.sentence < first[-1].first_sentence + first[-1].sentences
    of_random = totals(antecedents, found_by_heads(antecedents, shape, random), inside)
    _write(group, antecedents, shape, counts | {f"random_{name}": values for name, values in of_random.items()})
    annotation = dict(source.attrs)["identity"]
    group.attrs.update({"coreference_hash": identity, "annotation": annotation, "scheme": antecedents.scheme})
    writer.commit(f"{model.key}: coreference")
    return True


def found_by_heads(antecedents: Antecedents, shape: tuple[int, int], patterns: Patterns) -> NDArray[np.bool_]:
    """Whether each head resolves each item: (*variants, layer, head, item); False where there is no pattern."""
    found = np.zeros((*antecedents.variants, *shape, len(antecedents.sentence)), np.bool_)
    for sentence, layer, pattern in patterns:
        items, hits = antecedents.found(sentence, pattern)
        found[..., layer, :, items] = np.moveaxis(hits, -1, 0)
    return found


def totals(antecedents: Antecedents, found: NDArray[np.bool_], counted: NDArray[np.bool_]) -> Counts:
    """Sums over the counted items of each half and group: `mentions`, `answered`, and `found` (half, ..., group)."""
    reported = _reported(antecedents)
    masks = np.stack([antecedents.groups & counted & half for half in (~reported, reported)])
    hits = [found.astype(np.int64) @ half.T.astype(np.int64) for half in masks]
    return {
        "mentions": (masks & antecedents.resolvable).sum(axis=-1),
        "answered": (masks & antecedents.answered).sum(axis=-1),
        "found": np.stack(hits),
    }


def measured(antecedents: Antecedents, found: NDArray[np.bool_], counts: NDArray[np.floating]) -> Counts:
    """Totals and intervals of heads and of baselines."""
    every = np.ones(len(antecedents.sentence), np.bool_)
    baselines = antecedents.baselines()
    return {
        **totals(antecedents, found, every),
        "interval": _intervals(antecedents, found, counts),
        "baseline_found": totals(antecedents, baselines, every)["found"],
        "baseline_interval": _intervals(antecedents, baselines, counts),
    }


def _reported(antecedents: Antecedents) -> NDArray[np.bool_]:
    """Which items are in the half that numbers are reported on: (item,)."""
    return halves(int(antecedents.sentence.max(initial=0)) + 1)[antecedents.sentence]


def _intervals(antecedents: Antecedents, found: NDArray[np.bool_], counts: NDArray[np.floating]) -> NDArray[np.float64]:
    """95% intervals of the shares of the second half (bound, ..., group)."""
    reported = _reported(antecedents)
    bounds = []
    for group in antecedents.groups:
        items = np.flatnonzero(group & reported & antecedents.resolvable)
        replicates = ShareReplicates(found.shape[:-1])
        replicates.add(found[..., items], antecedents.sentence[items], counts)
        bounds.append(replicates.interval())
    return np.stack(bounds, axis=-1)


def _write(group: zarr.Group, antecedents: Antecedents, shape: tuple[int, int], counts: Counts) -> None:
    layers, heads = shape
    names = dict(antecedents.names) | {"half": list(HALVES), "bound": list(BOUNDS)}
    values: dict[str, object] = {**names, "layer": range(layers), "head": range(heads), **counts}
    sizes = {name: len(labels) for name, labels in names.items()} | {"layer": layers, "head": heads}
    create_arrays(group, antecedents.arrays, sizes)
    for name, array in antecedents.arrays.items():
        array_of(group, name)[:] = np.array(values[name], object if array.dtype == "str" else None)

"""Stages `mentions`, as the data has them, and `coreference`: how often a head finds the antecedent of a mention.

Mentions with an antecedent, or pronouns of GAP, are counted, and those of them that a head resolves.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Protocol

import numpy as np
import torch
import zarr
from numpy.typing import NDArray

from ingest.encode.hooked_model import HookedModel
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint
from ingest.run.settings import Limits, Settings
from ingest.text.blocks import PlannedCorpus
from ingest.text.coreference import MentionSpans
from ingest.text.corpus import check_texts
from ingest.text.reviews import Data, read_reviews
from ingest.words.patterns import (
    content_of_words,
    model_vectors,
    random_blocks,
    randomize,
    read_words,
    sentence_patterns,
    stored_vectors,
)
from store.kernels.intervals import ShareReplicates, draw_counts
from store.kernels.relations import (
    Description,
    GapRow,
    baseline_found,
    describe,
    found_among_mentions,
    found_among_words,
    found_of_two,
    halves,
)
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema import Array
from store.schema.corpus import (
    ALL,
    BASELINES,
    CANDIDATES,
    CHAINS,
    COREFERENCE_ARRAYS,
    GAP,
    GAP_ARRAYS,
    GAP_BASELINES,
    GENDER_NAMES,
    HALVES,
    MENTION_ARRAYS,
    MENTION_KINDS,
)
from store.schema.model import BOUNDS
from store.words import Mentions, Words

FINDERS = {"mentions": found_among_mentions, "words": found_among_words}
#: Relations of a subject and of an object: the rule of GAP looks for a name in the same role.
ROLES = (("nsubj", "nsubjpass", "nsubj:pass"), ("dobj", "obj"))


class Antecedents(Protocol):
    """Items to be resolved, each in one sentence and in some groups.

    Attributes
    ----------
    scheme
        Form of the mentions in the data: `chains` or `gap`.
    arrays, names
        Declarations of the stored arrays, and the labels of their own dims.
    sentence
        Sentence of each item: (item,).
    groups
        Whether an item is of a kind or gender: (group, item).
    answered
        Mask of the items that get an answer: (item,).
    resolvable
        Mask of the items that have a right answer: (item,).
    variants
        Leading dims of what `found` returns.
    """

    scheme: str
    arrays: Mapping[str, Array]
    names: Mapping[str, list[str]]
    sentence: NDArray[np.int64]
    groups: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    resolvable: NDArray[np.bool_]
    variants: tuple[int, ...]

    def found(self, sentence: int, pattern: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Items of a sentence, and whether a head resolves each: (*variants, head, item) from its attention between words."""

    def baselines(self) -> NDArray[np.bool_]:
        """Whether each baseline resolves each item: (baseline, item)."""


class Chains:
    """Mentions that have an antecedent before them in their passage; the other mentions are only candidates."""

    scheme = CHAINS
    arrays: Mapping[str, Array] = COREFERENCE_ARRAYS
    names: Mapping[str, list[str]] = {
        "candidates": list(CANDIDATES),
        "kind": list(MENTION_KINDS),
        "baseline": list(BASELINES),
    }
    variants: tuple[int, ...] = (len(CANDIDATES),)

    def __init__(self, words: Words, mentions: Mentions) -> None:
        self._words, self._mentions = words, mentions
        self.sentence = mentions.table.sentence.values
        self.resolvable = np.zeros(len(self.sentence), np.bool_)
        self._heads = {sentence: mentions.heads(sentence) for sentence in np.unique(self.sentence).tolist()}
        for heads in self._heads.values():
            self.resolvable[heads.rows] = heads.resolvable
        self.answered = self.resolvable
        self.groups = np.stack([(mentions.kinds == kind) | (name == ALL) for kind, name in enumerate(MENTION_KINDS)])

    def found(self, sentence: int, pattern: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Items of a sentence, and whether a head resolves each; see `Antecedents`."""
        heads = self._heads[sentence]
        return heads.rows, np.stack([FINDERS[name](pattern, heads) for name in CANDIDATES])

    def baselines(self) -> NDArray[np.bool_]:
        """Whether each baseline resolves each item; see `Antecedents`."""
        found = np.zeros((len(BASELINES), len(self.sentence)), np.bool_)
        for heads in self._heads.values():
            described = [self._described(int(row)) for row in heads.rows]
            of_sentence = baseline_found(heads, described)
            found[:, heads.rows] = np.stack([of_sentence[name] for name in BASELINES])
        return found

    def _described(self, row: int) -> Description:
        word = int(self._mentions.table.head_word[row])
        table = {name: int(self._words.table[name][word]) for name in ("tag", "entity")}
        tag, entity = (self._words.names(name)[code] if code >= 0 else "" for name, code in table.items())
        return describe(
            self._mentions.texts[row],
            self._words.texts(slice(word, word + 1))[0],
            tag=tag,
            pronoun=MENTION_KINDS[self._mentions.kinds[row]] == "pronoun",
            person=entity in ("PERSON", "PER"),
        )


class GapPronouns:
    """Pronouns of GAP, each with two names of which at most one is right."""

    scheme = GAP
    arrays: Mapping[str, Array] = GAP_ARRAYS
    names: Mapping[str, list[str]] = {"gender": list(GENDER_NAMES), "baseline": list(GAP_BASELINES)}
    variants: tuple[int, ...] = ()

    def __init__(self, words: Words, mentions: Mentions) -> None:
        self._words, self._mentions = words, mentions
        table = mentions.table
        self.sentence = table.sentence.values[::3]
        entity, head = table.entity.values.reshape(-1, 3), table.head_word.values.reshape(-1, 3)
        self.answered = (head >= 0).all(axis=-1)
        names = entity[:, 1:] == entity[:, :1]
        self._right = np.where(names.any(axis=-1), names.argmax(axis=-1), -1)
        self.resolvable = self._right >= 0
        genders = np.array(mentions.genders[::3])
        self.groups = np.stack([(genders == name) | (name == ALL) for name in GENDER_NAMES])
        self._head, self._start = head, table.character_start.values.reshape(-1, 3)

    def found(self, sentence: int, pattern: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Items of a sentence, and whether a head resolves each; see `Antecedents`."""
        items = np.flatnonzero((self.sentence == sentence) & self.answered)
        hits = [found_of_two(pattern, self._row(int(item))) for item in items]
        return items, np.stack(hits, axis=-1) if hits else np.zeros((len(pattern), 0), np.bool_)

    def _row(self, item: int) -> GapRow:
        first = self._words.rows(int(self.sentence[item])).start
        pronoun, one, other = (int(word) - first for word in self._head[item])
        return GapRow(pronoun, (one, other), int(self._right[item]))

    def baselines(self) -> NDArray[np.bool_]:
        """Whether each baseline resolves each item; see `Antecedents`."""
        distance = np.abs(self._start[:, 1:] - self._start[:, :1])
        nearest = (distance[:, 1] <= distance[:, 0]).astype(np.intp)
        role = self._roles()
        same = (role[:, 1:] == role[:, :1]) & (role[:, :1] >= 0)
        parallel = np.where(same.sum(axis=-1) == 1, same.argmax(axis=-1), nearest)
        return np.stack([(choice == self._right) & self.answered for choice in (nearest, parallel)])

    def _roles(self) -> NDArray[np.int64]:
        """Whether the pronoun and the names are subject (0), object (1) or neither (-1): (item, 3)."""
        names = [*self._words.names("relation"), ""]
        roles = np.array([next((role for role, labels in enumerate(ROLES) if name in labels), -1) for name in names])
        found: NDArray[np.int64] = roles[self._words.table.relation.values[self._head]]
        return found


def antecedents_of(words: Words) -> Antecedents:
    """The items to resolve of a corpus with mentions."""
    assert words.mentions is not None
    return (GapPronouns if words.mentions.scheme == GAP else Chains)(words, words.mentions)


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
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    checkpoint: Checkpoint,
    device: torch.device,
    seed: int,
    limits: Limits,
) -> bool:
    """Bring the numbers of coreference up to date; False if there was nothing to do, or if the data has no coreference."""
    if "mentions" not in writer.group(f"corpus/{corpus.key}"):
        return False
    source, group = writer.group(f"corpus/{corpus.key}/words"), writer.group(f"{model.path}/coreference")
    identity = content_of_words(writer, model, corpus.blocks, version=VERSION, seed=seed)
    if group.attrs.get("coreference_hash") == identity:
        return False
    antecedents = antecedents_of(read_words(writer, corpus))
    wanted = frozenset(antecedents.sentence.tolist())
    stored = sentence_patterns(corpus.blocks, source, wanted, partial(stored_vectors, writer.group(model.path)))
    first = random_blocks(corpus.blocks, limits.random_tokens)
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
    """Mask of the items in the half that numbers are reported on: (item,)."""
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

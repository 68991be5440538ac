"""Contents of a store, as plain data and as text, and changes between two of its snapshots."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np

from store.phrases import cut_sentences, first_reviews, many, utc
from store.repository.access import local_path
from store.repository.arrays import array_of
from store.repository.checksums import has_fingerprints
from store.repository.history import history
from store.schema.model import counted_size, varying_statistics
from store.snapshot import Snapshot
from store.summary import finished_stages

#: Mark in the identity of data before its number of first reviews.
FIRST = "#first="


@dataclass(frozen=True)
class ModelDescription:
    """A model of the store on its corpus; `stages` are titles of finished stages, see `store.summary.STAGES`.

    `sentences` and `tokens` have vectors; statistics of heads and layers are of `counted_sentences` and `counted_tokens`.
    """

    key: str
    model: str
    corpus: str
    layers: int
    heads: int
    channels: int
    sentences: int
    tokens: int
    counted_sentences: int
    counted_tokens: int
    dtype: str
    attention: str
    weights_sha256: str
    views: list[str]
    stages: list[str]
    token_sets: list["TokenSetDescription"]
    finished: str
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class TokenSetDescription:
    """A token set with vectors at the feature points."""

    name: str
    title: str
    points: int
    views: list[str]
    value_views: list[str]


@dataclass(frozen=True)
class CorpusDescription:
    """A corpus of the store."""

    key: str
    name: str
    sentences: int
    data_identity: str
    max_length: int
    truncated: int
    #: Sentences with a special token in their text; None where the store does not know.
    marked: int | None
    label_names: list[str]
    splitter: str
    #: Number of first reviews that the sample is drawn from, and of all reviews; None where all are read, or unknown.
    first: int | None
    reviews_in_data: int | None


@dataclass(frozen=True)
class Contents:
    """Contents of a snapshot, which never change."""

    models: list[ModelDescription]
    corpora: list[CorpusDescription]


@dataclass(frozen=True)
class Description:
    """A store at one snapshot; `bytes` is the size of the whole store, None for object storage.

    `fingerprinted`: whether reading detects exchanged chunk files.
    """

    url: str
    snapshot: str
    published: str
    schema_version: int
    bytes: int | None
    fingerprinted: bool
    models: list[ModelDescription]
    corpora: list[CorpusDescription]
    history: list[dict[str, str]]


def contents_of(snapshot: Snapshot) -> Contents:
    """Describe the models and corpora of a snapshot from their metadata."""
    corpora = sorted({str(model["corpus"]) for model in snapshot.models.values()})
    return Contents(
        models=[describe_model(snapshot, key) for key in snapshot.models],
        corpora=[describe_corpus(snapshot, key) for key in corpora],
    )


def describe(snapshot: Snapshot, contents: Contents | None = None) -> Description:
    """Describe a store from its metadata: models, corpora, history, size. Reads no array; `contents`, if known, are not read again."""
    contents = contents or contents_of(snapshot)
    return Description(
        url=snapshot.url,
        snapshot=snapshot.id,
        published=snapshot.published.isoformat(),
        schema_version=int(str(snapshot.root.attrs["schema_version"])),
        bytes=snapshot.bytes_on_disk,
        fingerprinted=has_fingerprints(local_path(snapshot.url)),
        models=contents.models,
        corpora=contents.corpora,
        history=[
            {"snapshot": old.snapshot, "published": old.published.isoformat(), "message": old.message}
            for old in history(snapshot.repository, snapshot.url, snapshot=snapshot.id)
        ],
    )


def describe_model(snapshot: Snapshot, key: str) -> ModelDescription:
    """Describe a model by the key of its group."""
    attributes = snapshot.models[key]
    layers, heads, _, channels = array_of(snapshot.group(f"models/{key}"), "query").shape
    names = ("corpus", "sentences", "tokens", "dtype", "attention", "weights_sha256", "views", "finished", "provenance")
    return ModelDescription(
        key=key,
        model=snapshot.titles[key],
        layers=layers,
        heads=heads,
        channels=channels,
        stages=finished_stages(snapshot.group(f"models/{key}")),
        counted_sentences=counted_size(attributes, "sentences"),
        counted_tokens=counted_size(attributes, "tokens"),
        token_sets=[describe_token_set(snapshot, key, name) for name in snapshot.corpus(key).token_sets],
        **{name: attributes[name] for name in names},
    )


def describe_token_set(snapshot: Snapshot, key: str, name: str) -> TokenSetDescription:
    """Describe a token set of a model."""
    features = snapshot.corpus(key).features(name)
    points, title = len(features.points), str(features.attributes["says"])
    return TokenSetDescription(name, title, points, features.views, features.value_views)


def describe_corpus(snapshot: Snapshot, key: str) -> CorpusDescription:
    """Describe a corpus by the key of its group."""
    group = snapshot.group(f"corpus/{key}")
    names = ("name", "data_identity", "max_length", "truncated", "label_names", "splitter")
    recorded: dict[str, Any] = {name: group.attrs[name] for name in names}
    first = str(recorded["data_identity"]).rpartition(FIRST)[2]
    optional: dict[str, Any] = {name: group.attrs.get(name) for name in ("marked", "reviews_in_data")}
    return CorpusDescription(
        key=key,
        sentences=array_of(group, "row_size").shape[0],
        first=int(first) if FIRST in recorded["data_identity"] else None,
        **recorded,
        **optional,
    )


def as_json(description: Description) -> dict[str, Any]:
    """A description as data for JSON. Times are ISO 8601 in UTC, sizes bytes."""
    return asdict(description)


def as_text(description: Description) -> str:
    """A description as lines for a terminal."""
    size = "" if description.bytes is None else f", {description.bytes / 1e6:,.0f} MB"
    first = f"{description.url}: snapshot {description.snapshot}, published {_date(description.published)}, schema {description.schema_version}{size}"
    alone = description.bytes if len(description.models) == 1 else None
    models = [line for model in description.models for line in _lines_of(model, alone)]
    corpora = [
        f"  corpus {corpus.key}: {many(corpus.sentences, 'sentence')} of {corpus.name}, {cut_sentences(corpus.truncated, corpus.sentences, corpus.max_length)}; splitter {corpus.splitter}"
        + (f"; sample of {first_reviews(corpus.first, corpus.reviews_in_data)}" if corpus.first else "")
        for corpus in description.corpora
    ]
    history = [f"    {_date(old['published'])}  {old['snapshot']}  {old['message']}" for old in description.history]
    return "\n".join([first, *models, *corpora, "  history:", *history])


def _lines_of(model: ModelDescription, size: int | None) -> list[str]:
    """Lines of a model. `size`: bytes of the store where it holds no other model."""
    per_token = "" if size is None else f", {size / model.counted_tokens:,.0f} bytes per token"
    stored = f"{many(model.sentences, 'sentence')}, {many(model.tokens, 'token')}"
    vectors = (
        [] if model.tokens == model.counted_tokens else [f"    vectors, pictures and relations of the first {stored}"]
    )
    return [
        f"  model {model.key}: {model.model}",
        f"    {model.layers} layers x {model.heads} heads x {model.channels} channels, {model.dtype}, weights {model.weights_sha256[:12]}",
        f"    {many(model.counted_sentences, 'sentence')}, {many(model.counted_tokens, 'token')} of {model.corpus}{per_token}",
        *vectors,
        f"    views: {', '.join(model.views) or 'none'}; finished {_date(model.finished)}",
        f"    stages: {', '.join(model.stages) or 'none'}",
        *(
            f"    {token_set.points} feature points of {token_set.title}; views: {', '.join(token_set.views) or 'none'}"
            for token_set in model.token_sets
        ),
    ]


def _date(recorded: str) -> str:
    return utc(datetime.fromisoformat(recorded))


@dataclass(frozen=True)
class ListChange:
    """Names that a list gained and lost."""

    added: tuple[str, ...]
    removed: tuple[str, ...]

    @classmethod
    def between(cls, older: Sequence[str], newer: Sequence[str]) -> "ListChange":
        """Names that only the newer list has, and names that only the older has."""
        added = tuple(name for name in newer if name not in older)
        return cls(added, tuple(name for name in older if name not in newer))


@dataclass(frozen=True)
class HeadChange:
    """The statistic of a head that changed most.

    Attributes
    ----------
    older, newer
        Mean of the statistic over all queries in each snapshot.
    deviations
        Change in standard deviations among the heads of the older snapshot, so that statistics of all units compare.
    """

    layer: int
    head: int
    statistic: str
    older: float
    newer: float
    deviations: float


@dataclass(frozen=True)
class ModelChange:
    """A model in both snapshots; `heads` has one change for each head whose statistics differ, the largest first."""

    older: ModelDescription
    newer: ModelDescription
    heads: tuple[HeadChange, ...]

    @property
    def views(self) -> ListChange:
        """Pictures of heads that were added and removed."""
        return ListChange.between(self.older.views, self.newer.views)

    @property
    def stages(self) -> ListChange:
        """Stages whose results were added and removed."""
        return ListChange.between(self.older.stages, self.newer.stages)


@dataclass(frozen=True)
class SnapshotChanges:
    """Changes between two snapshots: keys of added and removed models, and changes of models in both."""

    models: ListChange
    changed: tuple[ModelChange, ...]


def changes_between(older: Snapshot, newer: Snapshot) -> SnapshotChanges:
    """Compare two snapshots of one store. The only arrays read are the statistics of heads."""
    common = [key for key in newer.models if key in older.models]
    return SnapshotChanges(
        ListChange.between(list(older.models), list(newer.models)),
        tuple(_model_change(older, newer, key) for key in common),
    )


def _model_change(older: Snapshot, newer: Snapshot, key: str) -> ModelChange:
    heads = head_changes(older, newer, key)
    return ModelChange(describe_model(older, key), describe_model(newer, key), tuple(heads))


def head_changes(older: Snapshot, newer: Snapshot, key: str) -> list[HeadChange]:
    """The statistic of each head that changed most between two snapshots of a model, the largest change first."""
    both = [snapshot.corpus(key).head_statistic.sel(source="all") for snapshot in (older, newer)]
    missing = {name for snapshot in (older, newer) for name in snapshot.corpus(key).missing_statistics}
    names = [name for name in varying_statistics("all") if name not in missing]
    before, after = (means.sel(statistic=names).values for means in both)
    among = before.std(axis=(1, 2), keepdims=True)
    sizes = np.divide(after - before, among, out=np.zeros_like(before), where=among > 0)
    most = np.abs(sizes).argmax(axis=0)
    changes = [
        HeadChange(layer, head, names[place], *(float(values[place, layer, head]) for values in (before, after, sizes)))
        for (layer, head), place in np.ndenumerate(most)
        if sizes[place, layer, head] != 0
    ]
    return sorted(changes, key=lambda change: -abs(change.deviations))

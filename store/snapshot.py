"""A published snapshot of a store: its models, each opened as a `Corpus`, and their names for people.

Folders distinguish models of the same name, such as `checkpoint-500` of two trainings.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

import zarr
from icechunk import IcechunkError, Repository
from zarr.abc.store import Store

from store.corpus import Corpus
from store.head_numbers import HeadNumbers, read_head_numbers
from store.repository.access import chunks_of, first_line, local_path, open_repository
from store.repository.checksums import CheckedStore, Checksums
from store.repository.errors import SchemaMismatch, StoreCorrupt, StoreError, StoreIncomplete
from store.repository.history import PUBLISHED, bytes_on_disk, check_snapshot, published_snapshot, snapshot_id
from store.repository.remote import RemoteStore, read_ahead
from store.schema import READABLE, SCHEMA_VERSION

Attributes = Mapping[str, Any]
#: Characters at the end of a model's key that differ between any two models.
HASH = 8


class Snapshot:
    """A published state of a store, which never changes.

    Attributes
    ----------
    url, id
        URL of the store and id of the snapshot.
    repository, chunks, root
        The icechunk repository, the chunks as zarr reads them, the root group.
    models
        Attributes of the finished models by key, the model ingested last first.

    Raises
    ------
    StoreError
        Where the snapshot is missing, damaged, of another schema, or holds no finished model.
    """

    def __init__(
        self, repository: Repository, url: str, snapshot: str | None = None, kind: type[Corpus] = Corpus
    ) -> None:
        """`kind` is the class of opened models."""
        self.url = url
        self._kind = kind
        self.repository = repository
        self.id = snapshot_id(repository, url, snapshot) if snapshot else published_snapshot(repository, url)
        checksums = Checksums(local_path(url))
        checksums.check(f"snapshots/{self.id}")
        check_snapshot(repository, url, self.id)
        session = repository.readonly_session(snapshot_id=self.id)
        self.chunks: Store = chunks_of(session, url)
        if local_path(url):
            self.chunks = CheckedStore(session.store, repository, self.id, checksums)
        try:
            self.root = self._checked_root()
            self.models = self._finished_models()
        except (IcechunkError, FileNotFoundError, ValueError, KeyError) as error:
            problem = f"Snapshot {self.id} of {url} cannot be read ({first_line(error)})."
            raise StoreCorrupt(f"{problem} Run `headscape mend --store={url}`, or open an older snapshot.") from error
        self._corpora: dict[str, Corpus] = {}

    def __repr__(self) -> str:
        return f"<Snapshot {self.id} of {self.url}: models {', '.join(self.models)}>"

    def _checked_root(self) -> zarr.Group:
        root = zarr.open_group(self.chunks, mode="r")
        version = root.attrs.get("schema_version")
        if version not in READABLE:
            raise SchemaMismatch(
                f"{self.url} has schema {version}, this Headscape reads {SCHEMA_VERSION}. Update Headscape, or ingest again with `headscape ingest --store=...`."
            )
        return root

    def _finished_models(self) -> Mapping[str, Mapping[str, Any]]:
        groups = {name: dict(group.attrs) for name, group in self.group("models").groups()}
        finished = {name: attributes for name, attributes in groups.items() if "sentences" in attributes}
        if not finished:
            raise StoreIncomplete(
                f"No model has been ingested to its end in {self.url}. Run `headscape ingest --store={self.url}`."
            )
        return dict(sorted(finished.items(), key=lambda item: str(item[1]["finished"]), reverse=True))

    def group(self, path: str) -> zarr.Group:
        """A group of the snapshot by its path."""
        group = self.root[path]
        assert isinstance(group, zarr.Group), f"{path} is an array, not a group"
        return group

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Name of each finished model for people, by key: models with different weights have different names."""
        return model_titles(self.models)

    @property
    def published(self) -> datetime:
        """Time of the publication, in UTC."""
        return datetime.fromisoformat(str(self.repository.lookup_snapshot(self.id).metadata[PUBLISHED]))

    @cached_property
    def bytes_on_disk(self) -> int | None:
        """Bytes of the store with its whole history, at the first use; None for object storage."""
        return bytes_on_disk(self.url)

    def head_numbers(self) -> dict[str, HeadNumbers]:
        """The numbers of the heads of every finished model by its key; opens no model."""
        return dict(zip(self.models, read_head_numbers(self.chunks, list(self.models)), strict=True))

    def corpus(self, model: str | None = None) -> Corpus:
        """A model on its corpus by the key or name of the model; None for the model ingested last."""
        name = find_key(self.models, model) if model else next(iter(self.models))
        if name in self._corpora:
            return self._corpora[name]
        if isinstance(self.chunks, RemoteStore):
            for path in (f"corpus/{self.models[name]['corpus']}", f"models/{name}"):
                read_ahead(self.group(path))
        # Two threads may both open a model: both get the same object.
        return self._corpora.setdefault(name, self._kind(self.chunks, self.id, name, title=self.titles[name]))


def open_snapshot(url: str | PathLike[str], snapshot: str | None = None, kind: type[Corpus] = Corpus) -> Snapshot:
    """Open the snapshot that readers see now, or an older one by its id; its models as `kind`.

    Raises
    ------
    StoreError
        See `open_corpus`.
    """
    place = fspath(url)
    return Snapshot(open_repository(place), place, snapshot, kind)


def open_corpus(url: str | PathLike[str], *, snapshot: str | None = None, model: str | None = None) -> Corpus:
    """Open one model of a store to read it.

    Parameters
    ----------
    url
        Folder, `s3://bucket/prefix` or `gs://bucket/prefix`.
    snapshot
        Id of an older published snapshot; None for the current one.
    model
        Key or name of a model of the store; None for the model ingested last.

    Raises
    ------
    StoreError
        Where the store, the snapshot or the model is missing or damaged; the message ends with what to do.
    """
    return open_snapshot(url, snapshot).corpus(model)


def model_titles(models: Mapping[str, Attributes]) -> dict[str, str]:
    """Name of each model by its key; names differ between models with different weights, and between models on one corpus.

    Parameters
    ----------
    models
        Attributes of the models of a store by key.
    """
    titles = {key: str(attributes["model_id"]) for key, attributes in models.items()}
    for name in sorted(set(titles.values())):
        alike = [key for key, attributes in models.items() if attributes["model_id"] == name]
        titles |= _told_apart({key: models[key] for key in alike}, name)
    for title in sorted(set(titles.values())):  # the name of a model of the hub may be that of a folder in its parent
        equal = {key: title for key, own in titles.items() if own == title}
        if not _differ(equal, {key: models[key] for key in equal}):
            titles |= {key: f"{title} ({key[-HASH:]})" for key in equal}
    return titles


def _told_apart(models: Mapping[str, Attributes], name: str) -> dict[str, str]:
    """Names of models that are all called `name`: with as few folders as distinguish them, else with the end of their keys."""
    folders = {key: _folders(attributes, name) for key, attributes in models.items()}
    deepest = max(map(len, folders.values()))
    for depth in range(deepest + 1):
        titles = {
            key: "/".join([*parts[len(parts) - min(depth, len(parts)) :], name]) for key, parts in folders.items()
        }
        if _differ(titles, models):
            return titles
    return {key: f"{name} ({key[-HASH:]})" for key in models}


def _differ(titles: Mapping[str, str], models: Mapping[str, Attributes]) -> bool:
    """Whether models with different weights, and models on one corpus, have different titles."""
    weights = {(title, str(models[key]["weights_sha256"])) for key, title in titles.items()}
    corpora = {(title, str(models[key]["corpus"])) for key, title in titles.items()}
    return len(weights) == len(set(titles.values())) and len(corpora) == len(models)


def _folders(attributes: Attributes, name: str) -> tuple[str, ...]:
    """Folders above the checkpoint's folder, the nearest last; none for a model of the hub."""
    provenance: Attributes = attributes.get("provenance", {})
    place = provenance.get("folder") or provenance.get("settings", {}).get("model") or ""
    parts = [part for part in PurePath(str(place)).parts if part not in ("/", "..")]
    return tuple(parts[:-1]) if parts and parts[-1] == name else ()


def find_key(models: Mapping[str, Attributes], named: str) -> str:
    """Key of the only model that has this key, title or name.

    Raises
    ------
    StoreError
        Where no model or several models have it.
    """
    if named in models:
        return named
    titles, names = model_titles(models), {key: str(attributes["model_id"]) for key, attributes in models.items()}
    found = [key for key in models if titles[key] == named] or [key for key in models if names[key] == named]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(key if titles[key] == names[key] else f"{key} ({titles[key]})" for key in found or models)
    problem = (
        f"{len(found)} models of this store are called {named!r}"
        if found
        else f"There is no model {named!r} in this store"
    )
    raise StoreError(f"{problem}. Choose one of: {shown}.")

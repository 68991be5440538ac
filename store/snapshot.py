"""One published snapshot of a store: its models, each opened as a `Corpus`."""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import zarr
from icechunk import IcechunkError, Repository
from zarr.abc.store import Store

from store.corpus import Corpus
from store.model_names import find_key, model_titles
from store.repository.access import chunks_of, first_line, local_path, open_repository
from store.repository.checksums import CheckedStore, Checksums
from store.repository.errors import SchemaMismatch, StoreCorrupt, StoreIncomplete
from store.repository.history import PUBLISHED, bytes_on_disk, check_snapshot, published_snapshot
from store.repository.object_storage import RemoteStore, read_ahead
from store.schema.array import READABLE, SCHEMA_VERSION


class Snapshot:
    """A published state of a store, which never changes.

    Attributes
    ----------
    url, id
        URL of the store and id of the snapshot.
    repository, chunks, root
        The icechunk repository, the chunks as zarr reads them, the root group.
    models
        Attributes of the finished models by key, the one ingested last first.

    Raises
    ------
    StoreError
        Where the snapshot is missing, damaged, of another schema, or holds no finished model.
    """

    def __init__(self, repository: Repository, url: str, snapshot: str | None = None) -> None:
        self.url = url
        self.repository = repository
        self.id = snapshot or published_snapshot(repository, url)
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
        """Name of each finished model for people, by key: no two models with different weights have the same."""
        return model_titles(self.models)

    @property
    def published(self) -> datetime:
        """Time of the publication, in UTC."""
        return datetime.fromisoformat(str(self.repository.lookup_snapshot(self.id).metadata[PUBLISHED]))

    @cached_property
    def bytes_on_disk(self) -> int | None:
        """Size of the store with its whole history at the first use, in bytes; None for object storage."""
        return bytes_on_disk(self.url)

    def corpus(self, model: str | None = None) -> Corpus:
        """A model on its corpus by the key or name of the model; None for the model ingested last."""
        name = find_key(self.models, model) if model else next(iter(self.models))
        if name in self._corpora:
            return self._corpora[name]
        if isinstance(self.chunks, RemoteStore):
            for path in (f"corpus/{self.models[name]['corpus']}", f"models/{name}"):
                read_ahead(self.group(path))
        # Two threads may both open it: both get the same object.
        return self._corpora.setdefault(name, Corpus(self.chunks, self.id, name, title=self.titles[name]))


def open_snapshot(url: str, snapshot: str | None = None) -> Snapshot:
    """Open the snapshot that readers see now, or an older one by its id.

    Raises
    ------
    StoreError
        As `open_corpus`.
    """
    return Snapshot(open_repository(url), url, snapshot)


def open_corpus(url: str, *, snapshot: str | None = None, model: str | None = None) -> Corpus:
    """Open one model of a store to read it.

    Parameters
    ----------
    url
        Folder, `s3://bucket/prefix` or `gs://bucket/prefix`.
    snapshot
        Id of an older published snapshot; None for the current one.
    model
        Key or name of a model of the store; None for the one ingested last.

    Raises
    ------
    StoreError
        Where the store, the snapshot or the model is missing or damaged; the message ends with what to do.
    """
    return open_snapshot(url, snapshot).corpus(model)

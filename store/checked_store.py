"""A snapshot as zarr reads it, which checks the manifests of an array before its first chunk is read."""

import json
import re
from functools import cached_property

from icechunk import IcechunkStore, Repository
from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import WrapperStore

from store.checksums import Checksums

#: Path of an array, of the key of one of its chunks.
_CHUNK = re.compile(r"(.+)/c(?:/\d+)*")


class CheckedStore(WrapperStore[IcechunkStore]):
    """A manifest says in which file each chunk is: a damaged one gives another chunk, or none, which reads as the fill value."""

    def __init__(self, store: IcechunkStore, repository: Repository, snapshot: str, checksums: Checksums) -> None:
        super().__init__(store)
        self._repository, self._snapshot, self._checksums = repository, snapshot, checksums
        self._checked: set[str] = set()

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """As zarr defines it; StoreCorrupt where a manifest of the array is damaged."""
        if chunk := _CHUNK.fullmatch(key):
            self._check(f"/{chunk[1]}")
        return await super().get(key, prototype, byte_range)

    def _check(self, array: str) -> None:
        if array not in self._checked:
            for manifest in self._manifests.get(array, ()):
                self._checksums.check(f"manifests/{manifest}")
            self._checked.add(array)

    @cached_property
    def _manifests(self) -> dict[str, list[str]]:
        """Ids of the manifests of every array, by its path."""
        nodes = json.loads(self._repository.inspect_snapshot(self._snapshot))["nodes"]
        return {node["path"]: [part["id"] for part in node.get("manifest_refs") or ()] for node in nodes}

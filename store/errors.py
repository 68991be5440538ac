"""What can be wrong with a store, said to a person: every message ends with what to do next."""


class StoreError(Exception):
    """A store cannot be used as asked."""


class StoreNotFound(StoreError):
    """There is no store at this place."""


class StoreUnreachable(StoreError):
    """The place of the store does not answer, so nothing is known of what is there."""


class StoreIncomplete(StoreError):
    """The store exists, but nothing complete has been published in it yet."""


class NotIngested(StoreError):
    """A part of the store that an ingest makes is not there.

    Attributes
    ----------
    missing, remedy
        A sentence on what is not there, and one on how to get it.
    """

    def __init__(self, missing: str, remedy: str) -> None:
        super().__init__(f"{missing} {remedy}")
        self.missing, self.remedy = missing, remedy


class SchemaMismatch(StoreError):
    """The store was written by another version of the schema."""


class SnapshotNotFound(StoreError):
    """The asked snapshot is not, or is no longer, in the store."""


class StoreCorrupt(StoreError):
    """Something in the store cannot be read or contradicts itself."""

"""What can be wrong with a store, said to a person: every message ends with what to do next."""


class StoreError(Exception):
    """A store cannot be used as asked."""


class StoreNotFound(StoreError):
    """There is no store at this place."""


class StoreUnreachable(StoreError):
    """The place of the store does not answer, so nothing is known of what is there."""


class StoreIncomplete(StoreError):
    """The store exists, but nothing complete has been published in it yet."""


class SchemaMismatch(StoreError):
    """The store was written by another version of the schema."""


class SnapshotNotFound(StoreError):
    """The asked snapshot is not, or is no longer, in the store."""


class StoreCorrupt(StoreError):
    """Something in the store cannot be read or contradicts itself."""

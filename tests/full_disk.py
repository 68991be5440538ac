"""A disk without room, as far as this process can tell."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

PIECE = 1 << 16


@contextmanager
def full_disk(room: int = PIECE) -> Iterator[None]:
    """Within the context no file of this process can grow beyond `room` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

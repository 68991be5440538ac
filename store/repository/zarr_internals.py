"""The two undocumented parts of zarr that Headscape uses.

`tests/test_zarr_internals.py` fails where a new zarr has changed them; `pyproject.toml` caps zarr's version.
"""

from collections.abc import Coroutine
from traceback import walk_tb
from typing import Any, TypeVar

from icechunk import IcechunkError
from zarr.core.sync import sync

#: zarr reads every chunk through this module. Its codecs raise ValueError and RuntimeError, as a programming error does.
CHUNK_READER = "zarr.core.codec_pipeline"
#: Module that reads sharded arrays instead of zarr; it raises ValueError for damage, like zarr's codecs.
TILE_READER = "store.repository.tiles"
T = TypeVar("T")


def run_in_zarr(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work on zarr's own event loop, and wait for its result."""
    return sync(work)


def is_damage(error: BaseException) -> bool:
    """Whether an error means that bytes of the store cannot be read: icechunk raised it, or zarr while it read a chunk."""
    modules = {frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__)}
    in_reader = not modules.isdisjoint((CHUNK_READER, TILE_READER))
    return isinstance(error, IcechunkError) or (not isinstance(error, MemoryError) and in_reader)

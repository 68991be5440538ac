"""Whether an error says that the bytes of a store cannot be read."""

from traceback import walk_tb

from icechunk import IcechunkError

#: Through this every chunk is read. zarr's codecs raise ValueError and RuntimeError, as a mistake of the program does.
_READING = "zarr.core.codec_pipeline"


def is_damage(error: BaseException) -> bool:
    """Whether it is one of icechunk, or rose from a chunk that was being read."""
    passed = (frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__))
    return isinstance(error, IcechunkError) or (not isinstance(error, MemoryError) and _READING in passed)

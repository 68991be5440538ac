"""How a command ends: its exit status, and one sentence where it could not do what was asked."""

import errno
import sys
from collections.abc import Callable

from ingest.interruption import STATUS, Interruption


def exit_status(work: Callable[[], None], *, name: str) -> int:
    """0 done or nothing to do, 1 with one sentence on what to do next, 130 interrupted, 141 nobody reads."""
    interruption = Interruption(name)
    try:
        with interruption.watched():
            return _done(work)
    except KeyboardInterrupt:
        interruption.say()
        return STATUS
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        print(f"{name}: {sentence}", file=sys.stderr)
        return 1


def _done(work: Callable[[], None]) -> int:
    from store.piped import until_pipe_closes  # slow, as `store` is: an interruption is heard before

    def run() -> int:
        work()
        return 0

    return until_pipe_closes(run)


def _sentence(error: Exception) -> str | None:
    """For what was asked wrongly, or what the machine or the network lacks; None for a mistake in the program."""
    from icechunk import IcechunkError  # slow, as what imports it is; an interruption comes before or after

    from ingest.errors import IngestError
    from store.errors import StoreError
    from store.repository.access import interruption
    from store.repository.zarr_internals import is_damage

    if isinstance(error, IngestError | StoreError):
        return str(error)
    if _disk_full(error):
        return "The disk is full; what was committed is kept. Free some space and run the same command again."
    if isinstance(error, IcechunkError):
        return interruption(error)
    if is_damage(error):
        return "A part of the store is damaged. Run `make verify` to list the damage, then ingest into another place."
    if _accelerator_full(error):
        said = "The memory of the device is full; what was committed is kept."
        return f"{said} Give a smaller BATCH or MAX_LENGTH, or DEVICE=cpu."
    return None


def _disk_full(error: Exception) -> bool:
    return (
        getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error) or "StorageFull" in repr(error)
    )


def _accelerator_full(error: Exception) -> bool:
    import torch  # takes seconds, and has been imported if this is the reason

    return isinstance(error, torch.OutOfMemoryError) or "MPS backend out of memory" in str(error)

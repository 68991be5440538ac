"""`python -m ingest`: run the stages that have something to do, and publish."""

import errno
import sys

from icechunk import IcechunkError

from ingest.errors import IngestError
from ingest.pipeline import run
from ingest.settings import parse
from store.errors import StoreError


def main() -> int:
    """Exit status: 0 done or nothing to do, 1 with one sentence on what to do next, 130 interrupted."""
    try:
        run(parse())
    except (IngestError, StoreError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("Interrupted; what was committed is kept. Run the same command again to go on.", status=130)
    except (OSError, IcechunkError) as error:
        if _disk_full(error):
            return _fail(
                "The disk is full; what was committed is kept. Free some space and run the same command again."
            )
        raise
    return 0


def _disk_full(error: Exception) -> bool:
    return (
        getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error) or "StorageFull" in repr(error)
    )


def _fail(sentence: str, status: int = 1) -> int:
    print(f"ingest: {sentence}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())

"""`python -m ingest`: run the stages that have something to do, and publish."""

import sys

from ingest.command import exit_status
from ingest.pipeline import run
from ingest.settings import parse


def main() -> int:
    """Exit status, see `exit_status`."""
    return exit_status(lambda: run(parse()), name="ingest")


if __name__ == "__main__":
    sys.exit(main())

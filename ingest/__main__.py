"""`python -m ingest`: run the stages that have something to do, and publish."""

import sys

from ingest.command import exit_status
from ingest.errors import short
from ingest.settings import parse


def main() -> int:
    """Exit status, see `exit_status`."""
    return exit_status(_run, name="ingest")


def _run() -> None:
    settings = parse()
    print(f"Ingesting {short(settings.data)} with {short(settings.model)} into {short(settings.store)}.", flush=True)
    from ingest.pipeline import run  # takes seconds: after the first line

    run(settings)


if __name__ == "__main__":
    sys.exit(main())

"""`headscape ingest`: run the stages that have something to do, and publish.

Imports nothing slow: a process that fits pictures imports this file before anything can end it with its parent.
"""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

if __name__ == "__main__" and Path(sys.path[0]) != Path(__file__).parents[1] and not sys.flags.safe_path:
    del sys.path[0]  # a folder `store` where the command is run is not the package

from ingest.run.process import exit_status, follow_parent, keep_freed_memory, outcome_noted


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an ingest; returns the exit status, see `exit_status`."""
    follow_parent(os.environ)
    return exit_status(partial(_ingest, arguments), name="ingest")


def _ingest(arguments: Sequence[str] | None) -> None:
    from ingest.run.errors import short
    from ingest.run.files import check_folders
    from ingest.run.settings import parse
    from store.process import check_extra, check_installed
    from store.repository.access import local_path

    settings = parse(arguments)
    keep_freed_memory()
    stage = "Ingesting" if settings.stage == "all" else "Projecting"
    print(f"{stage} {short(settings.data)} with {short(settings.model)} into {short(settings.store)}.", flush=True)
    with outcome_noted(settings.store):
        check_installed()
        check_extra("ingest")
        check_folders(local_path(settings.store), "--store", model=settings.model, data=settings.data)
        from ingest.run.checkpoint import settings_checkpoint

        checkpoint = settings_checkpoint(settings.model, settings.store)
        from ingest.pipeline import run  # takes seconds: after the first line, and after a model that is not there

        run(settings, checkpoint=checkpoint)


if __name__ == "__main__":
    status = main()

    from store.process import end

    end(status)

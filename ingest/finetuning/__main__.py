"""`headscape finetune`: fine-tune a classifier, unless it is there already."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

if __name__ == "__main__" and Path(sys.path[0]) != Path(__file__).parents[2] and not sys.flags.safe_path:
    del sys.path[0]  # a folder `store` where the command is run is not the package

from ingest.run.process import exit_status, follow_parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Fine-tune a classifier; returns the exit status, see `exit_status`."""
    follow_parent(os.environ)
    return exit_status(partial(_finetune, arguments), name="finetune")


def _finetune(arguments: Sequence[str] | None) -> None:
    from ingest.finetuning.settings import parse
    from ingest.run.files import check_folders
    from store.process import check_extra, check_installed

    settings = parse(arguments)
    check_installed()
    check_extra("ingest")
    check_folders(Path(settings.out), "--out", model=settings.model, data=settings.data)
    from ingest.run.checkpoint import find_checkpoint

    checkpoint = find_checkpoint(settings.model)
    from ingest.finetuning.run import run  # imports torch: after the flags, and after a model that is not there

    run(settings, checkpoint=checkpoint)


if __name__ == "__main__":
    sys.exit(main())

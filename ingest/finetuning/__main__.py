"""`python -m ingest.finetuning`: fine-tune a classifier, unless it is there already."""

import os
import sys

from ingest.command import exit_status
from ingest.parent import follow_parent


def main() -> int:
    """Exit status, see `exit_status`."""
    follow_parent(os.environ)
    return exit_status(_finetune, name="finetune")


def _finetune() -> None:
    from ingest.finetuning.run import run
    from ingest.finetuning.settings import parse

    run(parse())


if __name__ == "__main__":
    sys.exit(main())

"""`python -m ingest.finetuning`: fine-tune a classifier, unless it is there already."""

import sys

from ingest.command import exit_status
from ingest.finetuning.run import run
from ingest.finetuning.settings import parse


def main() -> int:
    """Exit status, see `exit_status`."""
    return exit_status(lambda: run(parse()), name="finetune")


if __name__ == "__main__":
    sys.exit(main())

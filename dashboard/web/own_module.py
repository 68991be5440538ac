"""Processes that run a module of ours, whatever folders there are where the command is run."""

import os
import sys
from pathlib import Path

#: Where our packages are.
PLACE = str(Path(__file__).parents[2])


def own_module(name: str, *arguments: str) -> list[str]:
    """The command; "-P" leaves out the folder where it is run, in which `store` may be another folder."""
    return [sys.executable, "-P", "-m", name, *arguments]


def environment() -> dict[str, str]:
    """In which our packages are found."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([PLACE, *filter(None, [os.environ.get("PYTHONPATH")])])}

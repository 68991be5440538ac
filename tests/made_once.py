"""Folders that are slow to make and only read: the first test process that asks makes one, the others read it."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` has filled once; other processes wait meanwhile. No test may write there afterwards."""
    folder = _shared(factory) / name
    folder.mkdir(exist_ok=True)
    with (folder / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder / name)
            (folder / "made").touch()
    return folder / name


def _shared(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of the whole run: a process of pytest-xdist has its own in it."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

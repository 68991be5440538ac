"""A task that kills its worker. The task has its own file: a worker imports it by name, and nothing else of the tests."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path


def die_once(work: bytes, _: Mapping[str, str]) -> bytes:
    """Kill the worker of the task, unless a worker was killed before."""
    killed = Path(work.decode())
    if not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return b"done"

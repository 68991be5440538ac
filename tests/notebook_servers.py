"""A server of notebooks in a process of its own, for the time of a test."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextmanager
def running(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, ready: str) -> Iterator[None]:
    """Run `python -m` with these arguments in a folder, once the address `ready` answers; an early end raises its log."""
    file = folder / "log"
    with (
        file.open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            while not _answers(ready):
                assert process.poll() is None, file.read_text()
                time.sleep(0.2)
            yield
        finally:
            process.terminate()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False

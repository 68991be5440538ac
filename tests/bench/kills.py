"""SIGKILLs at random moments of the default ingest: what readers see after each, and whether the end is the same."""

import random
import subprocess
import sys
import tempfile
import time

import numpy as np

from store import StoreError, open_snapshot
from store.snapshot import Snapshot
from store.verification import _arrays, verify
from tests.bench.table import show

SENTENCES = 2000


def kills(count: int) -> None:
    """Kill `count` times, finish, and compare with an ingest that was left alone."""
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        killed, calm = f"{folder}/killed", f"{folder}/calm"
        subprocess.run(_command(killed, 300), check=True, capture_output=True)
        seen = [_kill_after(chance.uniform(1, 14), killed) for _ in range(count)]
        for place in (killed, calm):
            subprocess.run(_command(place, SENTENCES), check=True, capture_output=True)
        different = _differences(open_snapshot(killed), open_snapshot(calm))
    rows = [
        ("kills while it ran", sum(alive for alive, _ in seen)),
        ("readers saw the state published before, and it was sound", sum(state == "300 sound" for _, state in seen)),
        ("readers saw the finished state, and it was sound", sum(state == f"{SENTENCES} sound" for _, state in seen)),
        ("readers saw anything else", sum("sound" not in state for _, state in seen)),
        (
            "arrays of the finished store that differ from an uninterrupted one",
            f"{len(different)} {' '.join(different)}",
        ),
    ]
    show(f"{count} SIGKILLs at random moments, default model, {SENTENCES:,} sentences", ("", ""), rows)


def _command(place: str, sentences: int) -> list[str]:
    return [sys.executable, "-m", "ingest", "--store", place, "--sentences", str(sentences)]


def _kill_after(seconds: float, place: str) -> tuple[bool, str]:
    """Whether it was still running, and what readers saw afterwards."""
    process = subprocess.Popen(_command(place, SENTENCES), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    alive = process.poll() is None
    process.kill()
    process.wait()
    try:
        snapshot = open_snapshot(place)
        findings = list(verify(snapshot))
        return alive, f"{snapshot.corpus().n_sentences} {'; '.join(findings) or 'sound'}"
    except StoreError as error:
        return alive, str(error)


def _differences(one: Snapshot, other: Snapshot) -> list[str]:
    """Paths of arrays that are not the same bit for bit."""
    mine, theirs = (dict(_arrays(snapshot.root, "")) for snapshot in (one, other))
    paths = sorted(mine.keys() | theirs.keys())
    return [
        path for path in paths if path not in mine or path not in theirs or not _same(mine[path][:], theirs[path][:])
    ]


def _same(a: object, b: object) -> bool:
    one, other = np.asarray(a), np.asarray(b)
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")

"""SIGKILLs at random moments of the default ingest: state of the store after each, and whether the final store is the same."""

import random
import subprocess
import sys
import tempfile
import time

import numpy as np

from store import StoreError, open_snapshot
from store.snapshot import Snapshot
from store.verify import _arrays, verify
from tests.bench.table import show

FIRST, SENTENCES = 300, 2000


def kills(count: int) -> None:
    """Kill a running ingest `count` times, let each store finish, and compare it with one that was left alone."""
    chance = random.Random(0)
    seen: list[str] = []
    finished: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        calm = f"{folder}/calm"
        subprocess.run(_command(calm, SENTENCES), check=True, capture_output=True)
        while len(seen) < count:
            place = f"{folder}/killed-{len(finished)}"
            subprocess.run(_command(place, FIRST), check=True, capture_output=True)
            seen += _kill_until_finished(place, chance, count - len(seen))
            finished.append(differences(open_snapshot(place), open_snapshot(calm)))
    rows = [
        ("kills while it ran", len(seen)),
        ("readers then saw what had been published before, and it was sound", seen.count(f"{FIRST} sound")),
        ("readers then saw the whole, and it was sound (killed after publishing)", seen.count(f"{SENTENCES} sound")),
        ("readers then saw anything else", sum("sound" not in state for state in seen)),
        ("finished stores", len(finished)),
        ("arrays of them that differ from an uninterrupted ingest, bit for bit", sum(map(len, finished))),
    ]
    show(f"SIGKILLs at random moments, default model, {FIRST} to {SENTENCES:,} sentences", ("", ""), rows)


def _kill_until_finished(place: str, chance: random.Random, most: int) -> list[str]:
    """Kill a running ingest up to `most` times, then let it finish. Returns the state that readers see after each kill."""
    seen: list[str] = []
    while len(seen) < most:
        alive, state = _kill_after(chance.uniform(1, 14), place)
        if not alive:
            return seen
        seen.append(state)
    subprocess.run(_command(place, SENTENCES), check=True, capture_output=True)
    return seen


def _command(place: str, sentences: int) -> list[str]:
    views = "pca-exact-2d,pca-raw-3d"  # with all pictures few kills would meet the earlier stages
    options = {"store": place, "sentences": str(sentences), "views": views, "features": "pca-joint"}
    return [sys.executable, "-m", "ingest", *(part for name, value in options.items() for part in (f"--{name}", value))]


def _kill_after(seconds: float, place: str) -> tuple[bool, str]:
    """Kill an ingest after some seconds: whether it was still running, and the state that readers see afterwards."""
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


def differences(first: Snapshot, other: Snapshot) -> list[str]:
    """Paths of arrays that are not the same bit for bit."""
    mine, theirs = (dict(_arrays(snapshot.root, "")) for snapshot in (first, other))
    paths = sorted(mine.keys() | theirs.keys())
    return [
        path
        for path in paths
        if path not in mine or path not in theirs or not _same(mine[path][...], theirs[path][...])
    ]


def _same(a: object, b: object) -> bool:
    array, other = np.asarray(a), np.asarray(b)
    return array.shape == other.shape and np.array_equal(array, other, equal_nan=array.dtype.kind == "f")

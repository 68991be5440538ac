"""Single flipped bits in the files of a store, and the arrays that can still be read."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import zarr

from store import StoreError, open_snapshot
from store.repository.zarr_internals import is_damage

KINDS = ("chunks", "manifests", "snapshots", "transactions", "refs", "checksums")


def chosen_files(store: Path, count: int, *, seed: int) -> list[Path]:
    """Choose `count` files of a store, as evenly from all kinds as their numbers allow."""
    chance = random.Random(seed)
    kinds = [sorted(file for file in _files(store / kind) if file.stat().st_size) for kind in KINDS]
    for files in kinds:
        chance.shuffle(files)
    chosen: list[Path] = []
    while len(chosen) < count and any(kinds):
        chosen += [files.pop() for files in kinds if files]
    return chosen[:count]


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]


@contextmanager
def flipped(file: Path, *, seed: int) -> Iterator[None]:
    """Flip a bit at a random place of the file for as long as the context lasts."""
    sound = file.read_bytes()
    flip(file, seed=seed)
    try:
        yield
    finally:
        file.write_bytes(sound)


def flip(file: Path, *, seed: int) -> None:
    content = bytearray(file.read_bytes())
    bit = random.Random(seed).randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)


def read_arrays(url: str) -> dict[str, bytes | str]:
    """Every published array, by its path: its bytes, or the reason why it cannot be read."""
    try:
        members = open_snapshot(url).root.members(max_depth=None)
        return {path: _read(array) for path, array in members if isinstance(array, zarr.Array)}
    except StoreError as error:
        return {"": str(error)}


def _read(array: zarr.Array) -> bytes | str:  # type: ignore[type-arg]
    try:
        values = np.asarray(array[...])
    except Exception as error:
        if not (isinstance(error, StoreError) or is_damage(error)):
            raise
        return str(error)
    return repr(values.tolist()).encode() if values.dtype.kind in "OT" else values.tobytes()

"""The branch files of a local store: which snapshot each names, what is wrong with it, how to point it elsewhere.

icechunk 1.x writes them as `refs/branch.<name>/ref.json`. `tests/test_zarr_internals.py` fails where it no longer does.
"""

import json
import os
from pathlib import Path

MAIN = "main"
INGEST = "ingest"


def holds_snapshots(store: Path) -> bool:
    """Whether a folder is a store, even one that has lost its branches."""
    folder = store / "snapshots"
    return folder.is_dir() and any(folder.iterdir())


def branch_problem(store: Path, branch: str) -> str | None:
    """What is wrong with a branch, in a sentence; None where it names a snapshot of the store."""
    path = _file(store, branch).relative_to(store)
    try:
        named = named_snapshot(store, branch)
    except FileNotFoundError:
        return f"{path} is missing."
    except (OSError, ValueError):
        return f"{path} cannot be read."
    return None if (store / "snapshots" / named).is_file() else f"snapshots/{named}, which {path} names, is missing."


def named_snapshot(store: Path, branch: str) -> str:
    """Id of the snapshot that a branch names. ValueError where icechunk did not write the file so."""
    match json.loads(_file(store, branch).read_bytes()):
        case {"snapshot": str(named), **others} if not others and named.isalnum():
            return named
    raise ValueError(f"branch {branch} names no snapshot")


def point_branch(store: Path, branch: str, snapshot: str) -> None:
    """Let a branch name a snapshot, in one step. The caller holds the store's lock."""
    file = _file(store, branch)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"snapshot": snapshot}, separators=(",", ":")), encoding="ascii")
    os.replace(new, file)


def _file(store: Path, branch: str) -> Path:
    return store / "refs" / f"branch.{branch}" / "ref.json"

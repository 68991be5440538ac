"""Stores that former commits wrote, each with the arrays that these commits read of it."""

import tarfile
from pathlib import Path

_FOLDER = Path(__file__).parent
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in _FOLDER.glob("*.tar.xz"))


def path(name: str) -> Path:
    return _FOLDER / f"{name}.tar.xz"


def unpack(name: str, folder: Path) -> Path:
    """The folder that holds `store` and `shown.npz`, as `python -m tests.former_stores` kept them."""
    with tarfile.open(path(name)) as archive:
        archive.extractall(folder, filter="data")
    return folder / name

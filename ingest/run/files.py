"""Files and folders of models and data: whether they are there, whether a clone has fetched them, and their hash."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from ingest.run.errors import IngestError
from ingest.run.progress import bar

#: How a pointer of Git LFS begins, which stands for a file in a clone without it; what it is, and the remedy.
POINTER_START = b"version https://git-lfs.github.com/spec/"
POINTER = "a pointer of Git LFS, not the data", "Run `git lfs pull` in its folder, then the same command."


def is_file(path: Path) -> bool:
    """Whether the file exists; a name that is too long for a path is no file."""
    with suppress(OSError):
        return path.is_file()
    return False


def is_folder(path: Path) -> bool:
    """Whether the folder exists."""
    with suppress(OSError):
        return path.is_dir()
    return False


def package_folder(package: str) -> Path:
    """Where an installed package keeps its files; the package itself is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise IngestError(
            f"The package {package} is not installed. Install the extra: pip install 'headscape[ingest]', or '.[ingest]' in a clone."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def check_fetched(path: Path, about: str) -> None:
    """Refuse the pointer that stands for a file in a clone without Git LFS."""
    with path.open("rb") as file:
        if file.read(len(POINTER_START)) == POINTER_START:
            what, remedy = POINTER
            raise IngestError(f"{about} is {what}. {remedy}")


def sha256(paths: list[Path]) -> str:
    """Hash of the files' bytes, one after the other."""
    digest = hashlib.sha256()
    try:
        with bar("checksum", total=sum(map(os.path.getsize, paths)), unit="B", delay=1) as progress:
            for piece in chain.from_iterable(map(_pieces, paths)):
                digest.update(piece)
                progress.update(len(piece))
    except OSError as error:
        raise IngestError(f"{error.filename} cannot be read ({error.strerror}). Check that you may read it.") from error
    return digest.hexdigest()


def _pieces(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            yield piece

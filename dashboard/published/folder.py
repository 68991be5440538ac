"""The folder of a published site, or of another export: written beside its place, and put there whole."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from store import StoreError

#: File that marks a folder as made by this command, and describes its content.
MARKER = "site.json"
PUBLISH = "headscape publish"
#: The marker of every command that makes folders.
MARKERS = {PUBLISH: MARKER, "headscape export": "headscape.json"}


@dataclass(frozen=True)
class SiteFolder:
    """A folder that is being written."""

    path: Path

    def write(self, path: str, content: bytes | str) -> None:
        """Write a file of the site by its path in it."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    @property
    def sizes(self) -> MappingProxyType[str, int]:
        """Bytes of every file by its path."""
        files = (file for file in sorted(self.path.rglob("*")) if file.is_file())
        return MappingProxyType({file.relative_to(self.path).as_posix(): file.stat().st_size for file in files})


def check_place(place: Path, command: str = PUBLISH) -> None:
    """Raise StoreError where a command may not put a folder: the folder's content would be lost, or cannot be moved."""
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise StoreError(f"{place} is not a folder. Give another place with --out.")
    if place.is_dir() and any(place.iterdir()) and not (place / MARKERS[command]).is_file():
        raise StoreError(
            f"{place} is not empty and was not made by `{command}`. Give an empty or new folder with --out."
        )
    whole = Path(os.path.abspath(place))
    if os.path.ismount(whole):
        raise StoreError(
            f"{place} is where a disk is mounted, which cannot be replaced. Give a folder in it with --out."
        )
    if Path.cwd().is_relative_to(whole):  # a shell would stand in a folder that is gone
        raise StoreError(
            f"{place} is where this command runs, or above it, and would be gone. Run it from elsewhere, or give another folder with --out."
        )


@contextmanager
def new_site(place: Path, about: dict[str, Any], command: str = PUBLISH) -> Iterator[SiteFolder]:
    """A folder that replaces the old site when it is whole; until then, and after an error, the old site stays.

    Raises
    ------
    StoreError
        Where the place is taken, or no folder can be made there.
    """
    check_place(place, command)
    place = Path(os.path.abspath(place))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    except OSError as error:
        raise StoreError(
            f"No folder can be made in {place.parent} ({error.strerror}). Choose another place with --out=..."
        ) from error
    try:
        site = SiteFolder(beside / "new")
        site.path.mkdir()
        yield site
        site.write(MARKERS[command], json.dumps({"made_by": command} | about, indent=2) + "\n")
        check_place(place, command)
        replace_folder(place, new=site.path, old=beside / "old")
        shutil.rmtree(beside / "old", ignore_errors=True)
    finally:
        shutil.rmtree(beside / "new", ignore_errors=True)
        with suppress(OSError):  # where the old site could not go back, it stays here
            beside.rmdir()


def replace_folder(place: Path, *, new: Path, old: Path) -> None:
    """Move `new` to `place`, and the folder that was there to `old`; where `new` cannot be moved, the old folder returns."""
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise

"""Every folder that a command writes, tried before anything is computed; a cache that cannot be written is moved.

Containers and jobs of a cluster may have no home, or one that cannot be written. Imports nothing slow.
"""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, MutableMapping
from importlib.util import find_spec
from pathlib import Path

from ingest.run.errors import IngestError, short
from ingest.run.forms import is_named_as_data

#: Where numba keeps compiled code, where this is not beside the source.
COMPILED = "NUMBA_CACHE_DIR"
#: Where `datasets` keeps what it has converted, and its locks, where this is not in the folder `datasets` of HF_HOME.
CONVERTED = "HF_DATASETS_CACHE"
#: Packages whose functions numba compiles and keeps.
PACKAGES = ("ingest.projections", "ingest.encode", "umap", "pynndescent")


def check_folders(place: Path | None, flag: str, *, model: str, data: str) -> None:
    """Try every folder that a command writes, and move the caches of compiled code and of converted data where they must be.

    Parameters
    ----------
    place
        What the command makes; None where it is not on this machine.
    flag
        The flag that names it.
    model, data
        As the flags name them; what is no file or folder comes from the hub.

    Raises
    ------
    IngestError
        Where a folder cannot be written that nothing can replace.
    """
    _check_temporary()
    if place is not None and _nearest(place).is_dir() and not is_writable(place):  # else a file is in the way
        raise IngestError(f"{short(place)} cannot be written. Choose another place with {flag}=...")
    for kind, name in (("models", model), ("datasets", data)):
        _check_hub_cache(kind, name)
    before = dict(os.environ)
    place_compiled_code(os.environ)
    if not _is_here("datasets", data):
        place_converted_data(os.environ)
    for name, what in (
        (COMPILED, "numba can be written: compiled code"),
        (CONVERTED, "datasets can be written: what it converts"),
    ):
        if os.environ.get(name) != before.get(name):
            print(f"No cache of {what} is kept in {os.environ[name]}.", flush=True)


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder; where it is not there, in the folder above that is, whatever its mode says."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(folder)):
            return True
    except OSError:
        return False


def _nearest(folder: Path) -> Path:
    """The folder, or what is there of those above it."""
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())


def own_temporary_folder() -> Path:
    """A folder of this user among the temporary ones, the same for every process; others can neither read nor write it."""
    folder = Path(tempfile.gettempdir()) / f"headscape-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    made = folder.lstat()
    if not stat.S_ISDIR(made.st_mode) or made.st_uid != os.getuid() or made.st_mode & 0o077:
        return Path(tempfile.mkdtemp(prefix="headscape-"))  # somebody else could put code there
    return folder


def place_compiled_code(environment: MutableMapping[str, str], beside: Iterable[Path] | None = None) -> None:
    """Let numba keep compiled code in a temporary folder where it could not keep it: it would refuse to compile at all.

    It keeps code `beside` the source first, by default of the installed packages.
    """
    asked = environment.get(COMPILED)
    kept = (
        is_writable(Path(asked))
        if asked
        else all(map(is_writable, beside or _beside_source())) or is_writable(_of_user())
    )
    if not kept:
        environment[COMPILED] = str(own_temporary_folder() / "numba")


def place_converted_data(environment: MutableMapping[str, str]) -> None:
    """Let `datasets` convert what it reads in a temporary folder where it could not in its own; it is imported later."""
    from huggingface_hub.constants import HF_HOME

    if not is_writable(Path(environment.get(CONVERTED) or Path(HF_HOME) / "datasets")):
        environment[CONVERTED] = str(own_temporary_folder() / "datasets")


def _beside_source() -> Iterator[Path]:
    """Where numba keeps code first: it falls back to `_of_user` for each file by itself."""
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).parent / "__pycache__"


def _of_user() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"


def _check_temporary() -> None:
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise IngestError("No folder for temporary files can be written. Give one in TMPDIR.") from error


def _check_hub_cache(kind: str, name: str) -> None:
    """Raise IngestError where something must be downloaded and cannot be kept. What is there already may be read-only."""
    if _is_here(kind, name):
        return
    from huggingface_hub.constants import HF_HUB_CACHE

    place = name.partition("@")[0].partition(":")[0]  # without revision and configuration
    held = (Path(HF_HUB_CACHE) / f"{kind}--{place.replace('/', '--')}").exists()
    if not held and not is_writable(Path(HF_HUB_CACHE)):
        raise IngestError(f"The cache {short(HF_HUB_CACHE)} cannot be written. Give another folder in HF_HOME.")


def _is_here(kind: str, name: str) -> bool:
    """Whether a model or data set is not on the hub, by its name."""
    is_file = kind == "datasets" and is_named_as_data(Path(name))
    return name == "embedded" or Path(name).exists() or is_file or name.startswith((".", "/"))

"""Files and folders of a command: which names are names of data, whether files are there and whole, and whether folders can be written.

Containers and jobs of a cluster may have no home, or one that cannot be written: a cache there is moved. Imports nothing slow.
"""

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from ingest.run.errors import IngestError, short

#: A file that ends so is decompressed while it is read.
GZIP = ".gz"
TREEBANKS = (".conllu", ".conllx", ".conll10")
#: Coreference: CoNLL-2012, and the table of GAP, a tsv with its columns.
CONLL, GAP_TABLE = ".conll", ".gap.tsv"
CSV, TSV, PLAIN, PARQUET = ".csv", ".tsv", ".txt", ".parquet"
FORMS = (CSV, TSV, PARQUET, ".jsonl", ".json", PLAIN, *TREEBANKS, CONLL)
#: Other endings of the same forms; CoNLL-2012 has its versions in their names.
ALIASES = {".ndjson": ".jsonl", ".pq": PARQUET, ".tab": TSV}
CONLL_2012 = re.compile(r"\.v\d+_(gold|auto)_conll")
#: Files of `datasets`, of which several are read as one table.
ARROW = ".arrow"
#: Beginning of a pointer of Git LFS, which stands for a file in a clone without LFS; its description, and the remedy.
POINTER_START = b"version https://git-lfs.github.com/spec/"
POINTER = "a pointer of Git LFS, not the data", "Run `git lfs pull` in its folder, then the same command."
#: Variable with the folder where numba keeps compiled code, if this is not beside the source.
COMPILED = "NUMBA_CACHE_DIR"
#: Variable with the folder where `datasets` keeps converted data and locks, if this is not the folder `datasets` of HF_HOME.
CONVERTED = "HF_DATASETS_CACHE"
#: Packages whose functions numba compiles and keeps.
PACKAGES = ("ingest.projections", "ingest.encode", "umap", "pynndescent")


def is_compressed(path: Path) -> bool:
    """Whether a file is named as compressed with gzip."""
    return path.suffix.lower() == GZIP


def form_of(path: Path) -> str | None:
    """Form of a file by its name in any case, without a `.gz`; None where it cannot be read. Parquet is compressed inside."""
    compressed = is_compressed(path)
    ending = (path.with_suffix("") if compressed else path).suffix.lower()
    form = CONLL if CONLL_2012.fullmatch(ending) else ALIASES.get(ending, ending)
    return form if form in FORMS and not (compressed and form == PARQUET) else None


def is_named_as_data(path: Path) -> bool:
    """Whether a name is that of a file of data, not of a data set of the hub; the file may be missing."""
    return bool(form_of(path)) or is_compressed(path) or path.suffix == ARROW


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


def check_kind(path: Path) -> None:
    """Refuse a path that is neither a file nor a folder: a link to nothing, a pipe, a device. A name that is not there passes."""
    if is_file(path) or is_folder(path) or not os.path.lexists(path):
        return
    if path.is_symlink() and not os.path.exists(path):
        raise IngestError(
            f"{short(path)} is a link whose target is not there or cannot be read. Give the path of a file or a folder."
        )
    raise IngestError(
        f"{short(path)} is neither a file nor a folder, but a pipe or a device. Give the path of a file or a folder."
    )


def package_folder(package: str) -> Path:
    """The folder of an installed package; the package itself is not imported."""
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
    from ingest.run.progress import bar

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


def check_folders(place: Path | None, flag: str, *, model: str, data: str) -> None:
    """Try every folder that a command writes, and move the caches of compiled code and of converted data where this is needed.

    Parameters
    ----------
    place
        File or folder that the command makes; None where it is not on this machine.
    flag
        The flag that names it.
    model, data
        Names of model and data in the flags; what is no file or folder comes from the hub.

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
    """Whether files can be made in a folder, or if it is missing in the nearest folder above, whatever their modes say."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(folder)):
            return True
    except OSError:
        return False


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
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

    numba keeps code `beside` the source first, by default beside that of `PACKAGES`.
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
    """Let `datasets` convert data in a temporary folder where its own cannot be written; it is imported later."""
    from huggingface_hub.constants import HF_HOME

    if not is_writable(Path(environment.get(CONVERTED) or Path(HF_HOME) / "datasets")):
        environment[CONVERTED] = str(own_temporary_folder() / "datasets")


def _beside_source() -> Iterator[Path]:
    """Folders where numba keeps code first: it falls back to `_of_user` for each file by itself."""
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
    is_data = kind == "datasets" and is_named_as_data(Path(name))
    return name == "embedded" or Path(name).exists() or is_data or name.startswith((".", "/"))

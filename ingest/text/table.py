"""A data file as a table that stays on disk: converted into Arrow the first time, and mapped into memory.

The name of a file is literal, and the converted table is found by the hash of the file's bytes: what is read is what was
hashed. `datasets` reads the hub alone, since it takes names for patterns and URLs, and unpacks what is not named so.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ingest.errors import IngestError, short
from ingest.text.conversion import FORMS, VERSION, convert, form_of
from ingest.text.kinds import NOT_TEXT, REFUSED, not_text, refused
from ingest.text.lines import GZIP


@dataclass(frozen=True)
class Table:
    """Columns of a data set.

    Attributes
    ----------
    refused
        Columns that can be neither text nor labels, and what they hold: "a list in row 3".
    not_text
        Columns whose values are not text, and what they are.
    class_names
        Names of the numbers in a column, where the data set declares them.
    """

    columns: pa.Table
    refused: Mapping[str, str]
    not_text: Mapping[str, str]
    class_names: Mapping[str, list[str]]

    @classmethod
    def of(cls, columns: pa.Table, class_names: Mapping[str, list[str]] | None = None) -> "Table":
        """A table whose types say what its columns hold."""
        return cls(columns, refused(columns.schema), not_text(columns.schema), class_names or {})

    def __len__(self) -> int:
        return self.columns.num_rows

    @property
    def titles(self) -> list[str]:
        """Of all columns, those that are refused last."""
        return list(dict.fromkeys([*self.columns.column_names, *self.refused]))


def read_table(path: Path, *, identity: str, hashed: Callable[[], str]) -> Table:
    """The table of the data file whose bytes have the hash `identity`.

    Raises
    ------
    IngestError
        Where the file is not what its name says, is damaged, or no longer has that hash after it was read.
    """
    form = form_of(path)
    if form is None:
        raise IngestError(f"{short(path)} does not end in {', '.join(FORMS)}. Save the reviews in one of these forms.")
    if not path.stat().st_size:
        raise IngestError(f"{short(path)} is empty. Give a file with at least one review.")
    compressed = path.suffix == GZIP  # the same bytes under another name may have to be refused
    converted = _cache() / f"{identity}{form}{GZIP if compressed else ''}-{VERSION}.arrow"
    if not converted.is_file():
        with _new_file(converted) as unfinished:
            convert(path, form, unfinished)
            if hashed() != identity:
                raise IngestError(f"{short(path)} changed while it was read. Run the same command again.")
    return _mapped(converted)


def _mapped(converted: Path) -> Table:
    columns = pa.ipc.open_stream(pa.memory_map(str(converted))).read_all()
    metadata: Mapping[bytes, bytes] = columns.schema.metadata or {}
    useless, other = (json.loads(metadata.get(key, b"{}")) for key in (REFUSED, NOT_TEXT))
    return Table(columns, useless, other, {})


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file to write that gets its name when it is whole."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    os.close(descriptor)
    try:
        yield Path(name)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _cache() -> Path:
    """Beside what is downloaded from the hub."""
    from huggingface_hub.constants import HF_HOME

    folder = Path(HF_HOME) / "headscape"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IngestError(f"The cache {short(folder)} cannot be made. Give another folder in HF_HOME.") from error
    return folder

"""The files of a data set in a folder: what `save_to_disk` wrote, a clone of a repository of the hub, or files of one form.

`datasets` tells the files of each split and configuration by the folder's README.md and by the names of files and folders.
Several files are read as one table: Arrow files as they are, all others as single data files are.
"""

import hashlib
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.run.errors import IngestError, listed, short
from ingest.run.files import ARROW, PARQUET, check_fetched, form_of, is_compressed, is_file, sha256
from ingest.run.progress import say
from ingest.text.lines import ARROWS, check_not_another
from ingest.text.table import Table, form_with_columns, plain, plain_type, read_table
from store.phrases import many


def shards_identity(paths: Sequence[Path]) -> str:
    """Hash of the files' bytes, and of where each ends; for one file its own hash."""
    for path in paths:
        _check_fetched(path)
    each = [sha256([path]) for path in paths]
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest()


def shards_form(paths: Sequence[Path]) -> str | None:
    """The form that all files have: none for Arrow files.

    Raises
    ------
    IngestError
        Where they differ.
    """
    forms = {form_with_columns(path) or path.suffix: path for path in paths}
    if len(forms) > 1:
        some = " and ".join(path.name for path in list(forms.values())[:2])
        raise IngestError(f"The files differ in their form: {some}. Give --data=<a pattern of files of one form>.")
    return None if set(forms) == {ARROW} else next(iter(forms))


def read_shards(paths: Sequence[Path]) -> Table:
    """The table of all files, one after the other. A column whose types in the files do not go together is refused.

    So is a column whose numbers only some files name; where each file names them in its own way, they are numbered anew.
    """
    tables = [_read(path) for path in paths]
    refused: dict[str, str] = {}
    not_text: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for table in tables:
        refused |= table.refused
        not_text |= table.not_text
        for title, own in table.class_names.items():
            names[title] = list(dict.fromkeys([*names.get(title, []), *own]))
    refused |= _of_different_types([table.columns for table in tables], besides=refused)
    refused |= _of_numbers_without_names(tables, {*names} - {*refused})
    kept = [_numbered_by(names, table, _places(table.columns, besides=refused)) for table in tables]
    return Table(pa.concat_tables(kept, promote_options="permissive"), refused, not_text, names)


def _of_numbers_without_names(tables: Iterable[Table], named: Container[str]) -> dict[str, str]:
    """Columns whose numbers some tables name, while another table leaves them without names."""
    return {
        title: "numbers that only some of the files name"
        for table in tables
        for title in table.columns.column_names
        if title in named and title not in table.class_names and table.columns[title].null_count < len(table)
    }


def _numbered_by(names: Mapping[str, list[str]], table: Table, places: Sequence[int]) -> pa.Table:
    """Columns of a table, with the numbers of its own names turned into places in `names`, and numbers without a name into nulls."""
    columns = table.columns.select(list(places))
    for place, title in enumerate(columns.column_names):
        own = table.class_names.get(title, [])
        if own and own != names[title]:
            codes = pa.array(map(names[title].index, own))
            numbers = pc.index_in(columns.column(place), pa.array(range(len(own))))
            columns = columns.set_column(place, title, codes.take(numbers))
    return columns


def _places(columns: pa.Table, *, besides: Container[str]) -> list[int]:
    return [place for place, title in enumerate(columns.column_names) if title not in besides]


def _of_different_types(tables: Sequence[pa.Table], *, besides: Container[str]) -> dict[str, str]:
    """Columns whose types in the files do not go together, with these types."""
    parts: dict[str, list[pa.Table]] = {}
    for table in tables:
        for place in _places(table, besides=besides):
            parts.setdefault(table.column_names[place], []).append(table.select([place]))
    different: dict[str, str] = {}
    for title, own in parts.items():
        try:  # the values too: a schema may promise a type that they cannot be cast to
            pa.concat_tables(own, promote_options="permissive")
        except pa.ArrowException:
            different[title] = " and ".join(dict.fromkeys(str(part.schema.types[0]) for part in own))
    return different


def arrow_table(columns: pa.Table) -> Table:
    """The table of columns as `datasets` stores them, in plain types, with the names of their numbers."""
    values = [pa.chunked_array(map(plain, column.chunks), plain_type(column.type)) for column in columns.columns]
    return Table.of(pa.table(values, columns.column_names), class_names(columns.schema))


def class_names(schema: pa.Schema) -> Mapping[str, list[str]]:
    """Names of the numbers in a column, where `datasets` noted them in the file; empty where it cannot read the note."""
    from datasets import Features

    if b"huggingface" not in (schema.metadata or {}):
        return {}
    try:
        features: Mapping[str, Any] = Features.from_arrow_schema(schema)
    except Exception:  # whatever it raises for a note of another program, or of a newer `datasets`
        return {}
    names = {title: getattr(feature, "names", None) for title, feature in features.items()}
    return {title: known for title, known in names.items() if known and all(isinstance(name, str) for name in known)}


def _read(path: Path) -> Table:
    _check_fetched(path)
    return arrow_table(_mapped(path)) if path.suffix == ARROW else read_file(path, identity=sha256([path]))


def read_file(path: Path, *, identity: str) -> Table:
    """The table of the data file whose bytes have this hash, with the names of the numbers that a Parquet file notes."""
    table = read_table(path, identity=identity, hashed=lambda: sha256([path]))
    return replace(table, class_names=class_names(pq.read_schema(path))) if form_of(path) == PARQUET else table


def _mapped(path: Path) -> pa.Table:
    """An Arrow file, mapped into memory: a stream, or a file that ends in a list of its batches."""
    try:
        source = pa.memory_map(str(path))
        try:
            return pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_file(source).read_all()
    except (pa.ArrowException, OSError) as error:
        check_not_another(path, *ARROWS)
        raise IngestError(f"{short(path)} is not whole Arrow ({type(error).__name__}). Save it again.") from error


def _check_fetched(path: Path) -> None:
    if not is_file(path):
        raise IngestError(f"{short(path.parent)} lists {short(path.name)}, which is not there. {COPY}")
    check_fetched(path, short(path))


TRAIN = "train"
#: Files that `save_to_disk` writes: of a data set, of several splits.
STATE, SPLITS = "state.json", "dataset_dict.json"
#: Advice where one of these, or a file that they list, is missing.
COPY = "Copy the whole folder, or save the data set again with save_to_disk."


def files_of_pattern(pattern: str) -> list[Path]:
    """The files that a pattern such as `shards/*.parquet` names, in the order of their names."""
    if not has_magic(pattern):
        return []
    found = sorted(path for path in map(Path, glob(pattern, recursive=True)) if path.is_file())
    if not found:
        raise IngestError(f"No file is named as {short(pattern)}. Give --data=<a pattern such as 'shards/*.parquet'>.")
    return found


def splits_of_folder(folder: Path, config: str | None) -> Mapping[str, list[Path]]:
    """The files of each split of a data set in a folder.

    Raises
    ------
    IngestError
        Where the folder has no data, or has several configurations and `config` names none of them.
    """
    if (folder / SPLITS).is_file():
        return {split: _saved(folder / split) for split in _saved_splits(folder)}
    if (folder / STATE).is_file():
        return {TRAIN: _saved(folder)}
    found = _told_by_datasets(folder, config) or {TRAIN: _of_known_form(folder)}
    if not any(found.values()):
        raise IngestError(
            f"The folder {short(folder)} holds no data. Give --data=<a folder of Parquet, Arrow, csv or json files, or one that save_to_disk wrote>."
        )
    return found


def say_left_out(folder: Path, splits: Mapping[str, list[Path]], config: str | None) -> None:
    """Say which files of a folder are in no split: `datasets` reads one form, and of it the files that its names of splits match.

    A folder of several configurations has files for each of them.
    """
    if (folder / SPLITS).is_file() or (folder / STATE).is_file():
        return
    from datasets.data_files import FILES_TO_IGNORE

    read = {path.resolve() for paths in splits.values() for path in paths}
    forms = {path.suffix for paths in splits.values() for path in paths}
    left = [
        path
        for path in _of_known_form(folder)
        if path.resolve() not in read and path.name not in FILES_TO_IGNORE and not is_compressed(path)
    ]
    of_other_form = [path.name for path in left if path.suffix not in forms]
    in_no_split = [path.name for path in left if path.suffix in forms] if config is None else []
    reasons = {f"of another form than {listed(sorted(forms))}": of_other_form, "in no split": in_no_split}
    for reason, names in reasons.items():
        if names:
            say(
                f"{many(len(names), 'file')} of {short(folder)} left out, {reason}: {listed(names)}. "
                "To read these, give --data=<a pattern of files of one form>."
            )


def chosen_split(splits: Iterable[str], split: str | None, *, of: str) -> str:
    """The split that is asked for, or the training split, or the only one."""
    there = list(splits)
    default = TRAIN if TRAIN in there else there[0] if len(there) == 1 else None
    chosen = split or default
    if chosen not in there:
        lacks = f"has no split {short(chosen)!r}" if chosen else "has no training split"
        raise IngestError(
            f"{short(of)} {lacks}, it has: {listed(there)}. Give --data-split={there[0]}, or another of these."
        )
    return chosen


def _saved_splits(folder: Path) -> list[str]:
    """Names of the splits that `save_to_disk` wrote."""
    match _json(folder / SPLITS):
        case {"splits": [*splits]} if splits and all(isinstance(split, str) for split in splits):
            return splits
    raise _not_as_saved(folder / SPLITS)


def _saved(folder: Path) -> list[Path]:
    """The files that `save_to_disk` lists, whether they are there or not."""
    match _json(folder / STATE):
        case {"_data_files": [*files]} if files:
            return [folder / _file_name(file, folder / STATE) for file in files]
    raise _not_as_saved(folder / STATE)


def _file_name(file: object, of: Path) -> str:
    match file:
        case {"filename": str(name)} if name:
            return name
    raise _not_as_saved(of)


def _not_as_saved(path: Path) -> IngestError:
    return IngestError(f"{short(path)} is not as save_to_disk writes it. Save the data set again with save_to_disk.")


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise IngestError(f"{short(path)} is not there. {COPY}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise IngestError(
            f"{short(path)} is not readable as JSON. Save the data set again with save_to_disk."
        ) from error


def _told_by_datasets(folder: Path, config: str | None) -> dict[str, list[Path]]:
    """The files of each split as `datasets` tells them; empty where it knows no file of the folder."""
    import datasets

    place = str(folder.resolve())
    try:
        builder = datasets.load_dataset_builder(place, name=config)
    except FileNotFoundError:
        return {}
    except RuntimeError as error:  # a script, which may be code of anybody
        raise IngestError(
            f"{short(folder)} is read by a script, which `datasets` no longer runs. Save its data as Parquet, and give --data=<that folder>."
        ) from error
    except ValueError as error:
        names: list[str] = []
        with suppress(Exception):
            names = datasets.get_dataset_config_names(place)
        if not names or (names == ["default"] and config is None):
            return {}
        raise no_configuration(str(folder), names, config) from error
    except Exception as error:  # whatever it lets through of a folder: of yaml, of archives, of file systems
        raise IngestError(
            f"The folder {short(folder)} cannot be read by `datasets` ({type(error).__name__}). Give --data=<a pattern of its files such as 'shards/*.parquet'>."
        ) from error
    files: Mapping[str, Iterable[str]] = builder.config.data_files or {}
    return {str(split): sorted(map(Path, paths)) for split, paths in files.items()}


def no_configuration(name: str, names: Iterable[str], config: str | None) -> IngestError:
    """The error for a data set that has several configurations, of which none is named, or that lacks the named one."""
    there = list(names)
    lacks = f"has no configuration {short(config)!r}" if config else "has several configurations"
    return IngestError(
        f"{short(name)} {lacks}: {listed(there)}. Give --data={short(name)}:{there[0]}, or another of these."
    )


def _of_known_form(folder: Path) -> list[Path]:
    """Files of our own forms that `datasets` does not know, such as treebanks."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and (form_of(path) or path.suffix == ARROW))

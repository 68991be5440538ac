"""The files of a data set in a folder: what `save_to_disk` wrote, a clone of a repository of the hub, or files of one form.

Which files are a split of which configuration, `datasets` tells by the folder's README.md and by the names of files and folders.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from ingest.run.errors import IngestError, listed, short
from ingest.text.shards import ARROW
from ingest.text.table import form_of

TRAIN = "train"
#: Files that `save_to_disk` writes: of a data set, of several splits.
STATE, SPLITS = "state.json", "dataset_dict.json"


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
        Where there are none, or where the folder has several configurations and `config` names none of them.
    """
    if (folder / SPLITS).is_file():
        return {str(split): _saved(folder / str(split)) for split in _json(folder / SPLITS)["splits"]}
    if (folder / STATE).is_file():
        return {TRAIN: _saved(folder)}
    found = _told_by_datasets(folder, config) or {TRAIN: _of_known_form(folder)}
    if not any(found.values()):
        raise IngestError(
            f"The folder {short(folder)} holds no data. Give --data=<a folder of Parquet, Arrow, csv or json files, or one that save_to_disk wrote>."
        )
    return found


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


def _saved(folder: Path) -> list[Path]:
    return [folder / file["filename"] for file in _json(folder / STATE)["_data_files"]]


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise IngestError(
            f"{short(path)} is not readable as JSON. Save the data set again with save_to_disk."
        ) from error


def _told_by_datasets(folder: Path, config: str | None) -> dict[str, list[Path]]:
    """Empty where `datasets` knows no file of the folder."""
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
    files: Mapping[str, Iterable[str]] = builder.config.data_files or {}
    return {str(split): sorted(map(Path, paths)) for split, paths in files.items()}


def no_configuration(name: str, names: Iterable[str], config: str | None) -> IngestError:
    """That a data set has several configurations, of which none is named, or that it has not the named one."""
    there = list(names)
    lacks = f"has no configuration {short(config)!r}" if config else "has several configurations"
    return IngestError(
        f"{short(name)} {lacks}: {listed(there)}. Give --data={short(name)}:{there[0]}, or another of these."
    )


def _of_known_form(folder: Path) -> list[Path]:
    """Files of our own forms that `datasets` does not know, such as treebanks."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and (form_of(path) or path.suffix == ARROW))

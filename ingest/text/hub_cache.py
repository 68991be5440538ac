"""A data set of the hub, and what the cache holds of it: whole splits, files of a revision, and the first rows of a split."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.run.checkpoint import is_folder
from ingest.run.errors import IngestError
from ingest.run.hub_client import is_commit
from ingest.text.folder import TRAIN, splits_of_folder
from ingest.text.table import cache_folder

PREFIX = "hub:"
#: Stands for a number of rows that the hub does not say.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class HubData:
    """A configuration of a data set of the hub at a revision, if these are known."""

    place: str
    config: str | None = None
    revision: str | None = None

    @classmethod
    def parse(cls, name: str) -> "HubData":
        """Of a name such as `nyu-mll/glue:sst2@main`."""
        rest, _, revision = name.partition("@")
        place, _, config = rest.partition(":")
        return cls(place, config or None, revision or None)

    @property
    def name(self) -> str:
        """The name without its revision."""
        return f"{self.place}:{self.config}" if self.config else self.place

    @property
    def identity(self) -> str:
        """What its training split is told by."""
        return f"{PREFIX}{self.name}@{self.revision}"


def cached_revision(data: HubData) -> str | None:
    """The revision that the cache has, if it holds a split, or the beginning of one."""
    prepared = _prepared(data)
    if prepared:
        return prepared[-1].name
    snapshot = _snapshot(data)
    if snapshot and downloaded_splits(HubData(data.place, data.config, snapshot.name)):
        return snapshot.name
    kept = _streams(data)
    streams = sorted(kept.glob("*/*.arrow"), key=lambda path: path.stat().st_mtime) if is_folder(kept) else []
    return streams[-1].parent.name if streams else None


def cached_splits(data: HubData) -> Mapping[str, list[Path]]:
    """The Arrow files of each split, where `datasets` has prepared them."""
    for folder in reversed(_prepared(data)):
        known: Mapping[str, Any] = json.loads((folder / "dataset_info.json").read_text("utf-8")).get("splits") or {}
        splits = {split: _files_of(folder, split) for split in known}
        if splits and all(splits.values()):
            return splits
    return {}


def downloaded_splits(data: HubData) -> Mapping[str, list[Path]]:
    """The files of each split, where all of a revision were downloaded."""
    snapshot = _snapshot(data)
    if snapshot is None:
        return {}
    try:
        return splits_of_folder(snapshot, data.config)
    except IngestError:
        return {}


def stream_file(data: HubData, split: str | None, first: int, total: int | None) -> Path:
    """Where the first rows of a split are kept; its name says of how many they are."""
    folder = _streams(data) / str(data.revision)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{split or TRAIN}-{first}-of-{total or UNKNOWN}.arrow"


def kept_streams(data: HubData, split: str | None) -> Mapping[int, int | None]:
    """How many first rows of a split are kept, each with the number of all rows."""
    kept: dict[int, int | None] = {}
    for path in (_streams(data) / str(data.revision)).glob(f"{split or TRAIN}-*-of-*.arrow"):
        first, _, total = path.stem.removeprefix(f"{split or TRAIN}-").partition("-of-")
        if first.isdecimal():
            kept[int(first)] = None if total == UNKNOWN else int(total)
    return kept


def _streams(data: HubData) -> Path:
    return cache_folder() / "streams" / data.place.replace("/", "___") / (data.config or "-")


def _prepared(data: HubData) -> list[Path]:
    """Folders of the cache that hold a configuration at a revision, prepared by `datasets`; the newest last."""
    from datasets import config
    from datasets.naming import camelcase_to_snakecase

    namespace, _, name = data.place.rpartition("/")
    root = Path(config.HF_DATASETS_CACHE) / "___".join(filter(None, [namespace, camelcase_to_snakecase(name)]))
    if not is_folder(root):
        return []
    there = sorted(root.glob("*/*/*/dataset_info.json"), key=lambda path: path.stat().st_mtime)
    folders = [path.parent for path in there if data.revision in (None, path.parts[-2])]
    commits = [folder for folder in folders if is_commit(folder.name)]
    return [
        folder for folder in commits if folder.parts[-3] == (data.config or _only_config(data, commits, folder.name))
    ]


def _only_config(data: HubData, folders: Iterable[Path], revision: str) -> str | None:
    """The configuration that a data set is of where none is named; None where that is not sure."""
    from huggingface_hub import DatasetCard, try_to_load_from_cache

    configs = {folder.parts[-3] for folder in folders if folder.name == revision}
    if "default" in configs:
        return "default"
    card = try_to_load_from_cache(data.place, "README.md", repo_type="dataset", revision=revision)
    told: list[dict[str, Any]] = (DatasetCard.load(card).data.get("configs") if isinstance(card, str) else None) or []
    return configs.pop() if len(configs) == 1 and len(told) < 2 else None


def _files_of(folder: Path, split: str) -> list[Path]:
    """The file of a split, or its shards: names end in `-train.arrow`, or `-train-00000-of-00002.arrow`."""
    return sorted([*folder.glob(f"*-{split}.arrow"), *folder.glob(f"*-{split}-[0-9]*-of-[0-9]*.arrow")])


def _snapshot(data: HubData) -> Path | None:
    """The folder of the hub's cache with all files of a revision, as `hf download` leaves it; None where some are missing."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(data.place, repo_type="dataset", revision=data.revision, local_files_only=True))
    except Exception:  # whatever its cache raises: then it is not there
        return None

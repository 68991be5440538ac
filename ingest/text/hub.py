"""A data set of the hub: its configuration and revision, its files in the cache, its rows, and why it cannot be had.

The cache is asked first: what was read once is read again without the hub, at the revision that it had. `@main` after the name asks
the hub for the newest one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ingest.run.checkpoint import is_folder
from ingest.run.errors import IngestError, short
from ingest.run.progress import bar, say
from ingest.text.folder import TRAIN, chosen_split, no_configuration, splits_of_folder
from ingest.text.shards import arrow_table, read_shards
from ingest.text.table import Table, new_file

PREFIX = "hub:"
ROWS_AT_ONCE = 1000
#: Bytes of a data set from which on it is worth a hint that a part of it would do.
LARGE = 1 << 30
#: What a commit of the hub looks like.
COMMIT_LETTERS, COMMIT_LENGTH = frozenset("0123456789abcdef"), 40


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


def find_hub_data(name: str, held: Callable[[], Iterable[str]]) -> HubData:
    """The data set with its revision: the named one, that in the cache, the hub's newest, or that of a store.

    `held` gives the identities of the data in the store that is written.
    """
    asked = HubData.parse(name)
    if asked.revision and len(asked.revision) == COMMIT_LENGTH and COMMIT_LETTERS.issuperset(asked.revision):
        return asked
    if asked.revision is None:
        cached = _cached_revision(asked)
        if cached is not None:
            return HubData(asked.place, asked.config, cached)
    from huggingface_hub import HfApi

    try:
        revision = HfApi().dataset_info(asked.place, revision=asked.revision, timeout=30).sha
    except Exception as error:  # the hub's client lets through whatever its transport raises
        stored = [identity for identity in held() if identity.startswith(f"{PREFIX}{asked.name}@")]
        if not stored or asked.revision is not None:
            raise cannot_load(asked, error, missing=True) from error
        return HubData(asked.place, asked.config, stored[-1].rpartition("@")[2].partition("#")[0])
    return HubData(asked.place, asked.config, str(revision))


def load_split(data: HubData, split: str | None) -> Table:
    """The rows of a split: from the cache where it holds them."""
    cached = _cached_splits(data)
    if cached:
        return read_shards(cached[chosen_split(cached, split, of=data.name)])
    import datasets

    _tell_size(data)
    named = {"name": data.config} if data.config else {}
    try:
        rows = datasets.load_dataset(data.place, split=split or TRAIN, revision=data.revision, **named)
    except Exception as error:  # as above
        choice, downloaded = _of_choice(data, split), _downloaded_splits(data)
        if choice is None and downloaded:
            return read_shards(downloaded[chosen_split(downloaded, split, of=data.name)])
        raise choice or cannot_load(data, error) from error
    names = {title: getattr(feature, "names", None) for title, feature in rows.features.items()}
    # As it is stored: the features of some are decoded by `datasets`, and these are nested.
    return Table.of(rows.flatten_indices().data.table, {title: known for title, known in names.items() if known})


def _tell_size(data: HubData) -> None:
    """Say of a large data set that all of it is downloaded, and how it need not be."""
    import datasets

    size = 0
    with suppress(Exception):  # it is no more than a hint
        size = datasets.load_dataset_builder(data.place, data.config, revision=data.revision).info.download_size or 0
    if size > LARGE:
        say(
            f"{data.name} has {size / 1e9:.1f} GB, all of which is downloaded. --first=50000 reads its first 50,000 reviews only."
        )


def load_first(data: HubData, split: str | None, count: int, kept: Path) -> Table:
    """The first `count` rows of a split, read as a stream and kept in the file `kept`: no more is downloaded."""
    if not kept.is_file():
        import datasets

        named = {"name": data.config} if data.config else {}
        try:
            rows = datasets.load_dataset(
                data.place, split=split or TRAIN, revision=data.revision, streaming=True, **named
            )
            with new_file(kept) as unfinished:
                _write(rows.take(count).with_format("arrow").iter(ROWS_AT_ONCE), unfinished, count)
        except Exception as error:  # as above
            raise _of_choice(data, split) or cannot_load(data, error) from error
    return arrow_table(pa.ipc.open_stream(pa.memory_map(str(kept))).read_all())


def split_names(data: HubData) -> list[str]:
    """Names of the splits of a data set."""
    cached = _cached_splits(data)
    if cached:
        return list(cached)
    import datasets

    try:
        return list(datasets.get_dataset_split_names(data.place, data.config, revision=data.revision))
    except Exception as error:  # as above
        raise cannot_load(data, error) from error


def cannot_load(data: HubData, error: Exception, *, missing: bool = False) -> IngestError:
    """Why a data set cannot be had, and what to do."""
    name, causes = short(data.place), list(_causes(error))
    names = {type(cause).__name__ for cause in causes}
    message = " ".join(map(str, causes))
    if "GatedRepoError" in names or "gated dataset" in message:
        return IngestError(
            f"{name} is gated: its owners give access at https://huggingface.co/datasets/{name}. Ask for it there. "
            "Run `hf auth login`, or set HF_TOKEN, and then the same command."
        )
    if "scripts are no longer supported" in message:
        return IngestError(
            f"{name} is read by a script, which `datasets` no longer runs. Give --data={name}@refs/convert/parquet for the hub's copy in "
            "Parquet, or download the data and give --data=<file>."
        )
    if "RevisionNotFoundError" in names:
        return IngestError(f"{name} has no revision {short(data.revision)!r}. Give --data={name}@main for the newest.")
    if names & {"RepositoryNotFoundError", "HFValidationError"}:
        return IngestError(
            f"Data {name!r} is neither a local file nor on the hub, or it is private. Give --data=<file> or a name such as "
            "--data=stanfordnlp/imdb; for a private one run `hf auth login` first."
        )
    if names & {"DataFilesNotFoundError", "EmptyDatasetError"}:
        return IngestError(f"{name} has no file that `datasets` can read. Download it and give --data=<file>.")
    if not missing:
        return IngestError(
            f"{name} cannot be loaded from the hub ({type(error).__name__}). Try again, or download it and give --data=<file>."
        )
    there = "nor in the cache, and the hub cannot be reached" if _is_unreachable(causes) else "nor on the hub"
    return IngestError(
        f"Data {name!r} is neither a local file {there} ({type(error).__name__}). "
        "Give --data=<file> or a name such as --data=stanfordnlp/imdb."
    )


def _is_unreachable(causes: Iterable[BaseException]) -> bool:
    kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    return bool(kinds & {"OfflineModeIsEnabled", "TransportError", "ConnectionError", "TimeoutError"})


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that it was raised from or in."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _of_choice(data: HubData, split: str | None) -> IngestError | None:
    """That the data set has another configuration or split than is asked for; None where the hub does not say so."""
    import datasets

    try:
        configs = datasets.get_dataset_config_names(data.place, revision=data.revision)
        if data.config not in configs and (data.config or len(configs) > 1):
            return no_configuration(data.place, configs, data.config)
        chosen_split(
            datasets.get_dataset_split_names(data.place, data.config, revision=data.revision), split, of=data.name
        )
    except IngestError as error:
        return error
    except Exception:  # it cannot be asked: then this is not the cause
        return None
    return None


def _write(batches: Iterable[pa.Table], target: Path, count: int) -> None:
    tables = iter(batches)
    first = next(tables)
    with (
        pa.OSFile(str(target), "wb") as sink,
        pa.ipc.new_stream(sink, first.schema) as writer,
        bar("reading", total=count, unit="rows", delay=1) as progress,
    ):
        for table in (first, *tables):
            writer.write_table(table.cast(first.schema))
            progress.update(len(table))


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
    commits = [folder for folder in folders if len(folder.name) == COMMIT_LENGTH]
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


def _cached_revision(data: HubData) -> str | None:
    prepared = _prepared(data)
    if prepared:
        return prepared[-1].name
    snapshot = _snapshot(data)
    return snapshot.name if snapshot and _downloaded_splits(HubData(data.place, data.config, snapshot.name)) else None


def _cached_splits(data: HubData) -> Mapping[str, list[Path]]:
    """The Arrow files of each split, where `datasets` has prepared them."""
    for folder in reversed(_prepared(data)):
        known: Mapping[str, Any] = json.loads((folder / "dataset_info.json").read_text("utf-8")).get("splits") or {}
        splits = {split: _files_of(folder, split) for split in known}
        if splits and all(splits.values()):
            return splits
    return {}


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


def _downloaded_splits(data: HubData) -> Mapping[str, list[Path]]:
    snapshot = _snapshot(data)
    if snapshot is None:
        return {}
    try:
        return splits_of_folder(snapshot, data.config)
    except IngestError:
        return {}

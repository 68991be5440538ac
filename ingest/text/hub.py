"""A data set of the hub: its revision, its rows, its size, why it cannot be had, and what the cache holds of it.

The cache holds whole splits, files of a revision, and the first rows of a split. It is asked first, then the store: what was
read once is read again without the hub, at the revision that it had. `@main` after the name asks the hub for the newest one.

The first rows of a split are read as a stream: as many as are asked for, and of a large split what a budget takes. How many
follows from a few steps, not from the budget alone: a larger budget then grows the same corpus, as a rule.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from ingest.run.checkpoint import is_commit
from ingest.run.errors import IngestError, causes, is_unreachable, short
from ingest.run.files import is_folder
from ingest.run.progress import bar, say
from ingest.text.folder import TRAIN, arrow_table, chosen_split, no_configuration, read_shards, splits_of_folder
from ingest.text.table import OWN, Table, cache_folder
from store.phrases import first_reviews
from store.repository.files import new_file

PREFIX = "hub:"
#: Word for a number of rows that the hub does not say.
UNKNOWN = "unknown"
#: Bytes of a data set from which on a part of it is enough, and fewest reviews of that part.
LARGE, FIRST = 1 << 30, 50_000
ROWS_AT_ONCE = 1000
#: Factor between steps of rows, the first of which is `FIRST`: the smallest step that a budget fits into is read.
STEP = 4
#: A split with fewer than this many times the rows of the step is read whole.
LARGER = 4


@dataclass(frozen=True)
class HubData:
    """A configuration of a data set of the hub at a revision, if these are known."""

    place: str
    config: str | None = None
    revision: str | None = None

    @classmethod
    def parse(cls, name: str) -> "HubData":
        """The data set of a name such as `nyu-mll/glue:sst2@main`."""
        rest, _, revision = name.partition("@")
        place, _, config = rest.partition(":")
        return cls(place, config or None, revision or None)

    @property
    def name(self) -> str:
        """The name without its revision."""
        return f"{self.place}:{self.config}" if self.config else self.place

    @property
    def identity(self) -> str:
        """Identity of the training split."""
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
    """The file of the first rows of a split; its name has their number, and that of all rows."""
    folder = _streams(data) / str(data.revision)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{split or TRAIN}-{first}-of-{total or UNKNOWN}.arrow"


def kept_streams(data: HubData, split: str | None) -> Mapping[int, int | None]:
    """Numbers of first rows of a split that are kept, each with the number of all rows."""
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
    """The configuration of a data set where none is named; None where it is not sure."""
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


def find_hub_data(name: str, held: Callable[[], Iterable[str]]) -> HubData:
    """The data set with its revision: the named one, that in the cache, that of a store, or the hub's newest.

    `held` gives the identities of the data in the store that is written.
    """
    asked = HubData.parse(name)
    if asked.revision and is_commit(asked.revision):
        return asked
    if asked.revision is None:
        known = cached_revision(asked) or _stored_revision(asked, held())
        if known is not None:
            return HubData(asked.place, asked.config, known)
    from huggingface_hub import HfApi

    try:
        revision = HfApi().dataset_info(asked.place, revision=asked.revision, timeout=30).sha
    except Exception as error:  # the hub's client lets through whatever its transport raises
        raise cannot_load(asked, error, missing=True) from error
    return HubData(asked.place, asked.config, str(revision))


def _stored_revision(data: HubData, held: Iterable[str]) -> str | None:
    """The revision in the last held identity of the data set; None where no identity is of it."""
    identities = [identity for identity in held if identity.startswith(f"{PREFIX}{data.name}@")]
    return identities[-1].rpartition("@")[2].partition("#")[0] if identities else None


def load_split(data: HubData, split: str | None) -> Table:
    """The rows of a split: from the cache where it holds them."""
    cached = cached_splits(data)
    if cached:
        return read_shards(cached[chosen_split(cached, split, of=data.name)])
    import datasets

    _tell_size(data, split)
    named = {"name": data.config} if data.config else {}
    try:
        rows = datasets.load_dataset(data.place, split=split or TRAIN, revision=data.revision, **named)
    except Exception as error:  # as above
        choice, downloaded = of_choice(data, split), downloaded_splits(data)
        if choice is None and downloaded:
            return read_shards(downloaded[chosen_split(downloaded, split, of=data.name)])
        raise choice or cannot_load(data, error) from error
    names = {title: getattr(feature, "names", None) for title, feature in rows.features.items()}
    # The table as it is stored: `datasets` would decode some features, which are nested then.
    return Table.of(rows.flatten_indices().data.table, {title: known for title, known in names.items() if known})


def _tell_size(data: HubData, split: str | None) -> None:
    """Say that all of a large data set is downloaded, and how to avoid this."""
    size = hub_size(data, split)
    if size is not None and size.bytes > LARGE:
        say(
            f"{data.name} has {size.gigabytes}, all of which is downloaded. --first={FIRST} reads its first {FIRST:,} reviews only."
        )


@dataclass(frozen=True)
class HubSize:
    """Reviews of a split, where the hub knows their number, and bytes that are downloaded to read it."""

    reviews: int | None
    bytes: int

    @property
    def gigabytes(self) -> str:
        """The bytes, for a person."""
        return f"{self.bytes / 1e9:,.1f} GB"


@lru_cache(maxsize=16)  # asked before it is decided what is read, and before all is downloaded
def hub_size(data: HubData, split: str | None) -> HubSize | None:
    """The size of a split, by its card or its files; None where the hub does not say."""
    import datasets

    try:
        builder = datasets.load_dataset_builder(data.place, data.config, revision=data.revision)
        known = (builder.info.splits or {}).get(split or TRAIN)
        return HubSize(known.num_examples if known else None, builder.info.download_size or _bytes(data, builder))
    except Exception:  # as above: then it is found out by reading
        return None


def _bytes(data: HubData, builder: Any) -> int:
    from huggingface_hub import HfApi

    files = {
        str(url).partition("@")[2].partition("/")[2] for urls in builder.config.data_files.values() for url in urls
    }
    siblings = HfApi().dataset_info(data.place, revision=data.revision, files_metadata=True).siblings or []
    return sum(each.size or 0 for each in siblings if each.rfilename in files)


def split_names(data: HubData) -> list[str]:
    """Names of the splits of a data set."""
    cached = cached_splits(data)
    if cached:
        return list(cached)
    import datasets

    try:
        return list(datasets.get_dataset_split_names(data.place, data.config, revision=data.revision))
    except Exception as error:  # as above
        raise cannot_load(data, error) from error


def cannot_load(data: HubData, error: Exception, *, missing: bool = False) -> IngestError:
    """The error that says why a data set cannot be loaded, and what to do."""
    name, raised = short(data.place), list(causes(error))
    names = {type(cause).__name__ for cause in raised}
    message = " ".join(map(str, raised))
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
    if "CastError" in names or any(isinstance(cause, pa.ArrowException) for cause in raised):
        return IngestError(
            f"Rows of {name} cannot be read as one table ({type(error).__name__}): columns change their types, or a file is damaged. "
            "Save the data as a file of one type for each column, and give --data=<that file>."
        )
    if not missing:
        return IngestError(
            f"{name} cannot be loaded from the hub ({type(error).__name__}). Try again, or download it and give --data=<file>."
        )
    there = "nor in the cache, and the hub cannot be reached" if is_unreachable(error) else "nor on the hub"
    return IngestError(
        f"Data {name!r} is neither a local file {there} ({type(error).__name__}). "
        "Give --data=<file> or a name such as --data=stanfordnlp/imdb."
    )


def of_choice(data: HubData, split: str | None) -> IngestError | None:
    """The error for a configuration or split that the data set lacks; None where the hub does not say so."""
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


@dataclass(frozen=True)
class FirstRows:
    """Number of the first rows of a split, None for all; and the number of all rows, where it is known."""

    first: int | None
    total: int | None = None

    @property
    def mark(self) -> str:
        """End of the identity of the data."""
        return f"#first={self.first}"


def part_of(
    data: HubData, split: str | None, *, identity: str, first: int | None, fewest: int | None, held: Iterable[str]
) -> FirstRows:
    """The part of a split that is read: `first` rows where they are given, else of a large split the first that a budget takes.

    Parameters
    ----------
    identity
        Identity of the whole split.
    fewest
        Rows that the budget takes; None where all are to be read.
    held
        Identities of the data in the store that is written: what it has is not asked of the hub.
    """
    kept, stored = kept_streams(data, split), set(held)

    def is_held(count: int) -> bool:
        return count in kept or f"{identity}{FirstRows(count).mark}" in stored

    if first is not None:
        size = None if is_held(first) else hub_size(data, split)
        return FirstRows(first, size.reviews if size else kept.get(first))
    if fewest is None or identity in stored or cached_splits(data) or downloaded_splits(data):
        return FirstRows(None)
    steps = [FIRST * STEP**power for power in range(12)]
    enough = [step for step in steps if step >= fewest]
    before = list(filter(is_held, enough))
    if before:
        part = FirstRows(before[0], kept.get(before[0]))
        say(
            f"The sample of {data.name} is of {first_reviews(before[0], part.total)}, as before; --first=all reads all."
        )
        return part
    size = hub_size(data, split)
    if size is None or not enough or not _is_larger(size, enough[0]):
        return FirstRows(None)
    reviews = f"{size.reviews:,} reviews ({size.gigabytes})" if size.reviews else size.gigabytes
    say(
        f"{data.name} has {reviews}. The sample is of the first {enough[0]:,}, read as a stream; --first=all reads all, "
        "or give another number."
    )
    return FirstRows(enough[0], size.reviews)


def _is_larger(size: HubSize, first: int) -> bool:
    """Whether the first rows are so much less that a stream of them is worth a sample of these alone."""
    return size.bytes > LARGE and (size.reviews is None or size.reviews >= LARGER * first)


def load_first(data: HubData, split: str | None, part: FirstRows) -> Table:
    """The first rows of a split, read as a stream and kept: no more is downloaded."""
    assert part.first is not None
    kept = stream_file(data, split, part.first, part.total)
    if not kept.is_file():
        import datasets

        named = {"name": data.config} if data.config else {}
        try:
            rows = datasets.load_dataset(
                data.place, split=split or TRAIN, revision=data.revision, streaming=True, **named
            )
            with new_file(kept, mode=OWN, durable=False) as unfinished:
                _write(rows.take(part.first).with_format("arrow").iter(ROWS_AT_ONCE), unfinished, part.first)
        except Exception as error:  # the hub's client lets through whatever its transport raises
            raise of_choice(data, split) or cannot_load(data, error) from error
    return arrow_table(pa.ipc.open_stream(pa.memory_map(str(kept))).read_all())


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

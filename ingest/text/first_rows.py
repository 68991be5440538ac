"""The first rows of a data set of the hub, read as a stream: as many as are asked for, and of a large one what a budget takes.

How many follows from a few steps, not from the budget alone: a larger budget then grows the same corpus, as a rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ingest.run.progress import bar, say
from ingest.text.folder import TRAIN, arrow_table
from ingest.text.hub import (
    FIRST,
    LARGE,
    HubData,
    HubSize,
    cached_splits,
    cannot_load,
    downloaded_splits,
    hub_size,
    kept_streams,
    of_choice,
    stream_file,
)
from ingest.text.table import OWN, Table
from store.phrases import first_reviews
from store.repository.files import new_file

ROWS_AT_ONCE = 1000
#: `FIRST` rows, or so many times as many, again and again: the first of these numbers that a budget takes.
STEP = 4
#: A split is read whole that has fewer times these rows.
LARGER = 4


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a split, or None for all; of how many in all, where it is known."""

    first: int | None
    total: int | None = None

    @property
    def mark(self) -> str:
        """What an identity of data ends in."""
        return f"#first={self.first}"


def part_of(
    data: HubData, split: str | None, *, identity: str, first: int | None, fewest: int | None, held: Iterable[str]
) -> FirstRows:
    """The part of a split that is read: `first` rows where they are given, else of a large split the first that a budget takes.

    Parameters
    ----------
    identity
        That of the whole split.
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

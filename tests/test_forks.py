"""Parts of a transaction that other processes write are joined into one commit; nothing is lost or written twice."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import icechunk
import numpy as np
import pytest

from store.repository.arrays import array_of
from store.repository.errors import StoreError
from store.repository.writer import Fork, Writer, open_writer


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """A writer of a store with two arrays of four chunks."""
    with open_writer(str(tmp_path / "store")) as opened:
        for name in ("first", "second"):
            opened.group("models").create_array(name, shape=(8,), chunks=(2,), dtype="int32", fill_value=-1)
        opened.commit("room")
        yield opened


def write(fork: Fork, chunk: int, value: int, name: str = "first") -> Fork:
    """Write a chunk as a process does: it gets the fork, writes the chunk and sends the fork back."""
    received: Fork = pickle.loads(pickle.dumps(fork))
    array_of(received.group("models"), name)[2 * chunk : 2 * chunk + 2] = value
    returned: Fork = pickle.loads(pickle.dumps(received))
    return returned


def committed(writer: Writer, name: str = "first") -> list[int]:
    """The first number of every chunk."""
    return np.asarray(array_of(writer.group("models"), name)[::2]).tolist()


def test_forks_of_one_transaction_are_joined_into_one_commit(writer: Writer) -> None:
    forked = writer.begin_forks()
    writer.join(forked, [write(forked.fork(), chunk, chunk) for chunk in (0, 1, 3)])
    writer.commit("three chunks")
    assert committed(writer) == [0, 1, -1, 3]


def test_nothing_of_a_fork_is_there_before_it_is_joined(writer: Writer) -> None:
    write(writer.begin_forks().fork(), 0, 7)
    assert committed(writer) == [-1] * 4
    assert not writer.changed


def test_the_joined_transaction_can_be_read_and_written_before_its_commit(writer: Writer) -> None:
    forked = writer.begin_forks()
    writer.join(forked, [write(forked.fork(), 0, 7)])
    array_of(writer.group("models"), "second")[:] = array_of(writer.group("models"), "first")[:]
    writer.commit("a copy")
    assert committed(writer, "second") == [7, -1, -1, -1]


def test_a_transaction_that_began_before_other_commits_is_joined_after_them(writer: Writer) -> None:
    first, second = writer.begin_forks(), writer.begin_forks()
    forks = [write(forked.fork(), chunk, chunk) for chunk, forked in enumerate((first, second))]
    for forked, fork in zip((first, second), forks, strict=True):
        writer.join(forked, [fork])
        writer.commit("a chunk")
    assert committed(writer) == [0, 1, -1, -1]


def test_the_same_chunk_in_two_transactions_is_refused(writer: Writer) -> None:
    first, second = writer.begin_forks(), writer.begin_forks()
    forks = [write(forked.fork(), 0, value) for value, forked in enumerate((first, second))]
    writer.join(first, [forks[0]])
    writer.commit("a chunk")
    with pytest.raises(StoreError, match=r"the same part of the store\. Run the ingest again"):
        writer.join(second, [forks[1]])


def test_of_the_same_chunk_in_two_forks_of_one_transaction_the_last_wins(writer: Writer) -> None:
    """icechunk 1 does not notice two writers of a chunk: tasks of one transaction must write different chunks."""
    forked = writer.begin_forks()
    writer.join(forked, [write(forked.fork(), 0, value) for value in (5, 6)])
    writer.commit("the same chunk")
    assert committed(writer)[0] == 6


def test_joining_would_lose_uncommitted_changes_and_is_refused(writer: Writer) -> None:
    forked = writer.begin_forks()
    array_of(writer.group("models"), "second")[:] = 1
    with pytest.raises(ValueError, match="commit before joining forks"):
        writer.join(forked, [write(forked.fork(), 0, 7)])


def test_a_fork_does_not_see_what_is_not_committed(writer: Writer) -> None:
    array_of(writer.group("models"), "first")[:] = 9
    fork = writer.begin_forks().fork()
    assert np.asarray(array_of(fork.group("models"), "first")[:]).tolist() == [-1] * 8


def test_commits_of_another_ingest_are_not_built_upon(writer: Writer) -> None:
    forked = writer.begin_forks()
    fork = write(forked.fork(), 0, 7)
    other = Writer(icechunk.Repository.open(icechunk.local_filesystem_storage(writer.url)), writer.url)
    array_of(other.group("models"), "second")[:] = 1
    other.commit("another ingest")
    with pytest.raises(StoreError, match=r"Another ingest has written .* in the meantime\. Run the ingest again\."):
        writer.join(forked, [fork])

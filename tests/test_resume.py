"""A killed ingest loses little work, shows readers nothing of the kill, and ends as if nothing had happened."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import store
from ingest import pipeline
from ingest.__main__ import main
from store.repository.errors import StoreIncomplete
from store.repository.writer import Writer
from store.verify import verify
from tests.forks import forks
from tests.stores import LIMITS

pytestmark = pytest.mark.slow

Commits = Callable[[str], list[str]]
Fork = Callable[..., "Forked"]
SENTENCES = 40
#: Messages of commits, each of which is followed by a kill.
MOMENTS = [": block 1", ": fit of pca-exact-2d, layer 0", ": pairs block 2"]


class Forked:
    """The command `ingest` in small blocks, in a fork, which sends itself a signal right after the first commit with a message."""

    def __init__(self, flags: list[str], folder: Path, moment: str | None, how: signal.Signals) -> None:
        said = tuple(folder / name for name in ("out", "err"))
        process = forks().Process(target=_ingest, args=(flags, said, moment, how))
        process.start()
        process.join()
        self.status = process.exitcode
        self.out, self.err = (path.read_text() for path in said)


def _ingest(flags: list[str], said: tuple[Path, Path], moment: str | None, how: signal.Signals) -> None:
    for stream, path in enumerate(said, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    # The fork handles SIGINT even where the tests ignore it, as with `make test &`.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = flags
    pipeline.run = partial(pipeline.run, limits=LIMITS)
    if moment:
        _signal_after(moment, how)
    sys.exit(main())


def _signal_after(moment: str, how: signal.Signals) -> None:
    commit = Writer.commit

    def listen(writer: Writer, message: str, *rest: Any) -> str:
        committed = commit(writer, message, *rest)
        if moment in message:
            os.kill(os.getpid(), how)
        return committed

    Writer.commit = listen  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def flags(tiny_model: Path, tiny_data: Path) -> Callable[[str], list[str]]:
    def flags(place: str) -> list[str]:
        options = {"store": place, "model": str(tiny_model), "data": str(tiny_data), "max-length": "24"}
        options |= {"views": "pca-exact-2d", "features": "none", "annotate": "none", "mixing": "none"}
        options["sentences"] = str(SENTENCES)
        return [part for name, value in options.items() for part in (f"--{name}", value)]

    return flags


@pytest.fixture(scope="module")
def fork(flags: Callable[[str], list[str]], tmp_path_factory: pytest.TempPathFactory) -> Fork:
    def fork(place: str, moment: str | None = None, how: signal.Signals = signal.SIGKILL) -> Forked:
        return Forked(flags(place), tmp_path_factory.mktemp("said"), moment, how)

    return fork


@dataclass(frozen=True)
class Killed:
    """The place of the store, the readers' snapshot after each kill, findings of `verify`, and lines of the last run."""

    place: str
    seen: list[str]
    findings: list[str]
    said: list[str]


@pytest.fixture(scope="module")
def killed(few_store: str, fork: Fork, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """A store whose ingest was killed at every moment and then left to its end."""
    place = str(shutil.copytree(few_store, tmp_path_factory.mktemp("killed") / "store"))
    seen: list[str] = []
    for moment in MOMENTS:
        assert fork(place, moment).status == -signal.SIGKILL
        seen.append(store.open_snapshot(place).id)
    findings = list(verify(store.open_snapshot(place)))
    last = fork(place)
    assert last.status == 0, last.err
    return Killed(place, seen, findings, last.out.splitlines())


def test_readers_of_a_killed_ingest_see_what_was_published_before(killed: Killed, few_store: str) -> None:
    assert killed.seen == [store.open_snapshot(few_store).id] * len(MOMENTS)
    assert killed.findings == []


def test_a_killed_ingest_ends_as_if_it_had_not_been(
    killed: Killed, plain_store: str, read_arrays: Callable[[str], dict[str, np.ndarray]]
) -> None:
    arrays, expected = read_arrays(killed.place), read_arrays(plain_store)
    assert arrays.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, err_msg=path)


def test_the_last_run_publishes_the_whole(killed: Killed) -> None:
    *said, cut = killed.said
    assert [line.partition(" ")[0] for line in said] == ["Ingesting", "Published"]
    assert "wordpieces" in cut
    assert store.open_corpus(killed.place).n_sentences == SENTENCES
    assert list(verify(store.open_snapshot(killed.place))) == []


@pytest.mark.parametrize(
    ("stage", "pieces"), [(": block ", 3), (": fit of pca-exact-2d, layer ", 2), (": pairs block ", 3)]
)
def test_every_piece_was_committed_once_in_spite_of_the_kills(
    stage: str,
    pieces: int,
    killed: Killed,
    few_store: str,
    commits: Commits,
) -> None:
    new = commits(killed.place)[len(commits(few_store)) :]
    numbers = [message.partition(stage)[2] for message in new if stage in message]
    assert len(numbers) == len(set(numbers)) >= pieces


def test_a_first_ingest_that_is_killed_has_published_nothing(fork: Fork, tmp_path: Path) -> None:
    assert fork(str(tmp_path / "store"), "room for").status == -signal.SIGKILL
    with pytest.raises(StoreIncomplete, match=r"Run `headscape ingest --store=.*` to its end\.$"):
        store.open_corpus(str(tmp_path / "store"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_says_in_one_sentence_how_to_go_on(fork: Fork, tmp_path: Path, how: signal.Signals) -> None:
    interrupted = fork(str(tmp_path / "store"), ": block 0", how)
    messages = [line for line in interrupted.err.replace("\r", "\n").splitlines() if line.strip() and "|" not in line]
    assert interrupted.status == 130
    assert messages == ["ingest: Interrupted; what was committed is kept. Run the same command again to go on."]

"""An ingest that is killed loses little, shows readers nothing of it, and ends as if nothing had happened."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from icechunk import IcechunkError

import store
from ingest import pipeline
from ingest.__main__ import main
from store.repository.errors import StoreIncomplete
from store.verify import verify
from tests.stores import LIMITS

pytestmark = pytest.mark.slow

Ingest = Callable[..., str]
Commits = Callable[[str], list[str]]
Fork = Callable[[str], "Forked"]
WaitFor = Callable[..., None]
SENTENCES = 75
#: Messages of commits: a kill comes as soon as one is there.
MOMENTS = [
    ": block 3",
    ": block 5",
    ": fit of pca-exact-2d, layer 0",
    ": layer 0 of pca-exact-2d",
    ": pairs block 2",
]


#: Its processes are forks of one that has imported these: to import takes longer than an ingest does.
FORKS = get_context("forkserver")
IMPORTED = (
    __name__,
    "transformers.models.bert.modeling_bert",
    "transformers.models.auto.tokenization_auto",
    "sklearn.manifold",
)


class Forked:
    """The command `ingest` in small blocks, in a fork. Signals end it as they end any process."""

    def __init__(self, flags: list[str], folder: Path) -> None:
        FORKS.set_forkserver_preload(list(IMPORTED))
        self._said = tuple(folder / name for name in ("out", "err"))
        self._process = FORKS.Process(target=_ingest, args=(flags, self._said))
        self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def communicate(self) -> list[str]:
        self._process.join()
        return [path.read_text() for path in self._said]

    def send_signal(self, how: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, how)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _ingest(flags: list[str], said: tuple[Path, Path]) -> None:
    for stream, path in enumerate(said, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    # It hears SIGINT also where the tests do not, as with `make test &`.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = flags
    pipeline.run = partial(pipeline.run, limits=LIMITS)
    sys.exit(main())


@pytest.fixture(scope="module")
def flags(tiny_model: Path, tiny_data: Path) -> Callable[[str], list[str]]:
    def flags(place: str) -> list[str]:
        options = {"store": place, "model": str(tiny_model), "data": str(tiny_data), "max-length": "24"}
        options |= {"views": "pca-exact-2d", "features": "none", "annotate": "none"}
        options["sentences"] = str(SENTENCES)
        return [part for name, value in options.items() for part in (f"--{name}", value)]

    return flags


@pytest.fixture(scope="module")
def fork(flags: Callable[[str], list[str]], tmp_path_factory: pytest.TempPathFactory) -> Fork:
    return lambda place: Forked(flags(place), tmp_path_factory.mktemp("said"))


@pytest.fixture(scope="module")
def wait_for(commits: Commits) -> WaitFor:
    def wait_for(process: Forked, place: str, message: str, after: int = 0) -> None:
        """Until there is a commit with this message after the first so many; a minute at most."""
        for _ in range(600):
            assert process.poll() is None, f"the ingest ended before {message!r}: {process.communicate()}"
            try:
                if any(message in commit for commit in commits(place)[after:]):
                    return
            except IcechunkError:
                pass  # the repository is being created
            time.sleep(0.1)
        pytest.fail(f"{message!r} never came")

    return wait_for


@pytest.fixture(scope="module")
def killed(
    few_store: str,
    fork: Fork,
    wait_for: WaitFor,
    commits: Commits,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, list[tuple[int, list[str]]], list[str]]:
    """The place of a store whose ingest was killed at every moment, what readers saw after each, and what each committed."""
    place = str(shutil.copytree(few_store, tmp_path_factory.mktemp("killed") / "store"))
    seen: list[tuple[int, list[str]]] = []
    after = len(commits(place))
    for moment in MOMENTS:
        process = fork(place)
        wait_for(process, place, moment, after)
        process.kill()
        snapshot = store.open_snapshot(place)
        seen.append((snapshot.corpus().n_sentences, list(verify(snapshot))))
    process = fork(place)
    out, err = process.communicate()
    assert process.poll() == 0, err
    return place, seen, out.splitlines()


def test_readers_of_a_killed_ingest_see_what_was_published_before(
    killed: tuple[str, list[tuple[int, list[str]]], list[str]],
) -> None:
    assert killed[1] == [(10, [])] * len(MOMENTS)


def test_a_killed_ingest_ends_as_if_it_had_not_been(
    killed: tuple[str, list[tuple[int, list[str]]], list[str]],
    ingest: Ingest,
    read_arrays: Callable[[str], dict[str, np.ndarray]],
    tmp_path: Path,
) -> None:
    arrays, expected = read_arrays(killed[0]), read_arrays(ingest(tmp_path / "store", sentences=SENTENCES))
    assert arrays.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, err_msg=path)


def test_the_last_run_publishes_the_whole(killed: tuple[str, list[tuple[int, list[str]]], list[str]]) -> None:
    *said, cut = killed[2]
    assert [line.partition(" ")[0] for line in said] == ["Ingesting", "Published"]
    assert "wordpieces" in cut
    assert store.open_corpus(killed[0]).n_sentences == SENTENCES
    assert list(verify(store.open_snapshot(killed[0]))) == []


@pytest.mark.parametrize(
    ("stage", "pieces"), [(": block ", 6), (": fit of pca-exact-2d, layer ", 2), (": pairs block ", 6)]
)
def test_every_piece_was_committed_once_in_spite_of_the_kills(
    stage: str,
    pieces: int,
    killed: tuple[str, list[tuple[int, list[str]]], list[str]],
    few_store: str,
    commits: Commits,
) -> None:
    new = commits(killed[0])[len(commits(few_store)) :]
    numbers = [message.partition(stage)[2] for message in new if stage in message]
    assert len(numbers) == len(set(numbers)) >= pieces


def test_a_first_ingest_that_is_killed_has_published_nothing(fork: Fork, wait_for: WaitFor, tmp_path: Path) -> None:
    process = fork(str(tmp_path / "store"))
    wait_for(process, str(tmp_path / "store"), "room for")
    process.kill()
    with pytest.raises(StoreIncomplete, match=r"Run `headscape ingest --store=.*` to its end\.$"):
        store.open_corpus(str(tmp_path / "store"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_says_in_one_sentence_how_to_go_on(
    fork: Fork, wait_for: WaitFor, tmp_path: Path, how: signal.Signals
) -> None:
    process = fork(str(tmp_path / "store"))
    wait_for(process, str(tmp_path / "store"), ": block 2")
    process.send_signal(how)
    _, err = process.communicate()
    messages = [line for line in err.replace("\r", "\n").splitlines() if line.strip() and "|" not in line]
    assert process.poll() == 130
    assert messages == ["ingest: Interrupted; what was committed is kept. Run the same command again to go on."]

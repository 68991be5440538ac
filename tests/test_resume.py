"""An ingest that is killed loses little, shows readers nothing of it, and ends as if nothing had happened."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from icechunk import IcechunkError

import store
from store.errors import StoreIncomplete
from store.verification import verify

Ingest = Callable[..., str]
Commits = Callable[[str], list[str]]
Start = Callable[[str], subprocess.Popen[str]]
SENTENCES = 75
#: `python -m ingest`, in small blocks.
DRIVER = """
import sys
from ingest import corpus, projections
from ingest.__main__ import main
corpus.BLOCK, projections.FIT_TOKENS = 64, 200
sys.exit(main())
"""
#: Messages of commits: a kill comes as soon as one is there.
MOMENTS = [": block 5", ": block 9", ": pca-exact block 4", ": pca-exact block 8", ": pairs block 4", ": pairs block 8"]


@pytest.fixture(scope="module")
def start(tiny_model: Path, tiny_data: Path) -> Start:
    def start(place: str) -> subprocess.Popen[str]:
        options = {"store": place, "model": str(tiny_model), "data": str(tiny_data), "max-length": "24"}
        options["sentences"] = str(SENTENCES)
        flags = [part for name, value in options.items() for part in (f"--{name}", value)]
        command = [sys.executable, "-c", DRIVER, *flags]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)

    return start


@pytest.fixture(scope="module")
def wait_for(commits: Commits) -> Callable[[subprocess.Popen[str], str, str], None]:
    def wait_for(process: subprocess.Popen[str], place: str, message: str) -> None:
        """Until the ingest has committed something with this message; a minute at most."""
        for _ in range(6000):
            assert process.poll() is None, f"the ingest ended before {message!r}: {process.communicate()}"
            try:
                if any(message in one for one in commits(place)):
                    return
            except IcechunkError:
                pass  # the repository is being created
            time.sleep(0.01)
        pytest.fail(f"{message!r} never came")

    return wait_for


@pytest.fixture(scope="module")
def published(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store whose readers already see something."""
    return ingest(tmp_path_factory.mktemp("published") / "store", sentences=20)


@pytest.fixture(scope="module")
def killed(
    published: str,
    start: Start,
    wait_for: Callable[[subprocess.Popen[str], str, str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, list[tuple[int, list[str]]], list[str]]:
    """The place of a store whose ingest was killed at every moment, what readers saw after each, and what each committed."""
    place = str(shutil.copytree(published, tmp_path_factory.mktemp("killed") / "store"))
    seen: list[tuple[int, list[str]]] = []
    for moment in MOMENTS:
        process = start(place)
        wait_for(process, place, moment)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        snapshot = store.open_snapshot(place)
        seen.append((snapshot.corpus().n_sentences, list(verify(snapshot))))
    process = start(place)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return place, seen, out.splitlines()


def test_readers_of_a_killed_ingest_see_what_was_published_before(
    killed: tuple[str, list[tuple[int, list[str]]], list[str]],
) -> None:
    assert killed[1] == [(20, [])] * len(MOMENTS)


def test_a_killed_ingest_ends_as_if_it_had_not_been(
    killed: tuple[str, list[tuple[int, list[str]]], list[str]],
    ingest: Ingest,
    read_arrays: Callable[[str], dict[str, np.ndarray]],
    tmp_path: Path,
) -> None:
    found, expected = read_arrays(killed[0]), read_arrays(ingest(tmp_path / "store", sentences=SENTENCES))
    assert found.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(found[path], array, err_msg=path)


def test_the_last_run_publishes_the_whole(killed: tuple[str, list[tuple[int, list[str]]], list[str]]) -> None:
    assert [line.partition(" ")[0] for line in killed[2]] == ["Published"]
    assert store.open_corpus(killed[0]).n_sentences == SENTENCES
    assert list(verify(store.open_snapshot(killed[0]))) == []


def test_every_block_was_committed_once_in_spite_of_the_kills(
    killed: tuple[str, list[tuple[int, list[str]]], list[str]], published: str, commits: Commits
) -> None:
    new = commits(killed[0])[len(commits(published)) :]
    for stage in (": block ", ": pca-exact block ", ": pairs block "):
        numbers = [message.partition(stage)[2] for message in new if stage in message]
        assert len(numbers) == len(set(numbers)) > 10


def test_a_first_ingest_that_is_killed_has_published_nothing(
    start: Start, wait_for: Callable[[subprocess.Popen[str], str, str], None], tmp_path: Path
) -> None:
    process = start(str(tmp_path / "store"))
    wait_for(process, str(tmp_path / "store"), "room for")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with pytest.raises(StoreIncomplete, match=r"Run `make ingest STORE=.*` to its end\.$"):
        store.open_corpus(str(tmp_path / "store"))


def test_interrupting_says_in_one_sentence_how_to_go_on(
    start: Start, wait_for: Callable[[subprocess.Popen[str], str, str], None], tmp_path: Path
) -> None:
    process = start(str(tmp_path / "store"))
    wait_for(process, str(tmp_path / "store"), ": block 2")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    said = [line for line in err.replace("\r", "\n").splitlines() if line.strip() and "|" not in line]
    assert process.returncode == 130
    assert said == ["ingest: Interrupted; what was committed is kept. Run the same command again to go on."]

"""One process has the model for all workers: it encodes a sentence once, ends with its server, and is started again."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dashboard.sentence.change import Change
from dashboard.sentence.encoder import (
    BUSY,
    ENDED,
    READERS,
    SLOW,
    Encoder,
    EncoderProcess,
    RemoteEncoder,
    TypedSentences,
    _ask,
)
from dashboard.sentence.sentence import stored_sentence
from dashboard.web.admission import current_tell, steps_told_to
from dashboard.web.corpus_model import CorpusModel
from dashboard.web.errors import NotYet, Refusal
from dashboard.web.processes import ServerFolder, locked, server_folder
from store import Corpus

pytestmark = pytest.mark.slow

PATIENCE = 300.0  # loading torch takes long on a busy machine


#: A model of a store that does not say where the checkpoint is: the answer needs no torch.
LOST = CorpusModel("lost-1", "lost", None, "0", None, 16, "float32")
LOST_MESSAGE = "The model lost cannot be loaded. Put its checkpoint back, or run `headscape ingest` with another one."


def answer(remote: RemoteEncoder) -> str:
    """The message on a sentence for the model without a checkpoint."""
    with pytest.raises(Refusal) as caught:
        remote.encode(LOST, "film", "", lambda: False)
    return str(caught.value)


@pytest.fixture(scope="module")
def folder() -> Iterator[ServerFolder]:
    with server_folder() as folder:
        yield folder
        end(folder)


def worker(folder: ServerFolder) -> TypedSentences:
    """Typed sentences of a new worker of the server, whose cache is empty."""
    return TypedSentences(RemoteEncoder(folder, patience=PATIENCE))


def processes(folder: ServerFolder) -> list[psutil.Process]:
    """The encoder processes of a folder."""
    processes = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if str(folder.path) in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            processes.append(process)
    return processes


def end(folder: ServerFolder) -> None:
    for process in processes(folder):
        process.kill()
        until(lambda: not processes(folder))


def until(condition: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("Not within a minute")


def test_a_sentence_is_the_one_that_this_process_would_encode(folder: ServerFolder, tiny_corpus: Corpus) -> None:
    own, remote = (
        encoder.encode(tiny_corpus, "A good film.", "So it was.") for encoder in (TypedSentences(), worker(folder))
    )
    for name, value in vars(own).items():
        np.testing.assert_array_equal(getattr(remote, name), value)


def test_a_changed_sentence_is_the_one_that_this_process_would_encode(
    folder: ServerFolder, tiny_corpus: Corpus
) -> None:
    sentence, change = stored_sentence(tiny_corpus, 3), Change(((0, 1),))
    own, remote = (typed.change(tiny_corpus, sentence, change) for typed in (TypedSentences(), worker(folder)))
    np.testing.assert_array_equal(remote.query, own.query)
    np.testing.assert_array_equal(remote.last, own.last)


def test_workers_that_ask_at_once_start_one_process_which_ends_when_its_server_ends_in_good_order() -> None:
    with server_folder() as folder:
        remotes = [RemoteEncoder(folder, patience=PATIENCE) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(answer, remotes)) == [LOST_MESSAGE] * 4
        assert len(processes(folder)) == 1
    until(lambda: not processes(folder))
    assert not folder.path.exists()


def test_the_process_leaves_the_other_cores_to_the_workers(folder: ServerFolder, tiny_corpus: Corpus) -> None:
    worker(folder).encode(tiny_corpus, "A slow film.")
    (process,) = processes(folder)
    assert process.environ()["OMP_NUM_THREADS"] == "1"


def test_a_refusal_reaches_the_worker(folder: ServerFolder, tiny_corpus: Corpus) -> None:
    with pytest.raises(Refusal, match="Type one, such as") as caught:
        worker(folder).encode(tiny_corpus, "\u200b")
    assert caught.value.status == 400


def test_a_worker_imports_no_torch(folder: ServerFolder, tiny_store: str) -> None:
    code = (
        "import sys, pathlib; from store import open_corpus\n"
        "from dashboard.web.processes import ServerFolder\n"
        "from dashboard.sentence.encoder import RemoteEncoder\n"
        "from dashboard.sentence.encoder import TypedSentences\n"
        "remote = RemoteEncoder(ServerFolder(pathlib.Path(sys.argv[2])), patience=300)\n"
        "TypedSentences(remote).encode(open_corpus(sys.argv[1]), 'a film')\n"
        "print({'torch', 'transformers', 'ingest'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, tiny_store, str(folder.path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "set()\n"


def test_a_process_that_dies_is_one_sentence_and_is_started_anew() -> None:
    with server_folder() as folder:
        remote = RemoteEncoder(folder, patience=PATIENCE)
        assert answer(remote) == LOST_MESSAGE
        [process] = processes(folder)
        process.suspend()  # the process takes the question and does not answer
        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(answer, remote)
            time.sleep(0.3)
            process.kill()
            assert reader.result() == ENDED
        process.wait(PATIENCE)  # until then its socket takes questions
        assert answer(remote) == LOST_MESSAGE
        [anew] = processes(folder)
        assert anew.pid != process.pid
        end(folder)


def test_a_process_that_nobody_asks_ends_and_leaves_no_socket() -> None:
    with server_folder() as folder:
        remote = RemoteEncoder(folder, patience=PATIENCE, idle=5.0)
        assert answer(remote) == LOST_MESSAGE
        until(lambda: not processes(folder))
        assert not folder.socket.exists()


SERVER = """
import os, time
from dashboard.web.processes import server_folder
from dashboard.sentence.encoder import RemoteEncoder
from tests.test_encoder_process import answer
with server_folder() as folder:
    if os.fork() == 0:
        answer(RemoteEncoder(folder, patience=300))
        print(folder.path, flush=True)
        time.sleep(600)
    os.wait()
"""


def test_the_process_ends_with_a_server_that_is_killed() -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    worker: list[psutil.Process] = []
    try:
        assert server.stdout is not None
        folder = ServerFolder(Path(server.stdout.readline().strip()))
        worker = psutil.Process(server.pid).children()
        assert len(processes(folder)) == 1
        server.kill()
        until(lambda: not processes(folder))
        until(lambda: not folder.path.exists())
    finally:
        for process in worker:
            process.kill()  # a worker of the real server ends by itself
        server.kill()
        server.communicate()


def test_no_more_wait_in_a_worker_than_leave_others_their_threads() -> None:
    with server_folder() as folder:
        remote = RemoteEncoder(folder)
        with ExitStack() as waiting:
            for _ in range(READERS):
                waiting.enter_context(remote._room.entered())
            assert answer(remote) == BUSY
        assert processes(folder) == []


def test_a_reader_who_waits_too_long_gets_a_message() -> None:
    with server_folder() as folder:
        assert answer(RemoteEncoder(folder, patience=-1)) == SLOW
        assert processes(folder) == []


def test_a_reader_is_told_each_step_until_the_sentence_comes() -> None:
    class Telling(Encoder):
        def encode(self, *_request: object, has_left: Callable[[], bool]) -> Any:
            current_tell()("Loading the model lost")
            return "left" if has_left() else "encoded"

    process, told = EncoderProcess(ServerFolder(Path("nowhere")), 60, Telling()), list[str]()
    worker, own = Pipe()
    with worker, ThreadPoolExecutor(1) as pool, steps_told_to(told.append):
        pool.submit(process._answer, own)
        assert _ask(worker, (LOST, "film", ""), lambda _: None) == "encoded"
    assert told == ["Loading the model lost"]


def test_a_model_whose_process_has_ended_is_loaded_again() -> None:
    """A page says that the model is loaded again, instead of waiting without a word."""
    with server_folder() as folder:
        assert not RemoteEncoder(folder).is_running


def test_who_waits_too_long_may_ask_again() -> None:
    with server_folder() as folder, pytest.raises(NotYet, match=SLOW):
        RemoteEncoder(folder, patience=-1).encode(LOST, "film", "", lambda: False)


def test_a_sentence_that_several_workers_ask_for_is_encoded_once() -> None:
    passes: list[object] = []

    class Slow(Encoder):
        def encode(self, *request: object, has_left: Callable[[], bool]) -> Any:
            passes.append(request)
            time.sleep(0.2)
            return "left" if has_left() else "encoded"

    process = EncoderProcess(ServerFolder(Path("nowhere")), 60, Slow())

    def ask(_: int) -> object:
        worker, own = Pipe()
        with worker, ThreadPoolExecutor(1) as pool:
            pool.submit(process._answer, own)
            worker.send((LOST, "film", ""))
            return worker.recv()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == ["encoded"] * 4
    assert ask(5) == "encoded"
    assert passes == [(LOST, "film", "")]


def test_a_process_that_waits_for_another_leaves_it_its_socket_and_its_name() -> None:
    with server_folder() as folder, folder.encoding():
        folder.socket.touch()
        waiting = subprocess.Popen([sys.executable, "-m", "dashboard.sentence.encoder", str(folder.path), "60"])
        known = psutil.Process(waiting.pid)
        try:
            until(lambda: any(file.path.endswith("encoder-process") for file in known.open_files()))
            assert folder.socket.exists()
            assert folder.encoder_process == os.getpid()
        finally:
            waiting.kill()
            waiting.wait()


def test_who_looks_for_the_process_is_not_taken_for_it() -> None:
    with server_folder() as folder:
        with folder.encoding():
            assert folder.encoder_process == os.getpid()
        with (folder.path / "encoder-process").open() as looking:
            assert locked(looking, fcntl.LOCK_SH)
            assert folder.encoder_process is None


def test_a_process_that_cannot_read_a_request_is_idle_again() -> None:
    with server_folder() as folder:
        process, (own, other) = EncoderProcess(folder, 0.0, Encoder()), Pipe()
        own.send_bytes(b"cno_module_of_this_name\nRequest\n.")
        with own, pytest.raises(ModuleNotFoundError):
            process._answer(other)
        assert process._is_idle()

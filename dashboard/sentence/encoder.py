"""Forward passes of typed sentences, of sentences without stored vectors, and of models with changed heads: in this process, or in the
encoder process of a server.

`python -m dashboard.sentence.encoder FOLDER IDLE` serves; a worker starts it when the first sentence is typed (`RemoteEncoder`).
It ends with the server, and after `IDLE` seconds without a request.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from cachetools import LRUCache

from dashboard.sentence.change import NO_CHANGE, Change
from dashboard.sentence.checkpoint import (
    Changed,
    Encoded,
    Request,
    change_request,
    check_words,
    encoded,
    load,
    readable,
    request_for,
)
from dashboard.sentence.sentence import Sentence, is_cut, stored_sentence
from dashboard.web.admission import (
    LOOK_SECONDS,
    Room,
    Step,
    Tell,
    WaitingLine,
    current_tell,
    reader_left,
    steps_told_to,
)
from dashboard.web.context import Context, no_vectors
from dashboard.web.corpus_model import CorpusModel, runs_models
from dashboard.web.errors import NotYet, ReaderLeft, Refusal, sentence_for
from dashboard.web.processes import ServerFolder, environment, own_module, return_freed_memory
from dashboard.web.results import BUDGET, Cache, current_cache
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus

if TYPE_CHECKING:
    from ingest.encode.hidden_words import GuessingModel

#: Bytes of weights that stay loaded; at least one model.
WEIGHTS = 1 << 30
#: Most readers who wait for a forward pass.
WAITING = 8
BUSY = "The server is busy with other sentences. Try again in a few seconds."
WAITS = "Waiting for the model, which encodes another sentence"
UNLIKE = (
    "The tokenizer splits this sentence into other wordpieces than the store has. Run `headscape ingest --vectors=all`."
)
#: Seconds that a thread of the server waits for a sentence, and for the process to listen.
PATIENCE = 25.0
#: Most threads of a worker that wait for sentences at once: the other threads still answer.
READERS = 5
#: Seconds without a request after which the encoder process ends, so that its memory goes back to the system.
IDLE = 600.0
#: Threads of a matrix product wait for each other while workers use the cores: with two, ten readers waited 1.5 s, with one 0.25 s.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
SLOW = "The model is still being loaded, or busy. Try again in a few seconds."
ENDED = "The process that runs the model has ended. Try again: it is started anew."
#: A function that says whether the reader has left.
HasLeft = Callable[[], bool]
#: Most connections that wait to be accepted.
BACKLOG = 64
#: Seconds between two checks for requests.
IDLE_PAUSE = 1.0
#: The name of the queue in the metrics: readers who wait for a typed sentence.
QUEUE = "typed sentences"
STARTS = "Starting the process that runs the model"


class SentenceEncoder(Protocol):
    """Runs the model: in this process (`Encoder`), or in the encoder process for all workers of a server (`RemoteEncoder`)."""

    @property
    def is_running(self) -> bool:
        """Whether the process with the loaded model still runs: without requests it ends."""

    def encode(self, model: CorpusModel, text: str, second: str, has_left: HasLeft) -> Sentence:
        """The encoded sentence, or a `Refusal`."""

    def change(self, model: CorpusModel, text: str, second: str, change: Change, has_left: HasLeft) -> Sentence:
        """The sentence encoded by a model with changed heads, or a `Refusal`."""


class TypedSentences:
    """Encodes typed sentences; results are cached, as several parts of a page need the same sentence."""

    def __init__(self, encoder: SentenceEncoder | None = None) -> None:
        self._encoder = encoder or Encoder()
        self._loaded: set[CorpusModel] = set()

    @classmethod
    def of(cls, _served_store: ServedStore) -> "TypedSentences":
        """The typed sentences of a served store without an encoder process: this process encodes them."""
        return cls()

    def encode(
        self, corpus: Corpus, text: str, second: str = "", has_left: HasLeft = lambda: False, *, most: int | None = None
    ) -> Sentence:
        """The sentence, or the pair if `second` has a text; cut at `most` wordpieces, or at the limit of the model or the server.

        Nothing is computed once `has_left` says that the reader has left. Raises a `Refusal` where encoding fails.
        """
        request = request_for(corpus, text, second, most)
        check_words(bool(request[1]), "")
        return current_cache().get(self, request, lambda: self._encoded(*request, has_left))

    def change(self, corpus: Corpus, sentence: Sentence, change: Change) -> Sentence:
        """A sentence encoded by the model with changed heads; cached, with a `Refusal`, as in `encode`."""
        request = change_request(corpus, sentence, change)
        return current_cache().get(self, request, lambda: self._changed(request))

    def run(self, corpus: Corpus, text: str, change: Change) -> Sentence:
        """A text of a sample, encoded by the model with changed heads: not cached, as a sample would push out all other sentences.

        It tells nobody its steps: the caller tells the progress of the whole sample.
        """
        with steps_told_to(lambda _: None):
            return self._changed((CorpusModel.of(corpus), readable(text), "", replace(change, products=False)))

    def is_changed(self, corpus: Corpus, sentence: Sentence, change: Change) -> bool:
        """Whether `change` would answer at once."""
        return current_cache().find(self, change_request(corpus, sentence, change)) is not None

    def encode_counted(self, corpus: Corpus, sentence: int, has_left: HasLeft = lambda: False) -> Sentence:
        """A sentence of the corpus without stored vectors, encoded now; cached, with a `Refusal`, as in `encode`."""
        key = ("encoded sentence", sentence)
        return current_cache().get(corpus, key, lambda: self._counted(corpus, sentence, has_left))

    def _counted(self, corpus: Corpus, sentence: int, has_left: HasLeft) -> Sentence:
        text = corpus.counted_text(sentence)
        try:
            encoded = self._encoded(CorpusModel.of(corpus), readable(text), "", has_left)
        except ReaderLeft:
            raise
        except Refusal as refusal:
            problem = f"sentence={sentence} {no_vectors(corpus.n_sentences)}. It cannot be encoded now: {refusal}"
            raise Refusal(problem, refusal.status) from refusal
        if list(encoded.wordpieces) != corpus.counted_wordpieces(sentence):
            raise Refusal(UNLIKE)
        cut = is_cut(corpus, len(encoded.wordpieces))
        return replace(encoded, text=text, label=corpus.label_name(sentence), cut=cut)

    def _encoded(self, model: CorpusModel, text: str, second: str, has_left: HasLeft) -> Sentence:
        try:
            encoded = self._encoder.encode(model, text, second, has_left)
        except Refusal as refusal:
            if refusal.is_of_request:  # because of the text: the model is loaded
                self._loaded.add(model.checkpoint)
            raise
        self._loaded.add(model.checkpoint)
        return encoded

    def _changed(self, request: Changed) -> Sentence:
        changed = self._encoder.change(*request, reader_left)
        self._loaded.add(request[0].checkpoint)
        return changed

    def has_loaded(self, corpus: Corpus) -> bool:
        """Whether the model is loaded: it has encoded a sentence."""
        return self._encoder.is_running and CorpusModel.of(corpus).checkpoint in self._loaded

    def has_counted(self, corpus: Corpus, sentence: int) -> bool:
        """Whether `encode_counted` would answer at once."""
        return current_cache().find(corpus, ("encoded sentence", sentence)) is not None

    def is_encoded(self, corpus: Corpus, text: str, second: str = "", *, most: int | None = None) -> bool:
        """Whether `encode` would answer at once: the sentence is cached."""
        return current_cache().find(self, request_for(corpus, text, second, most)) is not None


def encodable_sentences(corpus: Corpus) -> int:
    """Number of first sentences that can be shown: those with vectors, or all counted ones where the server can run a model."""
    return corpus.counted_sentences if runs_models() else corpus.n_sentences


def corpus_sentence(served_store: ServedStore, corpus: Corpus, sentence: int) -> Sentence:
    """A sentence that the ingest has run the model on: from its stored vectors, or encoded now where it has none."""
    if sentence < corpus.n_sentences or sentence >= corpus.counted_sentences:
        return stored_sentence(corpus, sentence)
    return served_store.service(TypedSentences).encode_counted(corpus, sentence, reader_left)


def shown_sentence(context: Context) -> Sentence:
    """The sentence of a page: the typed sentence, else a sentence of the corpus."""
    return context.share("sentence", lambda: _sentence(context.served_store, context.corpus, context.state))


def has_no_vectors(corpus: Corpus, state: LinkState) -> bool:
    """Whether the sentence of a link is a sentence of the corpus without stored vectors."""
    return state.text is None and state.sentence >= corpus.n_sentences


def waits_for_model(typed: TypedSentences, corpus: Corpus, state: LinkState) -> bool:
    """Whether the sentence of a link must be encoded by a model that is not loaded yet."""
    unstored = has_no_vectors(corpus, state)
    if not (state.text or unstored) or typed.has_loaded(corpus):
        return False
    if unstored:
        return not typed.has_counted(corpus, state.sentence)
    return not typed.is_encoded(corpus, state.text or "", state.second or "")


def _sentence(served_store: ServedStore, corpus: Corpus, state: LinkState) -> Sentence:
    if state.text is None:
        return corpus_sentence(served_store, corpus, state.sentence)
    return served_store.service(TypedSentences).encode(corpus, state.text, state.second or "", reader_left)


class Encoder:
    """Encodes one sentence at a time; loads a model at its first sentence. It caches models and nothing else."""

    def __init__(self, *, waiting: int = WAITING, make_model: "Callable[..., GuessingModel] | None" = None) -> None:
        """`make_model` makes a model of a checkpoint; by default `GuessingModel`, which takes seconds to import."""
        self._turns, self._make_model = WaitingLine(waiting, BUSY, name="encoder"), make_model
        # In one thread for all sentences torch takes a fifth less time than in a new thread for each.
        self._thread = ThreadPoolExecutor(1, "encoder")
        # Slow methods run in another thread, one at a time: other readers type sentences meanwhile.
        self._methods, self._slow_thread = WaitingLine(waiting, BUSY, name="methods"), ThreadPoolExecutor(1, "methods")
        self._models: LRUCache[CorpusModel, GuessingModel] = LRUCache(WEIGHTS, lambda loaded: min(loaded.size, WEIGHTS))

    @property
    def is_running(self) -> bool:
        """True: the model runs in this process."""
        return True

    def encode(self, model: CorpusModel, text: str, second: str, has_left: HasLeft) -> Sentence:
        """The sentence, or a `Refusal`; nothing is computed once `has_left` says that the reader has left."""
        return self.change(model, text, second, NO_CHANGE, has_left)

    def change(self, model: CorpusModel, text: str, second: str, change: Change, has_left: HasLeft) -> Sentence:
        """The sentence encoded by a model with changed heads, with the numbers of its method; or a `Refusal`."""
        tell = current_tell()
        tell(WAITS)
        with self._turns.turn(has_left):
            sentence, traced = self._thread.submit(self._encoded, model, text, second, change, tell).result()
        if traced is None:
            return sentence
        with self._methods.turn(has_left):
            found = self._slow_thread.submit(traced.decomposed, tell, has_left).result()
        return replace(sentence, decomposed=found)

    def _encoded(self, model: CorpusModel, text: str, second: str, change: Change, tell: Tell) -> Encoded:
        if (checkpoint := model.checkpoint) not in self._models:
            tell(f"Loading the model {model.model_id}")
            self._models[checkpoint] = load(checkpoint, self._make_model)
        tell("Encoding the sentence")
        return encoded(self._models[checkpoint], text, second, change, most=model.max_length)


class RemoteEncoder:
    """Gets sentences from the encoder process, which has the model; workers have no torch."""

    def __init__(self, folder: ServerFolder, *, patience: float = PATIENCE, idle: float = IDLE) -> None:
        self._folder = folder
        self._idle = idle
        self._patience = patience
        # Limits the waiting threads of this worker, even before the process listens.
        self._room = Room(READERS, BUSY, name=QUEUE)

    @property
    def is_running(self) -> bool:
        """Whether the encoder process runs: its next sentence does not wait for a model."""
        return self._folder.encoder_process is not None

    def encode(self, model: CorpusModel, text: str, second: str, has_left: HasLeft) -> Sentence:
        """Encode a sentence in the encoder process, see `Encoder.encode`."""
        return self._asked((model, text, second), has_left)

    def change(self, model: CorpusModel, text: str, second: str, change: Change, has_left: HasLeft) -> Sentence:
        """Encode a sentence with changed heads in the encoder process, see `Encoder.change`."""
        return self._asked((model, text, second, change), has_left)

    def _asked(self, request: Request | Changed, has_left: HasLeft) -> Sentence:
        deadline = time.monotonic() + self._patience
        with self._room.entered(), self._connect(deadline) as connection:
            answer = _ask(connection, request, lambda told: _check(has_left, told + self._patience))
        if isinstance(answer, Refusal):
            raise answer
        assert isinstance(answer, Sentence)
        return answer

    def _connect(self, deadline: float) -> Connection:
        return self._existing_connection() or self._started(deadline)

    def _existing_connection(self) -> Connection | None:
        with suppress(OSError):  # no process listens
            return Client(str(self._folder.socket), "AF_UNIX")
        return None

    def _started(self, deadline: float) -> Connection:
        """A connection to the encoder process, which this worker starts, or another worker has started meanwhile."""
        current_tell()(STARTS)
        with self._folder.starting():
            connection = self._existing_connection()
            if connection is None:
                _check_time(deadline)
                process = self._start()
            while connection is None:
                _check_time(deadline)
                if process.poll() is not None:
                    raise Refusal(ENDED, 503)
                time.sleep(LOOK_SECONDS)
                connection = self._existing_connection()
            return connection

    def _start(self) -> "subprocess.Popen[bytes]":
        command = own_module("dashboard.sentence.encoder", str(self._folder.path), str(self._idle))
        # In its own session: Ctrl-C in a terminal reaches the server alone; the process ends after the server.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=environment() | ONE_THREAD,
        )
        Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie
        return process


def _ask(connection: Connection, request: Request | Changed, check: Callable[[float], None]) -> object:
    """The answer to a request; `check` gets the time of the last told step, as slow work tells its steps."""
    try:
        connection.send(request)
        while True:
            told = time.monotonic()
            while not connection.poll(LOOK_SECONDS):
                check(told)
            answer = connection.recv()
            if not isinstance(answer, Step):
                return answer
            current_tell()(answer.title)
    except (OSError, EOFError) as error:
        raise Refusal(ENDED, 503) from error


def _check(has_left: HasLeft, deadline: float) -> None:
    if has_left():
        raise ReaderLeft
    _check_time(deadline)


def _check_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise NotYet(SLOW)


class EncoderProcess:
    """Answers every connection with one sentence or one `Refusal`."""

    def __init__(self, folder: ServerFolder, idle: float, encoder: Encoder | None = None) -> None:
        self._folder, self._idle = folder, idle
        self._encoder = encoder or Encoder()
        self._cache = Cache(BUDGET)
        self._under_way = 0
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Serve until there was no request for `idle` seconds, or the server has ended."""
        with self._folder.encoding(), self._listener() as listener:
            for work in (self._end_with_server, self._end_when_idle):
                threading.Thread(target=work, daemon=True).start()
            while True:
                with suppress(OSError):  # a client that has gone already
                    connection = listener.accept()
                    threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _listener(self) -> Listener:
        self._folder.socket.unlink(missing_ok=True)  # of a process that died: only this one is in `encoding`
        return Listener(str(self._folder.socket), "AF_UNIX", BACKLOG)

    def _answer(self, connection: Connection) -> None:
        with self._lock:
            self._under_way += 1
        try:
            with connection, suppress(EOFError, OSError):  # the reader has left
                connection.send(self._result(connection.recv(), connection))
        finally:
            with self._lock:
                self._under_way -= 1
                self._last = time.monotonic()

    def _result(self, request: Request | Changed, connection: Connection) -> object:
        """The answer to a client's only request; anything readable after the request is the end of the connection."""
        try:
            with steps_told_to(lambda step: _tell(connection, step)):
                return self._cache.get(self._encoder, request, lambda: self._encoded(request, connection))
        except NotYet as later:
            return later
        except Exception as error:
            return Refusal(*sentence_for(error))

    def _encoded(self, request: Request | Changed, connection: Connection) -> Sentence:
        if len(request) == 4:
            return self._encoder.change(*request, has_left=connection.poll)
        return self._encoder.encode(*request, has_left=connection.poll)

    def _end_with_server(self) -> None:
        with suppress(FileNotFoundError):  # the server has ended in good order
            self._folder.wait_for_end()
        self._folder.remove()
        os._exit(0)

    def _end_when_idle(self) -> None:
        while not self._is_idle():
            time.sleep(min(IDLE_PAUSE, self._idle))
        self._folder.socket.unlink(missing_ok=True)
        time.sleep(IDLE_PAUSE)  # clients that connected just before are answered; later ones find no socket
        while self._under_way:
            time.sleep(IDLE_PAUSE)
        os._exit(0)

    def _is_idle(self) -> bool:
        with self._lock:
            return not self._under_way and time.monotonic() - self._last >= self._idle


def _tell(connection: Connection, step: str) -> None:
    with suppress(OSError):  # the reader has left; others may wait for the same sentence
        connection.send(Step(step))


def main(arguments: Sequence[str]) -> None:
    """Run the encoder process of a server's folder."""
    return_freed_memory()
    folder, idle = arguments
    EncoderProcess(ServerFolder(Path(folder)), float(idle)).serve()


if __name__ == "__main__":
    main(sys.argv[1:])

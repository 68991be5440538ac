"""A trial is fitted in a process of its own, which is gone when the trial is done, cancelled, or its server has ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe

import numpy as np
import psutil
import pytest

from dashboard.app import create_app
from dashboard.features.page import tried
from dashboard.features.trial import Trial
from dashboard.features.trials import BOUNDS, Request, fit_apart
from dashboard.pages import picture_of
from dashboard.ui.apart import start_apart
from dashboard.ui.work import Job
from dashboard.web.context import resolve
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.client import content

pytestmark = pytest.mark.slow


def processes() -> list[psutil.Process]:
    """The processes that this process has started to fit a trial."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if "dashboard.features.trials" in " ".join(process.cmdline())
    ]


def until(condition: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("Not within a minute")


@pytest.fixture
def request_of_trial(tiny_store: str, tiny_corpus: Corpus) -> Request:
    trial = Trial(5, 0.1, "euclidean", 60, "joint")
    return Request(tiny_store, tiny_corpus.snapshot, tiny_corpus.name, "sample", trial, 0)


class Left(Exception):
    """Raised where nobody waits for the trial any more."""


def test_the_whole_way_from_a_link_to_the_points(tiny_store: str) -> None:
    """The steps are a client's: the button, the fit in its process, the page, the bytes of the canvas."""
    served_store = ServedStore(tiny_store)
    client = create_app(served_store).server.test_client()
    tried(resolve(served_store, "features", "trial=60&fit=joint&neighbors=5"), Job())
    assert processes() == []
    link = {"pathname": "/features", "search": "?trial=60&fit=joint&neighbors=5&fview=trial", "snapshot": ""}
    page = client.post("/data/page", data=link).json
    assert page is not None
    assert "A trial, not in the store." in str(page["below"])
    shown = picture_of(resolve(served_store, "features", link["search"]))
    assert shown is not None
    assert page["picture"]["points"] == shown.points
    points = np.frombuffer(content(client, shown.points)[24:], np.uint8)
    assert (points.min(), points.max()) == (0, 255)


def test_a_process_whose_reader_leaves_is_gone(request_of_trial: Request) -> None:
    seen: list[psutil.Process] = []

    def leave(_share: float, _stage: str | None) -> None:
        until(lambda: bool(processes()))  # its command can be read a moment after it has begun
        seen.extend(processes())
        raise Left

    with pytest.raises(Left):
        fit_apart(request_of_trial, leave)
    assert len(seen) == 1
    assert not seen[0].is_running()
    assert processes() == []


def test_a_process_ends_with_the_other_end_of_its_connection(request_of_trial: Request) -> None:
    own, other = Pipe()
    with other:
        process = start_apart("dashboard.features.trials", other.fileno())
    own.send(request_of_trial)
    assert process.poll() is None
    own.close()
    until(lambda: process.poll() is not None)


WORKER = """
import sys
from dashboard.features.trial import Trial
from dashboard.features.trials import Request, fit_apart
fit_apart(Request(*sys.argv[1:4], "sample", Trial(5, 0.1, "euclidean", 60, "joint"), 0), lambda *_: print("fits", flush=True))
"""


def test_a_process_ends_with_a_worker_that_is_killed(request_of_trial: Request) -> None:
    place = [request_of_trial.url, request_of_trial.snapshot, request_of_trial.model]
    worker = subprocess.Popen([sys.executable, "-c", WORKER, *place], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "fits\n"
        (process,) = psutil.Process(worker.pid).children()
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    finally:
        worker.kill()


def test_a_process_that_dies_is_one_sentence(request_of_trial: Request) -> None:
    def kill(_share: float, _stage: str | None) -> None:
        for process in processes():
            os.kill(process.pid, signal.SIGKILL)

    with pytest.raises(Refusal, match=BOUNDS.ended):
        fit_apart(request_of_trial, kill)


def test_the_process_has_bounds_of_time_and_memory() -> None:
    code = (
        "import resource, signal; from dashboard.features.trials import BOUNDS; from dashboard.ui.apart import keep_within\n"
        "keep_within(BOUNDS)\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0], signal.alarm(0) > 0)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said == f"{BOUNDS.memory} True\n"


def test_what_cannot_be_read_is_one_sentence(request_of_trial: Request) -> None:
    with pytest.raises(Refusal, match="no feature points of 'review-77'"):
        fit_apart(replace(request_of_trial, token_set="review-77"), lambda *_: None)


SLOW_ENOUGH = """
import sys, time
from dashboard.ui.apart import Bounds, answer_apart
answer_apart(sys.argv[1], lambda request, tell: (time.sleep(0.002), request)[1], Bounds("", "", ""))
"""


def test_a_process_answers_requests_that_follow_each_other_at_once() -> None:
    own, other = Pipe()
    with other:
        process = subprocess.Popen([sys.executable, "-c", SLOW_ENOUGH, str(other.fileno())], pass_fds=[other.fileno()])
    with process, own:
        for number in range(300):
            own.send(number)
            assert own.recv() == number

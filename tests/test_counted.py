"""Parts of a corpus are counted once, one at a time, and a reader who cannot wait is told so."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from dash.exceptions import PreventUpdate
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.features import trials
from dashboard.pages import TOPICS
from dashboard.sentence import encoder as remote_encoder
from dashboard.server import THREADS
from dashboard.statistics import parts as part_counts
from dashboard.statistics.page import COUNT
from dashboard.statistics.parts import CountLimits, Part, PartCounts, PartNumbers, count, part_of
from dashboard.ui import deferred
from dashboard.ui.work import Job, Jobs, new_name
from dashboard.web.admission import WaitingLine, reader_left
from dashboard.web.context import resolve
from dashboard.web.errors import Refusal
from dashboard.web.processes import write_whole
from dashboard.web.served_store import WAITING, ServedStore
from store import Corpus
from store.means import Watch

WHERE = "where=position:2..7"


@pytest.fixture
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


@pytest.fixture
def busy(served_store: ServedStore) -> Iterator[ServedStore]:
    """A served store in which a part is being counted, and nobody may wait."""
    turns = WaitingLine(0, part_counts.BUSY)
    served_store.service(PartCounts)._turns = turns
    with turns.turn(lambda: False):
        yield served_store


def never(*_: object) -> PartNumbers:
    pytest.fail("A part is counted.")


def count_never(served_store: ServedStore) -> None:
    """Let the test fail at any later count."""
    served_store.put(PartCounts, PartCounts(served_store.folder, read=never))


def client_of(served_store: ServedStore) -> FlaskClient:
    return create_app(served_store).server.test_client()


# -- once -----------------------------------------------------------------------------------------------


def test_two_parts_are_never_counted_at_once(tiny_corpus: Corpus, tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def count(*_: object) -> PartNumbers:
        inside.append(1)
        time.sleep(0.02)
        most.append(len(inside))
        inside.pop()
        return part_counts._numbers_of_corpus(tiny_corpus)

    counts = PartCounts(tmp_path, read=count)
    parts = [part_of(tiny_corpus, f"position:1..{last}") for last in range(3, 6)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda part: counts.numbers(tiny_corpus, part, Job()), parts))
    assert most == [1] * 3


def test_another_process_finds_what_was_counted(tiny_corpus: Corpus, tmp_path: Path) -> None:
    part = part_of(tiny_corpus, "position:1..2")
    first = PartCounts(tmp_path).numbers(tiny_corpus, part)
    second = PartCounts(tmp_path, read=never).numbers(tiny_corpus, part)
    for name in ("means", "interval", "layer_interval", "mixing"):
        array, other = getattr(first, name), getattr(second, name)
        np.testing.assert_array_equal(array, other)
        assert array.dims == other.dims
        assert all((array[dim] == other[dim]).all() for dim in array.dims)


def test_filters_that_choose_the_same_tokens_are_counted_once(tiny_corpus: Corpus, tmp_path: Path) -> None:
    counted: list[Part] = []

    def once(corpus: Corpus, part: Part, watch: Callable[[float], None]) -> PartNumbers:
        counted.append(part)
        return count(corpus, part, watch)

    counts = PartCounts(tmp_path, read=once)
    first = counts.numbers(tiny_corpus, part_of(tiny_corpus, "position:1..2"))
    again = "position:1.0..2.5;kind:;position_share:..1;entropy:1..2"
    assert counts.numbers(tiny_corpus, part_of(tiny_corpus, again)) is first
    assert len(counted) == 1


@pytest.mark.parametrize("where", ["kind:", "position:", "position:0..", "token_length:", "kind:;position:0..9999"])
def test_a_filter_that_leaves_nothing_out_is_the_whole_corpus(served_store: ServedStore, where: str) -> None:
    count_never(served_store)
    page = str(TOPICS["statistics"].layout(resolve(served_store, "statistics", f"where={where}")).above)
    assert "Means over all" in page
    assert "95% interval" in page


@pytest.mark.parametrize("change", ["statistic=entropy", "source=word", "values=rank", "sort=distance", "layer=1"])
def test_no_other_choice_counts_again(served_store: ServedStore, change: str) -> None:
    context = resolve(served_store, "statistics", WHERE)
    served_store.service(PartCounts).numbers(context.corpus, part_of(context.corpus, context.state.where))
    count_never(served_store)
    page = str(TOPICS["statistics"].layout(resolve(served_store, "statistics", f"{WHERE}&{change}")).above)
    assert "heat-map" in page
    assert "'deferred': 'numbers'" not in page


def test_files_of_old_parts_are_deleted(tiny_corpus: Corpus, tmp_path: Path) -> None:
    budget = 100_000
    counts = PartCounts(tmp_path, limits=CountLimits(file_bytes=budget))
    for last in range(3, 12):
        counts.numbers(tiny_corpus, part_of(tiny_corpus, f"position:1..{last}"))
    sizes = [file.stat().st_size for file in (tmp_path / "parts").iterdir()]
    assert 0 < len(sizes) < 9
    assert sum(sizes) <= budget


# -- waiting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["statistics", "mixing", "heat-map"])
def test_a_reader_beyond_the_queue_is_refused_with_a_message(busy: ServedStore, base: str, name: str) -> None:
    answer = client_of(busy).get(f"{base}/{name}.csv?{WHERE}")
    assert (answer.status_code, answer.text) == (503, part_counts.BUSY)


def test_who_waits_long_for_a_file_finds_it_when_they_ask_again(served_store: ServedStore, base: str) -> None:
    client, go_on = client_of(served_store), Event()

    def count_later(corpus: Corpus, part: Part, watch: Watch) -> PartNumbers:
        go_on.wait()
        return count(corpus, part, watch)

    short = CountLimits(file_wait_seconds=0.05)
    served_store.put(PartCounts, PartCounts(served_store.folder, limits=short, read=count_later))
    for _ in range(2):
        answer = client.get(f"{base}/statistics.csv?{WHERE}")
        assert (answer.status_code, answer.text) == (503, part_counts.NOT_COUNTED_YET)
    (under_way,) = served_store.service(PartCounts)._under_way.values()
    go_on.set()
    under_way.result()
    assert client.get(f"{base}/statistics.csv?{WHERE}").status_code == 200


def test_few_readers_wait_for_the_file_of_one_part(served_store: ServedStore, base: str) -> None:
    with ExitStack() as others:
        for _ in range(part_counts.FILE_READERS):
            others.enter_context(served_store.service(PartCounts)._readers.entered())
        answer = client_of(served_store).get(f"{base}/statistics.csv?{WHERE}")
    assert (answer.status_code, answer.text) == (503, part_counts.BUSY)


def test_the_whole_corpus_needs_no_turn(busy: ServedStore, base: str) -> None:
    assert client_of(busy).get(f"{base}/statistics.csv").status_code == 200


def test_a_page_is_there_before_its_numbers(served_store: ServedStore) -> None:
    count_never(served_store)
    page = str(TOPICS["statistics"].layout(resolve(served_store, "statistics", WHERE)).above)
    for there in ("Means over", "Remove filter", "Attention by relative position", "'is': 'cancel'"):
        assert there in page
    assert "heat-map" not in page


def callbacks(served_store: ServedStore) -> dict[str, Any]:
    """The functions that a waiting page calls, by the element they fill."""
    registered = create_app(served_store).callback_map
    callbacks = {}
    for what in ("job", "state", "cancel"):
        (entry,) = (callback for name, callback in registered.items() if f'"is":"{what}"' in name)
        callbacks[what] = entry["callback"].__wrapped__
    return callbacks


def test_a_page_asks_again_for_a_count_that_a_busy_server_could_not_give(
    busy: ServedStore, asked: dict[str, Any]
) -> None:
    name = new_name()
    with pytest.raises(PreventUpdate):
        callbacks(busy)["job"]({"deferred": "numbers", "wait": name}, 2, None, "/statistics", f"?{WHERE}", None)
    assert asked["later"] == {"max_intervals": 3}
    said = "The server is busy counting parts of the corpus for other readers. This page asks again by itself."
    assert said in str(asked["state"]["children"])


def test_a_count_that_is_cancelled_before_the_page_asks_again_offers_to_count_again(busy: ServedStore) -> None:
    filled = str(
        callbacks(busy)["job"]({"deferred": "numbers", "wait": new_name()}, 1, True, "/statistics", f"?{WHERE}", None)
    )
    assert "Counting was cancelled." in filled
    assert f"href='/statistics?{WHERE}'" in filled


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Properties that a callback sets beside its output, by the part of the job."""
    set_now: dict[str, Any] = {}
    monkeypatch.setattr(deferred, "set_props", lambda wanted, properties: set_now.update({wanted["is"]: properties}))
    return set_now


def test_how_far_a_count_is_can_be_asked_elsewhere(tiny_corpus: Corpus, tmp_path: Path) -> None:
    name, shares = new_name(), []
    with Jobs(tmp_path).job(name, COUNT) as wait:
        watch, wait_began = wait.watch, wait.begin

        def note(share: float) -> None:
            wait._noted = 0
            watch(share)
            shares.append((share, Jobs(tmp_path).find(name).share))  # type: ignore[union-attr]

        wait_began("Counting")
        tiny_corpus.part_statistics(np.arange(tiny_corpus.n_tokens) % 2 == 0, note)
    assert len(shares) == 17
    assert all(share == noted for share, noted in shares)
    assert Jobs(tmp_path).find(name) is None
    assert list(tmp_path.iterdir()) == []


def test_files_of_one_count_are_written_by_several_threads(tmp_path: Path) -> None:
    """One thread notes the progress of the count while another cancels it."""

    def write(kind: str) -> None:
        for _ in range(300):
            write_whole(tmp_path / f"count.{kind}", kind.encode())

    kinds = "progress", "cancel", "waits"
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, kinds))
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {f"count.{kind}": kind for kind in kinds}


def test_a_cancelled_count_stops_its_work(served_store: ServedStore) -> None:
    name, numbers = new_name(), []

    def cancel_amid(corpus: Corpus, part: Part, watch: Callable[[float], None]) -> PartNumbers:
        def listen(share: float) -> None:
            numbers.append(share)
            served_store.service(Jobs).cancel(name)
            watch(share)

        return count(corpus, part, listen)

    served_store.put(PartCounts, PartCounts(served_store.folder, read=cancel_amid))
    filled = str(
        callbacks(served_store)["job"](
            {"deferred": "numbers", "wait": name}, None, None, "/statistics", f"?{WHERE}", None
        )
    )
    assert "Counting was cancelled." in filled
    assert len(numbers) == 1
    assert list(served_store.folder.iterdir()) == []


def test_a_reader_who_cancels_leaves_the_queue(busy: ServedStore) -> None:
    busy.service(PartCounts)._turns._most = 9
    name = new_name()
    with ThreadPoolExecutor(1) as pool:
        filled = pool.submit(
            callbacks(busy)["job"], {"deferred": "numbers", "wait": name}, None, None, "/statistics", f"?{WHERE}", None
        )
        while not (busy.service(PartCounts)._turns.waiting or filled.done()):
            time.sleep(0.01)
        assert "Waiting for another count" in str(callbacks(busy)["state"](1, {"deferred": "numbers", "wait": name}))
        busy.service(Jobs).cancel(name)
        assert "Counting was cancelled." in str(filled.result())


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 17])
def test_no_other_file_is_read_or_written(tmp_path: Path, name: str) -> None:
    progress = Jobs(tmp_path)
    for use in (progress.find, progress.cancel, progress.waiting, lambda name: progress.job(name, COUNT)):
        with pytest.raises(Refusal, match="There is no such job"):
            use(name)


def test_a_count_that_nobody_waits_for_cannot_be_cancelled(tmp_path: Path) -> None:
    Jobs(tmp_path).cancel(new_name())
    assert list(tmp_path.iterdir()) == []


def test_all_who_may_wait_leave_threads_of_the_server_free() -> None:
    waiting = (
        part_counts.WAITING_READERS + 1,
        part_counts.FIRST_WAITING + 1,
        part_counts.FILE_READERS,
        WAITING + 1,
        remote_encoder.READERS,
        trials.READERS,
    )
    assert sum(waiting) < THREADS


def test_without_a_request_no_reader_has_left() -> None:
    assert not reader_left()

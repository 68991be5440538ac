"""Progress of an ingest: its note beside the store, and the words of pages that wait for it."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.errors import stage_line
from dashboard.web.served_store import ServedStore
from ingest import pipeline
from ingest.run.files import sha256
from ingest.run.progress import NotedBar, bar, noting
from ingest.run.settings import Settings
from ingest.text.lines import read_lines
from ingest.text.table import opened_parquet, read_parquet
from store.repository.files import is_locked, take_lock
from store.repository.ingest_status import (
    OUTCOME,
    PROGRESS,
    IngestProgress,
    ingest_outcome,
    ingest_progress,
    note_progress,
)
from tests.stores import LIMITS, VIEW

#: Notes progress at every step, not once a second.
always = partial(noting, pause=0)


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[str]:
    """The place of a store whose lock this process holds."""
    lock = take_lock(tmp_path / "store")
    assert lock is not None
    with lock:
        yield str(tmp_path / "store")


def test_what_a_bar_shows_can_be_read_beside_the_store(locked: str) -> None:
    with always(locked, "a model on reviews"):
        assert stage_line(ingest_progress(locked)) == "An ingest of a model on reviews is under way: starting."
        with bar("pairs", total=8, unit="tokens", done=2) as shown:
            shown.update(3)
            noted = ingest_progress(locked)
    assert noted is not None
    assert (noted.stage, noted.done, noted.first) == ("pairs", 5, 2)
    assert noted.share == pytest.approx(5 / 8)
    assert ingest_progress(locked) is None


def test_a_bar_that_tqdm_is_told_not_to_show_is_noted(locked: str) -> None:
    # tqdm reads TQDM_DISABLE when it is imported, and passes it on as this argument.
    hidden = partial(NotedBar, disable=True)
    with always(locked, "a model"), hidden("pairs", total=8, initial=2) as shown:
        shown.update(3)
        noted = ingest_progress(locked)
    assert noted is not None
    assert (noted.done, noted.first, noted.total) == (5, 2, 8)


def test_threads_that_train_at_once_move_one_bar(locked: str) -> None:
    with always(locked, "a model"), bar("fit", total=400, unit="steps") as progress, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: progress.update(), range(400)))
        assert progress.n == 400
        noted = ingest_progress(locked)
    assert noted is not None
    assert noted.done == 400


def test_a_bar_notes_once_a_second_at_most(locked: str) -> None:
    noted: list[IngestProgress] = []
    note = noting(locked, "a model", note=lambda _, step: noted.append(step))
    with note, bar("pairs", total=900, unit="tokens") as shown:
        for _ in range(900):
            shown.update()
    assert len(noted) < 100


@pytest.fixture
def noted(locked: str) -> Iterator[list[IngestProgress]]:
    """Every step of every bar within the test."""
    steps: list[IngestProgress] = []
    with always(locked, "a model", note=lambda _, step: steps.append(step)):
        yield steps


def moved(steps: list[IngestProgress], stage: str) -> list[float]:
    """Positions of the bar of a stage; asserts that the last step is its total."""
    own = [step for step in steps if step.stage == stage]
    assert own[-1].done == pytest.approx(own[-1].total)
    return sorted({step.done for step in own})


def test_the_bar_of_a_file_of_lines_moves_while_it_is_read(noted: list[IngestProgress], tmp_path: Path) -> None:
    path = tmp_path / "reviews.txt"
    path.write_text(4000 * "The film was good.\n", "utf-8")
    assert sum(1 for _ in read_lines(path, at_once=100)) == 4000
    assert len(moved(noted, "reading")) > 5


def test_the_bar_of_a_parquet_file_moves_while_it_is_read(noted: list[IngestProgress], tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["A film."] * 40}), tmp_path / "reviews.parquet", row_group_size=10)
    with opened_parquet(tmp_path / "reviews.parquet") as file:
        assert sum(part.num_rows for part in read_parquet(file, ["text"], rows=10)) == 40
    assert moved(noted, "reading") == [0, 10, 20, 30, 40]


def test_the_bar_of_a_checkpoint_moves_while_its_checksum_is_computed(
    noted: list[IngestProgress], tmp_path: Path
) -> None:
    files = [tmp_path / f"{number}.safetensors" for number in range(2)]
    for file in files:
        file.write_bytes(bytes(1_500_000))
    sha256(files)
    np.testing.assert_allclose(moved(noted, "checksum"), [0, 1 << 20, 1_500_000, 1_500_000 + (1 << 20), 3_000_000])


@pytest.mark.heavy
def test_a_whole_ingest_notes_its_stages_and_leaves_nothing(tiny_model: Path, tiny_data: Path, tmp_path: Path) -> None:
    seen: list[str] = []

    def note(url: str, noted_progress: IngestProgress) -> None:
        note_progress(url, noted_progress)
        read = ingest_progress(url)
        assert read is not None
        seen.append(read.stage)

    chosen = {"features": "none", "annotate": "none", "max_length": 24}
    settings = Settings(
        model=str(tiny_model), data=str(tiny_data), store=str(tmp_path / "store"), views=VIEW, sentences=5, **chosen
    )
    pipeline.run(settings, LIMITS, note)
    assert [stage for stage in ("", "tensors", "pairs", "divergence") if stage in seen] == [
        "",
        "tensors",
        "pairs",
        "divergence",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]


def test_the_note_of_a_process_that_was_killed_says_nothing(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    lock = take_lock(tmp_path / "store")
    assert lock is not None
    note_progress(store, IngestProgress("a model"))
    assert ingest_progress(store) is not None
    lock.close()
    assert ingest_progress(store) is None


def test_a_note_of_another_version_is_read_as_far_as_it_is_known(locked: str) -> None:
    Path(locked + PROGRESS).write_text(json.dumps({"of": "a model", "mood": "good"}), "utf-8")
    assert ingest_progress(locked) == IngestProgress("a model")


@pytest.mark.parametrize("content", ["", '{"of": "a mod', "null", "\x00" * 9])
def test_a_note_that_is_empty_or_half_is_none(content: str, locked: str) -> None:
    """A machine that goes down may leave the new name of a file without its content."""
    Path(locked + PROGRESS).write_text(content, "utf-8")
    Path(locked + OUTCOME).write_text(content, "utf-8")
    assert ingest_progress(locked) is None
    assert ingest_outcome(locked) is None


def test_nothing_is_noted_on_object_storage() -> None:
    note_progress("s3://bucket/store", IngestProgress("a model"))
    assert ingest_progress("s3://bucket/store") is None


def test_testing_a_lock_does_not_keep_others_from_it(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    assert not is_locked(folder)
    lock = take_lock(folder)
    assert lock is not None
    with lock:
        assert is_locked(folder)
    assert not is_locked(folder)


def test_time_left_is_by_the_rate_since_it_went_on() -> None:
    now = time.time()
    running = IngestProgress("a model", "pairs", done=60, total=100, first=40, began=now - 10, updated=now)
    assert running.left == pytest.approx(20, abs=0.5)
    assert stage_line(running) == "An ingest of a model is under way: pairs, 60%, about 20 s left in this stage."


def test_time_left_of_a_stage_that_just_began_is_unknown() -> None:
    now = time.time()
    assert IngestProgress("a model", "pairs", done=0, total=100, began=now, updated=now).left is None


# -- pages ----------------------------------------------------------------------------------------------


def test_a_page_that_waits_says_how_far_the_ingest_is(few: str) -> None:
    served_store = ServedStore(few)
    lock = take_lock(Path(few))
    assert lock is not None
    with lock:
        note_progress(few, IngestProgress("a model on reviews", "features of sample", done=1, first=1, total=4))
        waiting = str(TOPICS["features"].layout(resolve(served_store, "features", "")).above)
    ended = str(TOPICS["features"].layout(resolve(served_store, "features", "")).above)
    assert "An ingest of a model on reviews is under way: features of sample, 25%." in waiting
    assert "headscape ingest" not in waiting
    assert "Feature points: not computed. Run ', Code('headscape ingest')" in ended


def test_the_poll_for_newer_snapshots_brings_how_far_it_is(few: str) -> None:
    served_store = ServedStore(few)
    registered = create_app(served_store).callback_map
    (entry,) = (callback for name, callback in registered.items() if "newer.children" in name)
    notice = entry["callback"].__wrapped__
    shown = {"snapshot": served_store.newest}
    waits = [{"under-way": "line"}]
    assert notice(1, waits, None, "", "/features", "", shown)[-1] == ["The ingest has ended."]
    assert notice(1, [], None, "", "/", "", shown)[-1] == []

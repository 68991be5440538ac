"""The served store: new publications are noticed, and open snapshots do not change."""

import gc
import shutil
import weakref
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from icechunk import Repository

from dashboard.app import create_app
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Snapshot, StoreError
from store.repository.history import expire

Grow = Callable[[str], None]


@pytest.fixture(scope="module")
def grow(few_store: str, ingest: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Grow:
    """A function that puts the files of an ingest of 20 sentences into a copy of the store."""
    place = shutil.copytree(few_store, tmp_path_factory.mktemp("grown") / "store")
    ingest(place, sentences=20)
    return partial(_copy_into, place)


def _copy_into(place: Path, url: str) -> None:
    shutil.copytree(place, url, dirs_exist_ok=True)


@pytest.fixture
def growing(few: str) -> tuple[str, ServedStore]:
    return few, ServedStore(few)


def test_a_publication_is_noticed_without_a_restart(growing: tuple[str, ServedStore], grow: Grow) -> None:
    url, served_store = growing
    before = served_store.snapshot()
    grow(url)
    assert served_store.snapshot().id != before.id
    assert served_store.snapshot().corpus().n_sentences == 20


def test_an_open_snapshot_does_not_change(growing: tuple[str, ServedStore], grow: Grow) -> None:
    url, served_store = growing
    before = served_store.newest
    grow(url)
    assert served_store.snapshot(before).corpus().n_sentences == 10


def test_a_tab_opened_before_a_publication_still_gets_its_own_snapshot(
    growing: tuple[str, ServedStore], grow: Grow
) -> None:
    url, served_store = growing
    client = create_app(served_store).server.test_client()
    page = client.post("/data/page", data={"pathname": "/heads", "search": "", "snapshot": ""}).get_json()
    points = page["picture"]["points"]
    before = client.get(points).data
    grow(url)
    answer = create_app(ServedStore(url)).server.test_client().get(points)
    assert (answer.status_code, answer.data) == (200, before)


def test_a_link_to_a_snapshot_deleted_since_it_was_opened_shows_the_newest(
    growing: tuple[str, ServedStore], grow: Grow
) -> None:
    url, served_store = growing
    before = served_store.snapshot().id
    grow(url)
    expire(url, timedelta(0))
    context = resolve(served_store, "/", f"?snapshot={before}")
    assert context.snapshot.id == served_store.newest
    assert context.missing_snapshot == f"This store has no snapshot {before}; showing the newest."


def test_an_unpublished_snapshot_is_not_shown(growing: tuple[str, ServedStore]) -> None:
    with pytest.raises(StoreError, match="headscape describe"):
        growing[1].snapshot("ZZZZZZZZZZZZZZZZZZZZ")


def test_a_slow_snapshot_does_not_delay_others(growing: tuple[str, ServedStore], grow: Grow) -> None:
    url, _ = growing
    opened: list[str] = []
    others: list[Snapshot] = []
    meanwhile: list[Snapshot] = []

    def slow(repository: Repository, url: str, name: str) -> Snapshot:
        if opened:
            reader.start()
            reader.join(10)
            meanwhile.extend(others)
        opened.append(name)
        return Snapshot(repository, url, name)

    served_store = ServedStore(url, open_snapshot=slow)
    before = served_store.snapshot()
    reader = Thread(target=lambda: others.append(served_store.snapshot(before.id)))
    grow(url)
    served_store.snapshot()
    reader.join()
    assert meanwhile == [before]


@pytest.mark.parametrize(
    "path",
    [
        "points/pca-exact-2d/grid.bin",
        "colours/norm/grid.bin",
        "mask/grid.bin?q=film&where=position:1..5",
        "features/sample/points/points/pca-each/grid.bin",
        "statistics.csv?where=position:1..5",
        "mixing.csv?where=position:1..5",
        "sentence/3/layer/1.bin",
    ],
)
def test_the_results_of_a_closed_snapshot_are_removed(tiny_store: str, base: str, path: str) -> None:
    served_store = ServedStore(tiny_store)
    server = create_app(served_store).server
    corpus = weakref.ref(served_store.snapshot().corpus())
    assert server.test_client().get(f"{base}/{path}").status_code == 200
    served_store._open.clear()
    gc.collect()
    assert corpus() is None

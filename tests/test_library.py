"""The library: new publications are noticed, and open snapshots do not change."""

import gc
import weakref
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Protocol

import pytest
from icechunk import Repository

from dashboard.app import create_app
from dashboard.web.context import resolve
from dashboard.web.library import Library
from store import Snapshot, StoreError
from store.repository.history import expire


class Ingest(Protocol):
    def __call__(self, place: Path, **settings: object) -> str: ...


@pytest.fixture
def growing(few: str) -> tuple[str, Library]:
    return few, Library(few)


def test_a_publication_is_noticed_without_a_restart(growing: tuple[str, Library], ingest: Ingest) -> None:
    url, library = growing
    before = library.snapshot()
    ingest(Path(url), sentences=20)
    assert library.snapshot().id != before.id
    assert library.snapshot().corpus().n_sentences == 20


def test_an_open_snapshot_does_not_change(growing: tuple[str, Library], ingest: Ingest) -> None:
    url, library = growing
    before = library.newest
    ingest(Path(url), sentences=20)
    assert library.snapshot(before).corpus().n_sentences == 10


def test_a_tab_opened_before_a_publication_still_gets_its_own_snapshot(
    growing: tuple[str, Library], ingest: Ingest
) -> None:
    url, library = growing
    client = create_app(library).server.test_client()
    page = client.post("/data/page", data={"pathname": "/heads", "search": "", "snapshot": ""}).get_json()
    points = page["picture"]["points"]
    before = client.get(points).data
    ingest(Path(url), sentences=20)
    answer = create_app(Library(url)).server.test_client().get(points)
    assert (answer.status_code, answer.data) == (200, before)


def test_a_link_to_a_snapshot_deleted_since_it_was_opened_shows_the_newest(
    growing: tuple[str, Library], ingest: Ingest
) -> None:
    url, library = growing
    before = library.snapshot().id
    ingest(Path(url), sentences=20)
    expire(url, timedelta(0))
    context = resolve(library, "/", f"?snapshot={before}")
    assert context.snapshot.id == library.newest
    assert context.missing_snapshot == f"This store has no snapshot {before}; showing the newest."


def test_an_unpublished_snapshot_is_not_shown(growing: tuple[str, Library]) -> None:
    with pytest.raises(StoreError, match="headscape describe"):
        growing[1].snapshot("ZZZZZZZZZZZZZZZZZZZZ")


def test_a_slow_snapshot_does_not_delay_others(growing: tuple[str, Library], ingest: Ingest) -> None:
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

    library = Library(url, open_snapshot=slow)
    before = library.snapshot()
    reader = Thread(target=lambda: others.append(library.snapshot(before.id)))
    ingest(Path(url), sentences=20)
    library.snapshot()
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
    library = Library(tiny_store)
    server = create_app(library).server
    corpus = weakref.ref(library.snapshot().corpus())
    assert server.test_client().get(f"{base}/{path}").status_code == 200
    library._open.clear()
    gc.collect()
    assert corpus() is None

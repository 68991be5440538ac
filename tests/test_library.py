"""A server that follows the store: what an ingest publishes shows up, and what was opened stays as it was."""

import gc
import weakref
from pathlib import Path
from typing import Protocol

import pytest

from dashboard.app import create_app
from dashboard.library import Library
from store import StoreError


class Ingest(Protocol):
    def __call__(self, place: Path, **settings: object) -> str: ...


@pytest.fixture
def growing(tmp_path: Path, ingest: Ingest) -> tuple[str, Library]:
    url = ingest(tmp_path / "store", sentences=10)
    return url, Library(url)


def test_a_publication_shows_up_without_a_restart(growing: tuple[str, Library], ingest: Ingest) -> None:
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


def test_a_snapshot_nobody_published_is_not_shown(growing: tuple[str, Library]) -> None:
    with pytest.raises(StoreError, match="store describe"):
        growing[1].snapshot("ZZZZZZZZZZZZZZZZZZZZ")


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
def test_nothing_of_a_snapshot_that_is_no_longer_open_is_kept(tiny_store: str, base: str, path: str) -> None:
    library = Library(tiny_store)
    server = create_app(library).server
    corpus = weakref.ref(library.snapshot().corpus())
    assert server.test_client().get(f"{base}/{path}").status_code == 200
    library._open.clear()
    gc.collect()
    assert corpus() is None

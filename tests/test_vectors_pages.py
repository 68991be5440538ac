"""What pages, files and messages say of a store with the vectors of the first sentences only."""

import shutil
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from pyarrow import parquet

import headscape
import store
from dashboard.app import create_app
from dashboard.statistics.parts import part_of
from dashboard.web.http import data_link
from dashboard.web.library import Library
from store.__main__ import main
from tests.client import above, content
from tests.made_once import made_once
from tests.stores import FEATURES, Ingest

VECTORS = "100"


@pytest.fixture(scope="module")
def part_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest, odd_model: Path) -> str:
    """Two models on one corpus, so that they can be compared; the second is the shown one."""

    def make(place: Path) -> None:
        for settings in ({"model": odd_model}, {}):
            ingest(place, vectors=VECTORS, **FEATURES, **settings)

    return str(made_once(tmp_path_factory, "part-pages", make))


@pytest.fixture(scope="module")
def part(part_store: str) -> store.Corpus:
    return store.open_corpus(part_store)


@pytest.fixture(scope="module")
def part_client(part_store: str) -> FlaskClient:
    return create_app(Library(part_store)).server.test_client()


@pytest.mark.parametrize(
    "page", ["", "heads", "head", "statistics", "map", "relations", "features", "sentence", "compare", "store"]
)
def test_every_page_says_which_sentences_its_numbers_are_of(page: str, part_client: FlaskClient, part: store.Corpus) -> None:
    shown = above(part_client, f"/{page}")
    print(page, [s for s in ("40 sentences", f"the first {part.n_sentences}", f"{part.counted_tokens}") if s in shown])
    assert "40 sentences" in shown or f"{part.counted_tokens} tokens" in shown

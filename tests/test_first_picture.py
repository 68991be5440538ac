"""The first picture of a new model, of raw vectors: readers see it before normalisations, pairs and intervals."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.web.served_store import ServedStore
from ingest import pipeline
from ingest.projections import projection
from store import open_corpus, open_snapshot
from store.repository.errors import NotIngested
from store.verify import verify
from tests.interruption import interrupted
from tests.made_once import made_once

Ingest = Callable[..., str]
VIEWS = "pca-raw-2d,pca-exact-2d"


@pytest.fixture(scope="session")
def early_store(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The store of an ingest that was killed after its first picture."""
    stop = partial(interrupted, ingest, target=(pipeline, "normalize_corpus"), after=0, views=VIEWS)
    return str(made_once(tmp_path_factory, "early", stop))


@pytest.fixture(scope="module")
def reader(early_store: str) -> FlaskClient:
    return create_app(ServedStore(early_store)).server.test_client()


def test_fits_begin_before_the_stages_that_do_not_need_them(
    ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(projection, "fit_later", lambda fit, _: begun.append(fit))
    interrupted(ingest, tmp_path / "store", (pipeline, "update_pairs"), after=0, views=f"{VIEWS},tsne-raw-2d")
    assert begun


def test_it_is_published_before_the_normalisations(early_store: str) -> None:
    corpus = open_corpus(early_store)
    assert corpus.views == ["pca-raw-2d"]
    with pytest.raises(NotIngested, match=r"Normalisations: not computed\. Run"):
        _ = corpus.normalizations


def test_the_store_is_sound_by_then(early_store: str) -> None:
    assert list(verify(open_snapshot(early_store))) == []


@pytest.mark.parametrize("path", TOPICS)
def test_every_page_opens(path: str, reader: FlaskClient) -> None:
    answer = reader.post("/data/page", data={"pathname": f"/{path}", "search": "?layer=1&head=1"})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("tab", ["distance", "pairs"])
def test_a_tab_says_what_is_not_there_yet(tab: str, reader: FlaskClient) -> None:
    page = reader.post("/data/page", data={"pathname": "/head", "search": f"?layer=1&head=1&tab={tab}"})
    assert "not computed" in json.dumps(page.json)


@pytest.mark.slow
def test_the_next_ingest_makes_what_one_at_once_makes(
    early_store: str, ingest: Ingest, read_arrays: Callable[[str], dict[str, np.ndarray]], tmp_path: Path
) -> None:
    resumed = read_arrays(ingest(shutil.copytree(early_store, tmp_path / "resumed"), views=VIEWS))
    at_once = read_arrays(ingest(tmp_path / "at-once", views=VIEWS))
    assert resumed.keys() == at_once.keys()
    assert [
        name
        for name, array in at_once.items()
        if not np.array_equal(resumed[name], array, equal_nan=array.dtype.kind == "f")
    ] == []

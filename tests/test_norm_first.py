"""Pages of a model whose norms come before attention: feature points and mixing ratios differ from those of other models."""

import shutil
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.web.served_store import ServedStore
from ingest.family import FAMILIES
from store import open_corpus
from tests.client import above
from tests.stores import rewritten

STATISTICS, POINT = ("/statistics", ""), ("/features", "?point=L00.feedforward")
MIXING = "through which the feed-forward network reads the sum"
RESIDUAL = "norms come before attention in this model"


@pytest.fixture(scope="module")
def norm_first(tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    """A client of the tiny store, changed as if the norms of its model came first."""
    place = Path(shutil.copytree(tiny_store, tmp_path_factory.mktemp("norm") / "store"))
    with rewritten(place) as writer:
        writer.group(f"models/{open_corpus(str(place)).name}").attrs["norm_first"] = True
    return create_app(ServedStore(str(place))).server.test_client()


@pytest.mark.parametrize(("link", "told"), [(STATISTICS, MIXING), (POINT, RESIDUAL)])
def test_a_page_says_it(norm_first: FlaskClient, client: FlaskClient, link: tuple[str, str], told: str) -> None:
    assert told in above(norm_first, *link)
    assert told not in above(client, *link)


def test_the_ingest_knows_these_families(tiny_store: str) -> None:
    assert {family.model_type for family in FAMILIES if family.norm_first} == {
        "roberta-prelayernorm",
        "modernbert",
        "eurobert",
        "gpt2",
        "esm",
    }
    assert open_corpus(tiny_store).attributes["norm_first"] is False

"""Three tiny models on one corpus: two of one shape, and one of another. Fixtures for the tests of comparisons."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.compare.two_models import ModelPair
from dashboard.web.served_store import ServedStore
from store import Snapshot, open_snapshot
from tests.browser import serving
from tests.made_once import made_once

#: A picture of feature points that takes no time.
FEATURES = "pca-each"


@pytest.fixture(scope="session")
def three_models(
    ingest: Callable[..., str], second_model: Path, odd_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A store of the second, the odd and the tiny model; the odd one has fewer sentences and another picture."""

    def make(place: Path) -> None:
        ingest(place, model=odd_model, sentences=30, views="pca-raw-2d", features=FEATURES, reviews="none")
        ingest(place, model=second_model, views="pca-exact-2d,pca-exact-3d", features=FEATURES, reviews="none")
        ingest(place, views="pca-exact-2d,pca-raw-2d", features=FEATURES, reviews="none")

    return str(made_once(tmp_path_factory, "three_models", make))


@pytest.fixture(scope="session")
def models(three_models: str) -> Snapshot:
    return open_snapshot(three_models)


def key_of(models: Snapshot, name: str) -> str:
    """Key of the model whose folder has this name."""
    return next(key for key in models.models if key.startswith(name))


@pytest.fixture(scope="session")
def alike(models: Snapshot) -> ModelPair:
    """The tiny model and the second one, which have the same shape."""
    return ModelPair(models.corpus(key_of(models, "tiny")), models.corpus(key_of(models, "second")))


@pytest.fixture(scope="session")
def unlike(models: Snapshot) -> ModelPair:
    """The tiny model and the odd one, which have different shapes."""
    return ModelPair(models.corpus(key_of(models, "tiny")), models.corpus(key_of(models, "odd")))


@pytest.fixture(scope="session")
def three_client(three_models: str) -> FlaskClient:
    return create_app(ServedStore(three_models)).server.test_client()


@pytest.fixture(scope="session")
def three_server(three_models: str) -> Iterator[str]:
    with serving(three_models) as address:
        yield address

"""What the server answers: versioned bytes, and one sentence where there is nothing."""

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.library import Library
from store import Corpus


@pytest.fixture(scope="module")
def client(tiny_store: str) -> Iterator[FlaskClient]:
    with create_app(Library(tiny_store)).server.test_client() as client:
        yield client


@pytest.fixture
def base(tiny_corpus: Corpus) -> str:
    return f"/data/{tiny_corpus.snapshot}/{tiny_corpus.name}"


def test_points_may_be_kept_for_ever(client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/points/pca-exact/grid.bin?tokens=20")
    assert answer.status_code == 200
    assert "immutable" in answer.headers["Cache-Control"]


def test_no_request_grows_with_the_corpus_beyond_what_is_asked(client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/points/pca-exact/1/0.bin?tokens=20")
    assert len(answer.data) == 16 + 20 * 2 * 2 * 2


@pytest.mark.parametrize(
    "path",
    [
        "/points/pca-exact/9/0.bin",
        "/points/nonsense/grid.bin",
        "/token/0/9/query/0.json",
        "/token/0/0/query/99999999.json",
        "/raster/pca-exact/0/77.png",
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(client: FlaskClient, base: str, path: str) -> None:
    answer = client.get(base + path)
    assert answer.status_code == 404
    assert "\n" not in answer.text.strip()
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("snapshot", ["AAAAAAAAAAAAAAAAAAAA", "..", "%00", "main"])
def test_an_unknown_snapshot_is_not_found(client: FlaskClient, snapshot: str) -> None:
    assert client.get(f"/data/{snapshot}/model/points/pca-exact/grid.bin").status_code == 404


@pytest.mark.parametrize(
    "query", ["tokens=-5", "tokens=abc", "tokens=1e9", "tokens=99999999999999", "tokens=%FF", "side=100000&gap=-1"]
)
def test_hostile_numbers_are_brought_into_bounds(client: FlaskClient, base: str, query: str) -> None:
    for path in ("/points/pca-exact/0/0.bin", "/raster/pca-exact/0/0.png", "/raster/pca-exact/grid.png"):
        assert client.get(f"{base}{path}?{query}").status_code == 200


def test_scripts_come_only_from_this_server(client: FlaskClient) -> None:
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-eval" not in policy


def test_the_first_requests_find_every_script_registered(tiny_store: str) -> None:
    app = create_app(Library(tiny_store))
    assert app._got_first_request["setup_server"]

"""Two applications in one process share nothing: stores, caches, counts, limits, host names."""

from pathlib import Path

import dash
import pytest
from dash._callback import GLOBAL_CALLBACK_LIST, GLOBAL_CALLBACK_MAP
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.serving import Serving
from dashboard.statistics.parts import PartCounts
from dashboard.ui.work import Jobs
from dashboard.web.http import data_link
from dashboard.web.security import AllowedHosts
from dashboard.web.served_store import ServedStore
from store import open_corpus


@pytest.fixture
def served_stores(tiny_store: str, rich_store: str) -> tuple[ServedStore, ServedStore]:
    return ServedStore(tiny_store), ServedStore(rich_store)


@pytest.fixture
def clients(served_stores: tuple[ServedStore, ServedStore]) -> tuple[FlaskClient, FlaskClient]:
    """Two applications, made in this order; the second answers to a name of its own."""
    first, second = served_stores
    hosts = AllowedHosts(("localhost", "second.example.org"))
    return create_app(first).server.test_client(), create_app(second, Serving(allowed=hosts)).server.test_client()


def page(client: FlaskClient, host: str = "localhost") -> str:
    form = {"pathname": "/store", "search": "", "snapshot": ""}
    return client.post("/data/page", data=form, headers={"Host": host}).text


def test_each_application_shows_its_own_store(
    clients: tuple[FlaskClient, FlaskClient], tiny_store: str, rich_store: str
) -> None:
    ids = [open_corpus(store).snapshot for store in (tiny_store, rich_store)]
    for client, own, other in zip(clients, ids, reversed(ids), strict=True):
        assert own in page(client)
        assert other not in page(client)


def test_data_of_the_other_store_is_unknown(
    clients: tuple[FlaskClient, FlaskClient], tiny_store: str, rich_store: str
) -> None:
    links = [f"{data_link(open_corpus(store))}/pairs/0/1.csv" for store in (tiny_store, rich_store)]
    answers = [[client.get(link).status_code for link in links] for client in clients]
    assert answers == [[200, 404], [404, 200]]


def test_each_application_answers_to_its_own_hosts(clients: tuple[FlaskClient, FlaskClient]) -> None:
    host = {"Host": "second.example.org"}
    assert [client.get("/", headers=host).status_code for client in clients] == [400, 200]


def test_each_application_caches_for_itself(
    clients: tuple[FlaskClient, FlaskClient], served_stores: tuple[ServedStore, ServedStore], tiny_store: str
) -> None:
    first, second = served_stores
    before = second.cache.size
    clients[0].get(f"{data_link(open_corpus(tiny_store))}/points/pca-exact-2d/grid.bin")
    assert first.cache.size > 0
    assert second.cache.size == before


def test_a_full_queue_of_one_application_leaves_the_other_free(served_stores: tuple[ServedStore, ServedStore]) -> None:
    first, second = served_stores
    with first.files.turn(lambda: False), second.files.turn(lambda: False):
        assert (first.files.waiting, second.files.waiting) == (0, 0)


@pytest.mark.parametrize("kind", [PartCounts, Jobs, TypedSentences])
def test_objects_of_topics_belong_to_one_served_store(
    served_stores: tuple[ServedStore, ServedStore], kind: type
) -> None:
    first, second = served_stores
    assert first.service(kind) is first.service(kind)
    assert first.service(kind) is not second.service(kind)


def test_libraries_have_folders_of_their_own(served_stores: tuple[ServedStore, ServedStore]) -> None:
    folders = {served_store.folder for served_store in served_stores}
    assert len(folders) == 2
    assert all(isinstance(folder, Path) and folder.is_dir() for folder in folders)


def test_callbacks_and_pages_belong_to_an_application(clients: tuple[FlaskClient, FlaskClient]) -> None:
    assert len(clients) == 2
    assert (GLOBAL_CALLBACK_LIST, GLOBAL_CALLBACK_MAP) == ([], {})
    assert not dash.page_registry

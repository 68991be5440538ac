"""While the server puts a page together, its browser can ask which count runs and how far it is."""

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.topic import read_then_draw
from dashboard.ui.markup import Page
from dashboard.ui.work import new_name, watched
from dashboard.web.served_store import ServedStore

STAGE = "Counting 52,310 tokens"


@pytest.fixture
def client(tiny_store: str) -> FlaskClient:
    return create_app(ServedStore(tiny_store)).server.test_client()


def said(client: FlaskClient, wait: str) -> Any:
    answer = client.post("/data/page/progress", data={"wait": wait})
    assert answer.status_code == 200
    return answer.json["said"]


def test_a_page_says_what_it_counts_and_how_far_it_is(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    wait, heard = new_name(), []

    def count(_shown: object) -> Page:
        for step in watched(range(4), STAGE):
            heard.append(said(client, wait) if step == 0 else None)
        return Page()

    monkeypatch.setitem(
        TOPICS, "heads", replace(TOPICS["heads"], layout=read_then_draw(TOPICS["heads"].layout.read, count))
    )
    client.post("/data/page", data={"pathname": "/heads", "search": "", "snapshot": "", "wait": wait})
    assert heard[0] == f"{STAGE}: 0%."
    assert said(client, wait) is None


def test_a_page_whose_wait_has_no_proper_name_is_refused(client: FlaskClient) -> None:
    assert client.post("/data/page", data={"pathname": "/", "wait": "../../x"}).status_code == 404


def test_a_page_without_a_wait_is_answered(client: FlaskClient) -> None:
    assert client.post("/data/page", data={"pathname": "/store", "search": "", "snapshot": ""}).status_code == 200

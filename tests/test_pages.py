"""A page is one answer: its link and the snapshot of the tab in a form, picture and parts as JSON."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.points.point_set import MOST_CONDITIONS
from dashboard.web.admission import cancelled_by
from dashboard.web.served_store import ServedStore


def page(client: FlaskClient, pathname: str, search: str = "", snapshot: str = "") -> Any:
    response = client.post("/data/page", data={"pathname": pathname, "search": search, "snapshot": snapshot})
    assert response.status_code == 200, response.text
    return response.json


def test_title_numbers_and_picture_of_a_head_are_one_answer(client: FlaskClient) -> None:
    came = page(client, "/head", "?layer=1&head=1")
    assert "/1/1.bin" in came["picture"]["points"]
    assert "Queries and keys of L1 H1" in json.dumps(came["above"])
    assert (came["shown"]["layer"], came["shown"]["head"]) == (1, 1)


def test_pages_of_two_heads_have_the_same_components(client: FlaskClient) -> None:
    def ids(node: Any) -> list[Any]:
        inner = node.get("props", {}).get("children") if isinstance(node, dict) else node
        own = [(node["type"], str(node["props"].get("id")))] if isinstance(node, dict) else []
        return own + [name for child in inner for name in ids(child)] if isinstance(inner, list) else own

    first, other = (page(client, "/head", f"?layer=1&head={head}") for head in (0, 1))
    assert ids(first["above"]) == ids(other["above"])
    assert ids(first["beside"]) == ids(other["beside"])


@pytest.mark.parametrize(
    "form", [{}, {"pathname": "//", "search": "?=&&", "snapshot": "x" * 500}, {"search": "a" * 50_000}]
)
def test_an_empty_form_is_answered_with_the_first_page(client: FlaskClient, form: dict[str, str]) -> None:
    response = client.post("/data/page", data=form)
    assert response.status_code == 200
    assert "What the heads of" in response.text


def test_a_tab_keeps_its_snapshot_while_newer_ones_are_published(few: str, ingest: Callable[..., str]) -> None:
    client = create_app(ServedStore(few)).server.test_client()
    before = page(client, "/")["shown"]["snapshot"]
    ingest(Path(few), sentences=20)
    assert page(client, "/head", "", before)["shown"]["snapshot"] == before
    assert page(client, "/head")["shown"]["snapshot"] != before
    for part in ("header", "drawer"):  # a narrow window has room for it in its drawer alone
        assert "Open the newest" in json.dumps(page(client, "/head", "", before)[part])
        assert "Open the newest" not in json.dumps(page(client, "/head")[part])


def test_a_link_to_an_unknown_snapshot_says_so_and_becomes_one_to_the_newest(client: FlaskClient) -> None:
    came = page(client, "/map", "?snapshot=AAAAAAAAAAAAAAAAAAAA&paint=label")
    assert "This store has no snapshot AAAAAAAAAAAAAAAAAAAA; showing the newest." in json.dumps(came["above"])
    assert came["shown"]["link"] == "?paint=label"


def test_invalid_values_of_a_link_are_one_notice_and_leave_the_link(client: FlaskClient) -> None:
    came = page(client, "/", "?least=02&most=-3&where=colour:red;position:1..2&paint=label")
    above = json.dumps(came["above"])
    assert above.count('"Alert"') == 1
    for notice in ("least=02 is not a number", "most=-3 is out of range", "there is no column"):
        assert notice in above
    assert came["shown"]["link"] == "?where=position:1..2&most=1&paint=label"
    again = page(client, "/", came["shown"]["link"])
    assert '"Alert"' not in json.dumps(again["above"])
    assert again["shown"]["link"] == came["shown"]["link"]


@pytest.mark.parametrize(
    ("path", "query", "notice", "link"),
    [
        ("/features", "fonly=nothing&where=wordpiece:%255BCLS%255D", "fonly=nothing", "?where=wordpiece:%255BCLS%255D"),
        (
            "/features",
            "flasso=nowhere&where=wordpiece:%255BCLS%255D;beauty:1",
            "no column",
            "?where=wordpiece:%255BCLS%255D",
        ),
        ("/features", "fonly=word&where=beauty:1", "no column", "?fonly=word"),
        ("/heads", "only=nothing&colour=kind&labels=1", "only=nothing", "?colour=kind&labels=1"),
        ("/heads", "colour=beauty&labels=1", "colour=beauty", "?labels=1"),
    ],
)
def test_a_link_loses_what_a_notice_names_and_no_valid_filter(
    client: FlaskClient, path: str, query: str, notice: str, link: str
) -> None:
    came = page(client, path, f"?{query}")
    assert notice in json.dumps(came["above"], ensure_ascii=False)
    assert came["shown"]["link"] == link
    assert "Ignored" not in json.dumps(page(client, path, link)["above"])


@pytest.mark.parametrize(
    ("path", "shown_alone"), [("/heads", "colour=kind&only=%5BCLS%5D"), ("/features", "fonly=%5BCLS%5D")]
)
def test_an_entry_of_the_legend_selects_the_same_points_beside_twelve_filters(
    client: FlaskClient, path: str, shown_alone: str
) -> None:
    twelve = ";".join(["position:0.."] * MOST_CONDITIONS)
    masks = (page(client, path, f"?{shown_alone}{where}")["picture"]["mask"] for where in ("", f"&where={twelve}"))
    alone, filtered = (client.get(mask).data for mask in masks)
    assert filtered == alone


def test_a_link_without_invalid_values_stays_as_it_is_written(client: FlaskClient) -> None:
    shown = page(client, "/", "?top=2&paint=label&tokens=20000")["shown"]
    assert shown["link"] == "?top=2&paint=label&tokens=20000"
    assert "written" not in shown


def test_nothing_is_computed_for_a_reader_who_left_the_page(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[object] = []
    monkeypatch.setitem(TOPICS, "heads", replace(TOPICS["heads"], layout=computed.append, picture=computed.append))
    with cancelled_by(lambda: True):
        assert page(client, "/heads")["picture"] is None
    assert computed == []

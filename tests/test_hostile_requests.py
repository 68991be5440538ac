"""Requests that no page sends: each is refused with a message and a line in the log, none counts as a server error."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.app import create_app
from dashboard.web.security import CALLBACKS
from dashboard.web.served_store import ServedStore

DEEP = "[" * 50_000 + "]" * 50_000
MIXED = '{"inputs": ' + "[" * 900 + "]" * 900 + "}"
PLACE = {"pathname": "/", "search": ""}


def part(name: str, value: object = None) -> dict[str, object]:
    """A part of a callback's input from `id.property`, where the id may be JSON."""
    component, _, prop = name.rpartition(".")
    return {"id": json.loads(component) if component.startswith("{") else component, "property": prop, "value": value}


def tab(shown: object = None, **values: object) -> list[Any]:
    """State of a tab that callbacks get: its link, and what it shows."""
    return [*(part(f"location.{name}", value) for name, value in (PLACE | values).items()), part("shown.data", shown)]


def body(output: str, inputs: list[Any], state: list[Any], outputs: Any = None) -> dict[str, object]:
    return {"output": output, "outputs": outputs or part(output), "inputs": inputs, "state": state}


LINES = '{"under-way":["ALL"]}'
NOTICE = [part("newer.children"), part("noticed.data"), part("counted.data"), []]


def notice(state: list[Any], outputs: Any = None, waits: Any = (), polled: object = 1) -> dict[str, object]:
    name = f"..newer.children...noticed.data...counted.data...{LINES}.children.."
    all_state = [list(waits), part("noticed.data"), part("counted.data"), *state]
    return body(name, [part("poll.n_intervals", polled)], all_state, outputs or NOTICE)


def deferred(name: object, value: object) -> dict[str, object]:
    ids = {"deferred": name, "wait": "a"}
    outputs = [{"id": ids | {"is": kind}, "property": "children"} for kind in ("content", "said")]
    part_id = {"id": ids | {"is": "content"}, "property": "id", "value": value}
    names = (f'{{"deferred":["MATCH"],"is":"{kind}","wait":["MATCH"]}}.children' for kind in ("content", "said"))
    return body(f"..{'...'.join(names)}..", [part_id], tab(), outputs)


def progress(value: object) -> dict[str, object]:
    ids = {"deferred": "numbers", "is": "clock", "wait": "a"}
    output = {"id": ids | {"is": "state"}, "property": "children"}
    inputs, state = (
        [{"id": ids, "property": name, "value": sent}] for name, sent in (("n_intervals", 1), ("id", value))
    )
    return body('{"deferred":["MATCH"],"is":"state","wait":["MATCH"]}.children', inputs, state, output)


def painted(value: object) -> dict[str, object]:
    return body("after-picture.children", [part("points.painted", value)], tab())


REFUSED: dict[str, object] = {
    "empty": {},
    "a list": [],
    "null": None,
    "a number": 1,
    "no inputs": {"output": "after-picture.children"},
    "too few values": notice(tab()[:1]),
    "too many values": notice([*tab(), *tab()]),
    "values of another": notice([part("shown.data", {}), *tab()[1:]]),
    "a list for one": notice([[value] for value in tab()]),
    "one for a list": body("after-picture.children", [[part("points.painted")]], tab()),
    "others than all": notice(tab(), waits=[part("poll.n_intervals")]),
    "outputs of another": notice(tab(), outputs=[part("above.children")]),
    "pathname is a number": notice(tab(pathname=7)),
    "pathname is a list": notice(tab(pathname=["/"])),
    "pathname is no text": notice(tab(pathname="\ud800")),
    "search is an object": notice(tab(search={"layer": 1})),
    "shown is empty": notice(tab({})),
    "shown is a number": notice(tab(3)),
    "the snapshot is a list": notice(tab({"snapshot": [1]})),
    "polled is a text": notice(tab(), polled="1"),
    "painted is empty": painted({}),
    "painted is a text": painted("yes"),
    "the name of a part is a number": deferred("map", {"deferred": 1, "wait": "a"}),
    "the name of a part is empty": deferred("map", {}),
    "a wait without a name": progress({"deferred": "numbers"}),
    "changed is a number": notice(tab()) | {"changedPropIds": 5},
}
MISSING: dict[str, object] = {
    "an unknown part": deferred("nothing", {"deferred": "nothing", "wait": "a"}),
    "an unknown output": body("nothing.children", [], []),
    "an output of the browser": body("copy-link.children", [part("copy-link.n_clicks", 1)], []),
}


@pytest.mark.parametrize(
    ("sent", "status"),
    [*((sent, 400) for sent in REFUSED.values()), *((sent, 404) for sent in MISSING.values())],
    ids=[*REFUSED, *MISSING],
)
def test_a_request_that_no_page_sends_is_refused_in_a_line(
    sent: object, status: int, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    refused(client.post(CALLBACKS, data=json.dumps(sent), content_type="application/json"), status, caplog)


@pytest.mark.parametrize("text", [DEEP, MIXED, "{", "", "1" * 5_000, '"\ud83d"', "NaN", "\x00"])
def test_a_malformed_request_is_refused(text: str, client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    sent = text.encode("utf-8", "surrogatepass")
    refused(client.post(CALLBACKS, data=sent, content_type="application/json"), 400, caplog)


def refused(response: Any, status: int, caplog: pytest.LogCaptureFixture) -> None:
    assert (response.status_code, response.mimetype) == (status, "text/plain"), response.text
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.records[0].exc_info is None
    assert len(caplog.records[0].getMessage()) < 300


@pytest.mark.parametrize("path", ["os/x", "dash/nothing.js", "dash/../app.py", "numpy/core.py", "\x00/x"])
def test_a_script_that_is_not_served_is_not_found(
    path: str, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    refused(client.get(f"/_dash-component-suites/{path}"), 404, caplog)


def test_requests_of_a_page_are_answered(client: FlaskClient) -> None:
    known = {"snapshot": client.post("/data/page", data=PLACE).get_json()["shown"]["snapshot"], "layer": 3}
    lines = [{"id": {"under-way": "line"}, "property": "id", "value": {"under-way": "line"}}]
    outputs = [*NOTICE[:3], [{"id": {"under-way": "line"}, "property": "children"}]]
    sent = [
        notice(tab(known)),
        notice(tab(known), outputs, lines),
        notice(tab()),
        painted(None),
        painted({"after": ""}),
    ]
    for body_sent in sent:
        assert client.post(CALLBACKS, json=body_sent).status_code in (200, 204), body_sent


KEYS = [
    "output",
    "outputs",
    "inputs",
    "state",
    "changedPropIds",
    "id",
    "property",
    "value",
    "snapshot",
    "after",
    "deferred",
]
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([LINES, *KEYS])
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
PART = {"deferred": "numbers", "wait": "a"}
SENSIBLE = st.sampled_from([notice(tab()), progress(PART), painted({"after": ""}), deferred("numbers", PART)])
BROKEN = st.builds(lambda good, changed: good | changed, SENSIBLE, st.dictionaries(st.sampled_from(KEYS), VALUES))


@settings(max_examples=200)
@given(VALUES | BROKEN)
def test_no_request_to_a_callback_is_a_server_error(fuzzed: FlaskClient, sent: object) -> None:
    response = fuzzed.post(CALLBACKS, data=json.dumps(sent), content_type="application/json")
    assert response.status_code < 500, response.text


@pytest.fixture(scope="module")
def fuzzed(tiny_store: str) -> FlaskClient:
    return create_app(ServedStore(tiny_store)).server.test_client()


METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "A"]
PIECES = [
    "data",
    "1",
    "assets",
    "_dash-layout",
    "_dash-dependencies",
    "_reload-hash",
    "_favicon.ico",
    "_healthz",
    "..",
    "",
]
PATHS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=9).map(
    lambda parts: "/" + "/".join(parts).lstrip("/").replace("?", "%3F")
)


@settings(max_examples=300)
@given(st.sampled_from(METHODS), PATHS, st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3))
def test_no_path_is_a_server_error(fuzzed: FlaskClient, method: str, path: str, query: dict[str, str]) -> None:
    response = fuzzed.open(path, method=method, query_string=query, json=query if method in ("POST", "PUT") else None)
    assert response.status_code < 500, response.text


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["pathname", "search", "snapshot", "a"]), st.text(max_size=30)))
def test_no_link_is_a_server_error(fuzzed: FlaskClient, link: dict[str, str]) -> None:
    response = fuzzed.post("/data/page", data={name: text.encode("utf-8", "replace") for name, text in link.items()})
    assert response.status_code == 200, response.text


HOSTILE = ["0", "x", "-1", "9" * 30, "\u00e9", "a" * 3_000, "1e999", "nan", "%00", "..;/"]


@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_in_a_url_is_a_server_error(value: str, fuzzed: FlaskClient, base: str) -> None:
    rules = {rule.rule for rule in fuzzed.application.url_map.iter_rules() if rule.rule.startswith("/data/")}
    fields = dict.fromkeys(("where", "tokens", "q", "lasso", "heads", "layer", "text", "top", "source", "other"), value)
    for rule in sorted(rules):
        for number in ("0", "9" * 30):
            path = filled(rule.replace("/data/1/<snapshot>/<model>", base), number, value)
            response = fuzzed.get(path, query_string=fields)
            assert response.status_code < 500, (path, response.text)


def filled(rule: str, number: str, value: str) -> str:
    """The path of a rule with `number` for its numbers, the first word of each choice, and `value` for all other parts."""
    rule = re.sub("<int:[^>]*>", number, rule)
    rule = re.sub(r"<any\((\w+)[^>]*>", r"\1", rule)
    return re.sub("<[^>]*>", quote(value), rule)

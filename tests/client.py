"""Requests to the server without a browser: fixtures for tests of its answers."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from dashboard import pages
from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.web import errors as problems
from dashboard.web.assets import ASSETS, ELSEWHERE
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store import Corpus, StoreError
from tests.sentences import a_pair


def compile_once() -> None:
    """Let applications share the code that werkzeug compiles from a route: tests make hundreds of applications with the same routes."""
    compile_builder, compiled = Rule._compile_builder, dict[tuple[str, str, bool], Any]()

    def compile_or_take(rule: Rule, append_unknown: bool = True) -> Any:
        key = rule.rule, repr(rule.defaults), append_unknown
        return compiled.get(key) or compiled.setdefault(key, compile_builder(rule, append_unknown))

    Rule._compile_builder = compile_or_take  # type: ignore[method-assign]


compile_once()


@pytest.fixture(scope="module")
def client(tiny_store: str) -> FlaskClient:
    return create_app(ServedStore(tiny_store)).server.test_client()


@pytest.fixture(scope="module")
def bank_client(bank_store: str) -> FlaskClient:
    """A client of a dashboard on a store with words."""
    return create_app(ServedStore(bank_store)).server.test_client()


@pytest.fixture
def base(tiny_corpus: Corpus) -> str:
    """The address below which the routes of the tiny store's data are."""
    return data_link(tiny_corpus)


def assets() -> set[str]:
    """The paths of the pages' scripts and style sheets below their folder; those of notebooks and published sites are on no page."""
    files = {path.relative_to(ASSETS) for path in ASSETS.rglob("*") if path.suffix in (".mjs", ".js", ".css")}
    return {path.as_posix() for path in files if path.parts[0].partition(".")[0] not in ELSEWHERE}


class FakeTyped:
    """Typed sentences without a model: every text is one fixed pair, and an empty text is refused."""

    def has_loaded(self, corpus: Corpus) -> bool:
        return bool(corpus.name)

    def encode(
        self, corpus: Corpus, text: str, second: str, has_left: Callable[[], bool], *, most: int | None = None
    ) -> Sentence:
        assert not has_left()
        assert most is None or most > 0
        if not text.strip():
            raise StoreError(f"There is no text for {corpus.name}, nor in {second!r}. Give a sentence.")
        return a_pair()


@pytest.fixture(scope="session")
def sentence_client(tiny_store: str) -> FlaskClient:
    """A client of the routes of sentences alone; every typed text is the one fixed pair."""
    server = Flask("sentences")
    served_store = ServedStore(tiny_store)
    served_store.put(TypedSentences, FakeTyped())  # type: ignore[arg-type]
    pages.register(server, served_store)
    problems.register(server)
    return server.test_client()


@pytest.fixture
def stored_sentence(base: str) -> str:
    """The address below which the routes of a stored sentence of the tiny store are."""
    return f"{base}/sentence/3"


@pytest.fixture
def typed_sentence(base: str) -> str:
    """The address below which the routes of a typed sentence are."""
    return f"{base}/typed"


def content(client: FlaskClient, url: str) -> bytes:
    response = client.get(url)
    assert response.status_code == 200, response.text
    return response.data


def csv_rows(file: bytes) -> list[dict[str, str]]:
    """The rows of a CSV file by their titles."""
    return list(csv.DictReader(io.StringIO(file.decode("utf-8-sig"), newline="")))


def above(client: FlaskClient, pathname: str, search: str = "") -> str:
    """The part of a page above its picture, as text."""
    return shown(client, "above", pathname, search)


def shown(client: FlaskClient, place: str, pathname: str, search: str = "") -> str:
    """The content of a place of a page, as text, with the deferred parts that the page waits for."""
    answer = client.post("/data/page", data={"pathname": pathname, "search": search, "snapshot": ""})
    content = answer.json[place]
    return str([content, *(_filled(client, wait, pathname, search) for wait in waits_in(content))])


def waits_in(content: Any) -> list[dict[str, str]]:
    """Ids of the deferred parts that a page waits for."""
    if isinstance(content, list):
        return [wait for each in content for wait in waits_in(each)]
    if not isinstance(content, dict):
        return []
    if isinstance(content.get("is"), str) and content["is"] == "content":
        return [content]
    return [wait for value in content.values() for wait in waits_in(value)]


def _filled(client: FlaskClient, wait: dict[str, str], pathname: str, search: str) -> object:
    filled = [{"id": wait | {"is": kind}, "property": "children"} for kind in ("content", "said")]
    names = (f'{{"deferred":["MATCH"],"is":"{kind}","wait":["MATCH"]}}.children' for kind in ("content", "said"))
    asked = {
        "output": f"..{'...'.join(names)}..",
        "outputs": filled,
        "inputs": [{"id": wait, "property": "id", "value": wait}],
        "changedPropIds": [],
        "state": [
            {"id": "location", "property": "pathname", "value": pathname},
            {"id": "location", "property": "search", "value": search},
            {"id": "shown", "property": "data", "value": None},
        ],
    }
    return client.post("/_dash-update-component", json=asked).json


def typed_like(rows: Iterable[Mapping[str, str]], table: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Rows of a CSV file with the types of the same table of a Parquet file; NaN, which equals nothing, as None."""
    return [
        {name: _none_of_nan(type(other[name])(text)) for name, text in row.items()}
        for row, other in zip(rows, table, strict=True)
    ]


def without_nan(table: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Rows of a table with None for NaN."""
    return [{name: _none_of_nan(value) for name, value in row.items()} for row in table]


def _none_of_nan(value: object) -> object:
    return None if value != value else value

"""Requests to the server without a browser. Fixtures for the tests of what it answers."""

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard import routes
from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.web import errors as problems
from dashboard.web.http import data_link
from dashboard.web.library import Library
from store import Corpus, StoreError
from tests.sentences import a_pair


@pytest.fixture(scope="module")
def client(tiny_store: str) -> FlaskClient:
    return create_app(Library(tiny_store)).server.test_client()


@pytest.fixture(scope="module")
def bank_client(bank_store: str) -> FlaskClient:
    """Of a store with words."""
    return create_app(Library(bank_store)).server.test_client()


@pytest.fixture
def base(tiny_corpus: Corpus) -> str:
    """Where the routes of the tiny store's data begin."""
    return data_link(tiny_corpus)


class FakeTyped:
    """Knows one pair, and refuses an empty text."""

    def encode(self, corpus: Corpus, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        assert not has_left()
        if not text.strip():
            raise StoreError(f"There is no text for {corpus.name}, nor in {second!r}. Give a sentence.")
        return a_pair()


@pytest.fixture(scope="session")
def sentence_client(tiny_store: str) -> FlaskClient:
    """Routes of sentences alone; what is typed is always the one pair."""
    server = Flask("sentences")
    library = Library(tiny_store)
    library.put(TypedSentences, FakeTyped())  # type: ignore[arg-type]
    routes.register(server, library)
    problems.register(server)
    return server.test_client()


@pytest.fixture
def stored_sentence(base: str) -> str:
    """Where the routes of a sentence of the tiny store begin."""
    return f"{base}/sentence/3"


@pytest.fixture
def typed_sentence(base: str) -> str:
    """Where those of a typed one do."""
    return f"{base}/typed"


def content(client: FlaskClient, url: str) -> bytes:
    response = client.get(url)
    assert response.status_code == 200, response.text
    return response.data


def above(client: FlaskClient, pathname: str, search: str = "") -> str:
    """What a page shows above its picture."""
    answer = client.post("/data/page", data={"pathname": pathname, "search": search, "snapshot": ""})
    return str(answer.json["above"])

"""Requests to the server without a browser. Fixtures for the tests of what it answers."""

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.data_links import data_link
from dashboard.library import Library
from store import Corpus


@pytest.fixture(scope="module")
def client(tiny_store: str) -> Iterator[FlaskClient]:
    with create_app(Library(tiny_store)).server.test_client() as client:
        yield client


@pytest.fixture
def base(tiny_corpus: Corpus) -> str:
    """Where the routes of the tiny store's data begin."""
    return data_link(tiny_corpus)

"""Readers see names of models, corpora and files, never their folders on the server."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus


def asked_for(corpus: Corpus) -> list[Path]:
    settings = corpus.attributes["provenance"]["settings"]
    return [Path(settings[name]) for name in ("model", "data", "store")]


def test_the_settings_of_the_tiny_store_name_folders(tiny_corpus: Corpus) -> None:
    assert all(place.is_absolute() for place in asked_for(tiny_corpus))


@pytest.mark.parametrize("page", ["overview", "store", "heads", "compare"])
def test_no_page_names_a_folder_of_the_server(page: str, tiny_store: str, tiny_corpus: Corpus) -> None:
    says = str(TOPICS[page].layout(resolve(ServedStore(tiny_store), page, "")).above)
    assert [place for place in asked_for(tiny_corpus) if str(place.parent) in says] == []


def test_store_names_model_and_corpus(tiny_store: str, tiny_corpus: Corpus) -> None:
    says = str(TOPICS["store"].layout(resolve(ServedStore(tiny_store), "store", "")).above)
    assert f"H2(['Model ', Bdi('{tiny_corpus.attributes['model_id']}')])" in says
    assert f"H2(['Corpus ', Bdi('{tiny_corpus.corpus_attributes['name']}')])" in says


@pytest.mark.parametrize("wrong", ["snapshot", "name"])
def test_messages_on_missing_parts_name_no_folder(
    wrong: str, client: FlaskClient, base: str, tiny_store: str, tiny_corpus: Corpus
) -> None:
    answer = client.get(f"{base.replace(getattr(tiny_corpus, wrong), 'ZZZZZZZZZZZZZZZZZZZZ')}/tokens.json")
    assert answer.status_code == 404
    assert str(Path(tiny_store).parent) not in answer.text

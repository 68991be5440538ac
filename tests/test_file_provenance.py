"""Every file of the server names its model and snapshot: all routes of files are found in the application itself."""

import io
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from flask import Flask
from pyarrow import parquet
from werkzeug.routing import AnyConverter, Rule

import store
from dashboard.app import create_app
from dashboard.compare.two_models import ModelPair
from dashboard.sentence.encoder import TypedSentences
from dashboard.ui.files import MIMETYPES
from dashboard.web.served_store import ServedStore
from tests.client import FakeTyped, csv_rows

#: A value of each parameter of a route that is in the store; a parameter with a choice of words takes every word.
EXAMPLES = {
    "view": "pca-exact-2d",
    "layer": 1,
    "head": 0,
    "normalization": "exact",
    "index": 3,
    "sentence": 3,
    "query": 2,
    "token_set": "sample",
    "series": "points",
    "panel": "grid",
}
#: Other values of parameters in routes of feature points.
OF_FEATURES = {"view": "pca-each"}
#: Query strings of addresses that have this part.
QUERIES = {"/typed/": "?text=x", "/hypothesis.": "?hquery=the", "/reach-labels.": "?labelled=negative"}
#: Files of words, with their query string. The corpus of the other files has no words.
OF_WORDS = {
    "relations": "",
    "relation": "?relation=det&direction=forward",
    "best-heads": "",
    "uas": "",
    "coreference": "",
}
#: Files of the roles of a head. The corpus of the other files has no roles.
OF_ROLES = ("roles", "rules", "dictionary")


@pytest.fixture(scope="module")
def server(three_models: str) -> Flask:
    served_store = ServedStore(three_models)
    served_store.put(TypedSentences, FakeTyped())  # type: ignore[arg-type]
    return create_app(served_store).server


def file_rules(server: Flask) -> list[Rule]:
    """Routes whose address ends in the name of a kind of file, or in a choice of such names."""
    return [rule for rule in server.url_map.iter_rules() if forms(rule)]


def forms(rule: Rule) -> set[str]:
    """Kinds of files that a route has."""
    written = {form for form in MIMETYPES if rule.rule.endswith(f".{form}")}
    chosen = {form for form in MIMETYPES if rule.rule.endswith(":form>") and form in words(rule, "form")}
    return written | chosen


def words(rule: Rule, name: str) -> list[str]:
    """The words that a parameter can be; empty where it is no choice of words."""
    converter = rule._converters[name]
    return sorted(converter.items) if isinstance(converter, AnyConverter) else []


def addresses(server: Flask, parts: dict[str, str]) -> Iterator[str]:
    """Addresses of every route of a file, with every word of a choice and an example of any other parameter."""
    for rule in file_rules(server):
        known = parts | EXAMPLES | (OF_FEATURES if "token_set" in rule.arguments else {})
        missing = [name for name in rule.arguments if name not in known and not words(rule, name)]
        assert not missing, f"{rule.rule} has parameters without an example: {missing}"
        values: list[list[object]] = [[*words(rule, name)] or [known[name]] for name in rule.arguments]
        for chosen in product(*values):
            built = rule.build(dict(zip(rule.arguments, chosen, strict=True)))
            assert built is not None
            yield built[1] + next((query for part, query in QUERIES.items() if part in built[1]), "")


def named(content: bytes, address: str) -> set[str]:
    """Provenance that a file states: its model and snapshot."""
    if ".parquet" in address:
        metadata = parquet.read_schema(io.BytesIO(content)).metadata
        return {" ".join(metadata.get(name, b"").decode() for name in (b"model", b"snapshot"))}
    return {row.get("provenance", "") for row in csv_rows(content)}


def of_words(address: str) -> str | None:
    """The name of a file of words; None for another file."""
    name = address.rpartition("/")[2].partition(".")[0]
    return name if name in OF_WORDS else None


def of_roles(address: str) -> str | None:
    """The name of a file of roles; None for another file."""
    what = address.split("/")[-3]
    return what if what in OF_ROLES else None


def runs_a_model(address: str) -> bool:
    """Whether a file needs a run of the model: tests/test_curve_of_heads.py and tests/test_vector_of_sentence.py test these."""
    return any(f"/{name}." in address for name in ("curve", "vector", "alike"))


@pytest.mark.parametrize("name", OF_ROLES)
def test_every_file_of_roles_names_its_model_and_its_snapshot(name: str, roles_store: str) -> None:
    corpus = store.open_corpus(roles_store)
    expect_named(corpus, roles_store, lambda address: of_roles(address) == name)


#: Files of what arrives: the two models of page Compare have no such numbers.
OF_MIXING = ("arrival", "reach", "reach-labels")


def of_mixing(address: str) -> str | None:
    """The name of a file of what arrives; None for another file."""
    name = address.rpartition("/")[2].partition(".")[0]
    return name if name in OF_MIXING else None


@pytest.mark.parametrize("name", OF_MIXING)
def test_every_file_of_what_arrives_names_its_model_and_its_snapshot(name: str, tiny_store: str) -> None:
    expect_named(store.open_corpus(tiny_store), tiny_store, lambda address: of_mixing(address) == name)


@pytest.mark.parametrize("name", OF_WORDS)
def test_every_file_of_words_names_its_model_and_its_snapshot(name: str, bank_store: str, chains_store: str) -> None:
    place = chains_store if name == "coreference" else bank_store
    expect_named(store.open_corpus(place), place, lambda address: of_words(address) == name, OF_WORDS[name])


def expect_named(corpus: store.Corpus, place: str, is_one: Callable[[str], bool], query: str = "") -> None:
    """Assert that a file of each kind names its model and snapshot."""
    server = create_app(ServedStore(place)).server
    parts = {"snapshot": corpus.snapshot, "model": corpus.name, "other": corpus.name}
    every = [address for address in addresses(server, parts) if is_one(address)]
    assert len(every) == len(MIMETYPES)
    for address in every:
        answer = server.test_client().get(address + query)
        assert answer.status_code == 200, f"{address}: {answer.text}"
        said = named(answer.data, address)
        assert said
        assert all(corpus.snapshot in each and corpus.name in each for each in said)


def test_every_file_names_its_models_and_its_snapshot(server: Flask, alike: ModelPair) -> None:
    parts = {"snapshot": alike.own.snapshot, "model": alike.own.name, "other": alike.other.name}
    client, unnamed = server.test_client(), []
    every = [
        address
        for address in addresses(server, parts)
        if not (of_words(address) or of_roles(address) or of_mixing(address) or runs_a_model(address))
    ]
    for address in every:
        answer = client.get(address)
        assert answer.status_code == 200, f"{address}: {answer.text}"
        expected = {text for name, text in parts.items() if name != "other" or "/compare/" in address}
        names = named(answer.data, address)
        if not names or not all(text in said for said in names for text in expected):
            unnamed.append(address)
    assert (unnamed, len(every) > 30) == ([], True)

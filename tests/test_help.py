"""Help: what it has at once, and the tour and the glossary of a model."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.help_dialog import CITATION
from dashboard.ui.glossary import TERMS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore

PARTS = ("tour-steps", "glossary")


def values(node: Any) -> Iterator[str]:
    """Every string in a part of the shell as a browser gets it: texts, and the values of properties."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from values(each)


def filled(client: FlaskClient) -> dict[str, Any]:
    """What a browser gets when a reader opens Help or the tour."""
    outputs = [{"id": part, "property": "children"} for part in PARTS]
    places = {"location": ("pathname", "search"), "shown": ("data",)}
    values = {"pathname": "/", "search": "", "data": None}
    asked = {
        "output": f"..{'...'.join(f'{part}.children' for part in PARTS)}..",
        "outputs": outputs,
        "inputs": [{"id": "asked-help", "property": "data", "value": 1}],
        "changedPropIds": ["asked-help.data"],
        "state": [
            {"id": place, "property": name, "value": values[name]} for place, names in places.items() for name in names
        ],
    }
    answer: dict[str, Any] = client.post("/_dash-update-component", json=asked).json["response"]
    return {part: str(answer[part]["children"]) for part in PARTS}


def test_a_browser_gets_five_steps_and_every_term(client: FlaskClient) -> None:
    content = filled(client)
    assert content["tour-steps"].count("tour-step step-") == 5
    assert [name for name, term in TERMS.items() if term.meaning not in content["glossary"]] == []


def test_special_tokens_have_the_names_of_the_tokenizer(tiny_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    served_store = ServedStore(tiny_store)
    corpus = resolve(served_store, "/", "").corpus
    vocab = corpus.piece_texts.copy()
    vocab[[corpus.tokens.token_id.values[row] for row in (0, corpus.sentence_rows(0).stop - 1)]] = "<s>", "</s>"
    monkeypatch.setitem(corpus.__dict__, "piece_texts", vocab)
    content = filled(create_app(served_store).server.test_client())
    assert "<s> stands before every text, </s> after it." in content["glossary"]


def test_help_has_the_keys_the_documentation_and_the_citation(client: FlaskClient) -> None:
    shell = client.get("/_dash-layout").json
    held = {"Statistics", "copy the link", "mark the pair in a colour", "undo", "redo", CITATION.read_text("utf-8")}
    assert held | {"/docs/statistics.md"} <= {*values(shell)}


def test_dash_follows_few_components_before_a_page_is_there(client: FlaskClient) -> None:
    shell = client.get("/_dash-layout").text
    assert shell.count('"namespace":') < 80  # each costs a reader a millisecond and more, also those of closed dialogs

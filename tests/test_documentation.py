"""Help: its content in the first page, the tour and the glossary of a model, and the documentation on the server."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import documentation
from dashboard.app import create_app
from dashboard.documentation import CITATION
from dashboard.pages import TOPICS
from dashboard.ui.glossary import TERMS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from tests.docs_site import ROOT, gather, llms_text
from tests.test_pages import page

PAGES = [path.name for path in sorted((ROOT / "docs").glob("*.md"))]
PARTS = ("tour-steps", "glossary")


@pytest.mark.parametrize("name", TOPICS)
def test_every_page_links_a_heading_of_its_documentation(client: FlaskClient, name: str) -> None:
    (navigation,) = page(client, f"/{name}")["navigation"]
    (href,) = [link[1]["href"] for link in navigation["props"]["tree"] if link[2] == "Documentation"]
    path, _, anchor = href.partition("#")
    assert f'id="{anchor}"' in client.get(path).text or not anchor


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_documentation_is_whole(client: FlaskClient, name: str) -> None:
    shown = client.get(f"/docs/{name}")
    assert shown.status_code == 200
    prose = re.sub(r"<pre>.*?</pre>|<code>.*?</code>|<style>.*?</style>", "", shown.text, flags=re.DOTALL)
    assert "$" not in prose
    assert not re.findall(r"\[[^\]]+\]\([^)]+\)|^\|", prose, re.MULTILINE)


def test_a_formula_is_drawn_without_a_script(client: FlaskClient) -> None:
    shown = client.get("/docs/statistics.md")
    assert "<msub><mi>p</mi>" in re.sub(r"</?mrow>", "", shown.text)
    assert "<script" not in shown.text
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]


def test_an_unknown_page_is_refused_with_those_that_there_are(client: FlaskClient) -> None:
    refused = client.get("/docs/weather.md")
    assert refused.status_code == 404
    assert "There is no page weather.md of the documentation. There are access.md, " in refused.text


def test_without_the_source_tree_there_is_no_link(tmp_path: Path) -> None:
    assert documentation.address("statistics.md", tmp_path) is None


def test_language_models_get_a_list_of_every_page_with_its_sections(tmp_path: Path) -> None:
    gather(tmp_path / "pages")
    listed = llms_text(tmp_path / "pages")
    assert listed.startswith("# Headscape\n\n> Headscape shows what every attention head of an encoder does")
    assert re.findall(r"^- \[[^]]+\]\(([^)]+)\): .", listed, re.MULTILINE) == sorted([*PAGES, "changelog.md"])
    assert "- [In a notebook](notebook.md): A model of your own, A store, For programs, Other tools, Saving\n" in listed


def values(node: Any) -> Iterator[str]:
    """Every string in a part of the shell as a browser gets it: texts, and the values of properties."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from values(each)


def filled(client: FlaskClient) -> dict[str, Any]:
    """Contents that a browser gets when a reader opens Help or the tour, by their part."""
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
    assert shell.count('"namespace":') < 80  # each element costs a reader a millisecond and more, in closed dialogs too

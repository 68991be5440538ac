"""The pages of docs/ as the server shows them, and the link of each page of the dashboard to its own."""

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard import documentation
from dashboard.pages import TOPICS
from tests.docs_site import ROOT, gather, llms_text
from tests.test_pages import page

PAGES = [path.name for path in sorted((ROOT / "docs").glob("*.md"))]


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

"""The server sends the fields that the browser's types expect (assets/types/contract.d.ts)."""

import re
from dataclasses import fields

import pytest

from dashboard.canvas import spec
from dashboard.pages import TabLink, page_content
from dashboard.sentence.marks import MarkedPair
from dashboard.sentence.sentence import Unit
from dashboard.web.assets import ASSETS
from dashboard.web.served_store import ServedStore

CONTRACT = (ASSETS / "types" / "contract.d.ts").read_text("utf-8")
INTERFACE = re.compile(r"^interface (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
INTERFACES = dict(INTERFACE.findall(CONTRACT))


def names(interface: str, optional: bool = True) -> set[str]:
    """Fields of an interface of the contract; without `optional`, the required fields alone."""
    found = re.findall(r"^  (\w+)(\??):", INTERFACES[interface], re.MULTILINE)
    return {name for name, mark in found if optional or not mark}


def answer(store: str, link: str) -> dict[str, object]:
    path, _, search = link.partition("?")
    return page_content(ServedStore(store), TabLink(f"/{path}", f"?{search}", ""))


@pytest.mark.parametrize(
    "kind",
    [
        spec.Panel,
        spec.RowHeading,
        spec.Headings,
        spec.Step,
        spec.ChosenPoint,
        spec.SecondHead,
        spec.LinkFields,
        spec.FileSource,
        spec.Picture,
        Unit,
        MarkedPair,
    ],
)
def test_the_browser_knows_the_fields_of_what_the_server_sends(kind: type) -> None:
    assert names(kind.__name__) == {field.name for field in fields(kind)}


@pytest.mark.parametrize("link", ["heads", "head", "statistics", "sentence"])
def test_a_page_has_the_parts_that_the_browser_knows(tiny_store: str, link: str) -> None:
    assert set(answer(tiny_store, link)) == names("Page")


@pytest.mark.parametrize("show", ["head", "model", "matrix", "neuron"])
def test_a_sentence_has_the_fields_that_the_browser_knows(tiny_store: str, show: str) -> None:
    sentence = answer(tiny_store, f"sentence?show={show}&queries=1")["sentence"]
    assert isinstance(sentence, dict)
    assert set(sentence) == names("SentencePicture")


def test_what_a_page_shows_has_the_fields_that_the_browser_knows(tiny_store: str) -> None:
    shown = answer(tiny_store, "heads")["shown"]
    assert isinstance(shown, dict)
    assert names("Shown", optional=False) <= set(shown)

"""The structure of a picture: pages send the fields that the modules of the canvas read."""

import re
from dataclasses import fields

import pytest

from dashboard.canvas.spec import ChosenPoint, FileSource, Headings, LinkFields, Panel, Picture, RowHeading, Step
from dashboard.pages import TOPICS, picture_of
from dashboard.web.assets import ASSETS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore

SOURCES = {
    path.relative_to(ASSETS).as_posix(): path.read_text("utf-8")
    for folder in ("canvas", "web")
    for path in sorted((ASSETS / folder).glob("*.mjs"))
}
#: Patterns of reads of a picture: `picture.points`, and `const { points, mask } = panels.picture`.
MEMBER = re.compile(r"\bpicture\??\.(\w+)")
UNPACKED = re.compile(r"(?:const|let) \{([^{}]*)\} = (?:\w+\.)*picture\b(?!\.)")
TEXT = "\n".join(SOURCES.values())


def reads(text: str) -> set[str]:
    """Fields of a picture that a module reads."""
    unpacked = [
        name.split(":")[0].split("=")[0].strip() for names in UNPACKED.findall(text) for name in names.split(",")
    ]
    return {*MEMBER.findall(text), *filter(None, unpacked)}


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def test_the_modules_read_the_fields_of_a_picture_and_no_others() -> None:
    assert reads(TEXT) == names(Picture)


@pytest.mark.parametrize("kind", [Panel, Step, Headings, RowHeading, ChosenPoint, LinkFields, FileSource])
def test_every_field_of_a_part_of_a_picture_is_read(kind: type) -> None:
    read = {*re.findall(r"\.(\w+)", TEXT), *re.findall(r"[{,]\s*(\w+)(?=[:,\s}])", TEXT)}
    assert names(kind) <= read


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("panels.picture?.size;", {"size"}),
        ("const { size: own, least = 3 } = this.picture;", {"size", "least"}),
        ("const { width } = picture.file;", {"file"}),
    ],
)
def test_a_read_is_found(text: str, names: set[str]) -> None:
    assert reads(text) == names


@pytest.mark.parametrize("search", ["heads", "head?token=3", "features", "features?point=L00.mixed&ftoken=3"])
def test_a_picture_is_sent_with_every_field(tiny_store: str, search: str) -> None:
    path, _, query = search.partition("?")
    picture = picture_of(resolve(ServedStore(tiny_store), path, f"?{query}"))
    assert picture is not None
    sent = picture.json()
    assert set(sent) == names(Picture)
    assert all(set(panel) == names(Panel) for panel in sent["panels"])
    assert set(sent["file"]) == names(FileSource)
    assert {name for name, topic in TOPICS.items() if topic.picture} == {"heads", "head", "features", "compare"}

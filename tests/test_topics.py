"""Every page is declared once, whole, and listed once: its topic."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard.pages import TOPICS
from dashboard.topic import Topic, topics_by_name
from dashboard.ui.markup import Page
from dashboard.web.state import FIELDS
from tests.test_docs import anchors

ROOT = Path(__file__).parents[1]
EVERY = pytest.mark.parametrize("topic", TOPICS.values(), ids=list(TOPICS))


@EVERY
def test_its_name_is_in_the_docs_of_links(topic: Topic) -> None:
    address = "/" if topic.name == "overview" else f"/{topic.name}"
    assert f"`{address}`" in (ROOT / "docs/links.md").read_text("utf-8")


@EVERY
def test_its_page_of_the_docs_is_there(topic: Topic) -> None:
    name, _, anchor = topic.docs.partition("#")
    assert not anchor or anchor in anchors(ROOT / "docs" / name)
    assert (ROOT / "docs" / name).exists()


@EVERY
def test_its_links_always_hold_fields_that_there_are(topic: Topic) -> None:
    assert topic.links.always <= FIELDS.keys()


def test_each_is_a_link_of_the_navigation_with_its_letter(client: FlaskClient) -> None:
    (navigation,) = client.post("/data/page", data={"pathname": "/", "search": "", "snapshot": ""}).json["navigation"]
    *pages, _documentation = navigation["props"]["tree"]
    links = [(title, attributes["data-letter"]) for _, attributes, title in pages]
    assert links == [(topic.title, topic.letter) for topic in TOPICS.values()]


def test_nobody_else_lists_the_pages() -> None:
    """Two files that name most pages are two lists of them."""
    named = re.compile(rf'"({"|".join(TOPICS)})"')
    listing = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "dashboard").rglob("*.py")
        if len({*named.findall(path.read_text("utf-8"))}) > len(TOPICS) / 2
    }
    assert listing == set()


def test_what_is_below_the_pages_asks_a_page_for_what_it_declares() -> None:
    folders = [ROOT / "dashboard" / folder for folder in ("web", "access", "monitoring", "ui", "canvas", "notes")]
    decides = re.compile(r"\bpage (==|!=) \"|\.get\(state\.page")
    asking = [
        str(path) for folder in folders for path in folder.rglob("*.py") if decides.search(path.read_text("utf-8"))
    ]
    assert asking == []


@pytest.mark.parametrize(
    "name",
    [
        *("ui/controls", "ui/markup"),
        *("overview/evidence", "overview/role_cards", "overview/tour"),
        *("roles/dictionary", "roles/evidence", "roles/panel"),
        *("statistics/heads", "statistics/head_panel", "statistics/sections"),
        *("sentence/charts", "sentence/controls", "sentence/finder", "sentence/heads"),
        *("compare/head_differences", "compare/sentences"),
        *("canvas/spec", "features/figures", "features/picture", "features/token"),
        *(
            "points/clicked_point",
            "points/controls",
            "points/distance",
            "points/pairs",
            "points/picture",
        ),
    ],
)
def test_what_draws_from_values_knows_no_context(name: str) -> None:
    text = (ROOT / "dashboard" / f"{name}.py").read_text("utf-8")
    assert not re.search(r"\bContext\b", text)


@pytest.mark.parametrize("part", ["name", "title", "letter", "docs"])
def test_a_topic_without_a_part_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match=f"^Topic '?.+'? has no {part}. Declare it where the topic is made.$"):
        replace(TOPICS["map"], **{part: ""})


def test_a_topic_that_does_not_say_its_letter_is_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'letter'"):
        Topic(name="new", title="New", docs="links.md", layout=lambda _: Page())  # type: ignore[call-arg]


@pytest.mark.parametrize(("part", "value"), [("name", "map"), ("title", "Head map"), ("letter", "m")])
def test_two_topics_with_the_same_part_are_refused(part: str, value: str) -> None:
    own = {"name": "new", "title": "New", "letter": "x"} | {part: value}
    with pytest.raises(ValueError, match=f"^Two topics have the {part} '{value}'. Give one of them another.$"):
        topics_by_name(TOPICS["map"], replace(TOPICS["map"], **own))

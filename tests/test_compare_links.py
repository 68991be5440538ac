"""Links of page Compare: the fields that a link to another sentence, to a head or to the swapped models keeps."""

import re
from urllib.parse import parse_qs

from dash import html
from flask.testing import FlaskClient

from dashboard.compare.data import linked_changes
from dashboard.compare.head_differences import changed_heads, changed_most
from dashboard.compare.sentences import sentence_href
from dashboard.compare.two_models import ModelPair
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from tests.client import above


def fields_of(href: str) -> dict[str, str]:
    """The fields of a link."""
    query = href.partition("?")[2].partition("#")[0]
    return {name: values[0] for name, values in parse_qs(query).items()}


def links_to_heads(content: list[object]) -> list[dict[str, str]]:
    """Fields of the links to the pictures of a head."""
    hrefs = [getattr(part, "href", "") for part in html.Div(content)._traverse()]
    return [fields_of(href) for href in hrefs if href.endswith("#pictures-of-both")]


def test_a_head_that_changed_opens_in_pictures_of_heads(alike: ModelPair) -> None:
    state = LinkState(page="compare", model=alike.own.name, other=alike.other.name, pictures="point")
    links = links_to_heads([*changed_heads(state, alike, linked_changes(state, alike)), *changed_most(state, alike)])
    assert len(links) == 4 + 3
    assert all("pictures" not in fields for fields in links)


def test_a_link_to_another_sentence_leaves_the_selection_behind() -> None:
    selection = {"queries": "4", "toward": 2, "hide": "6", "window": 3, "keywindow": 5, "text": "A film"}
    pictures = {"marks": "1-2", "at": "1,2,3", "q": "the", "head": 1}
    href = sentence_href(LinkState(page="compare", sentence=3, **selection, **pictures), 7)
    assert href.startswith("/compare?")
    assert fields_of(href) == {"layer": "0", "head": "1", "marks": "1-2", "at": "1,2,3", "q": "the", "sentence": "7"}


def test_swapped_models_of_other_shapes_keep_no_head_or_view_that_one_of_them_lacks(
    three_models: str, three_client: FlaskClient, unlike: ModelPair
) -> None:
    models = f"?model={unlike.other.name}&other={unlike.own.name}"
    page = above(three_client, "/compare", f"{models}&layer=2&head=3&heads=3&view=pca-raw-2d&source=cls")
    (swapped,) = {href for href in re.findall(r"'(/compare\?[^'#]*)'", page) if f"?model={unlike.own.name}&" in href}
    expected = {"model": unlike.own.name, "other": unlike.other.name, "layer": "0", "source": "cls"}
    assert fields_of(swapped) == expected
    assert resolve(ServedStore(three_models), "/compare", f"?{swapped.partition('?')[2]}").notices == ()

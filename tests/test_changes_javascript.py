"""What changes between two states of a page, by the script alone in a browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.scripts import ASSETS, scripted

#: A component of a page by its id and properties.
MADE = "const c = (id, props, type = 'Select') => ({ type, namespace: 'dmc', props: { id, ...props } });"


@pytest.fixture(scope="module")
def script(chromium: Browser) -> Iterator[Page]:
    with scripted(chromium, [ASSETS / "web" / "changes.mjs"], MADE) as page:
        yield page


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("[c('a', { value: '1' })]", "[c('a', { value: '1' })]", []),
        ("[c('a', { value: '1' })]", "[c('a', { value: '2' })]", [["a", {"value": "2"}]]),
        ("[c('a', { data: [1] })]", "[c('a', { data: [1, 2] })]", [["a", {"data": [1, 2]}]]),
        ("[c('a', { children: 'x' }, 'P')]", "[c('a', { children: 'y' }, 'P')]", [["a", {"children": "y"}]]),
        (
            "[c('a', { children: [c('b', { value: '1' })] }, 'Div')]",
            "[c('a', { children: [c('b', { value: '2' })] }, 'Div')]",
            [["b", {"value": "2"}]],
        ),
    ],
)
def test_the_same_components_change_their_properties(script: Page, before: str, after: str, found: object) -> None:
    given = f"headscape.changes({before}, {after}, () => ({{}})).map(({{ id, props }}) => [id, props])"
    assert script.evaluate(given) == found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[c('a', {})]", "[c('b', {})]"),
        ("[c('a', {})]", "[c('a', {}), c('b', {})]"),
        ("[c('a', {}, 'Select')]", "[c('a', {}, 'Tabs')]"),
        ("[c('a', { value: '1' })]", "[c('a', {})]"),
        ("[c(undefined, { value: '1' })]", "[c(undefined, { value: '2' })]"),
        ("[c({ later: 'x' }, {})]", "[c({ later: 'x' }, {})]"),
    ],
)
def test_other_components_take_the_place_of_the_whole_part(script: Page, before: str, after: str) -> None:
    assert script.evaluate(f"headscape.changes({before}, {after}, () => ({{}}))") is None


def test_a_control_that_a_reader_has_changed_goes_back_to_what_the_page_says(script: Page) -> None:
    asked = "headscape.changes([c('a', { value: 20 })], [c('a', { value: 20 })], () => ({ value: 99 }))[0].props"
    assert script.evaluate(asked) == {"value": 20}

"""What a reader does becomes a link without asking the server: the script that says which, alone in a browser."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from dashboard.web.state import browser_table
from tests.scripts import ASSETS


@pytest.fixture
def address(chromium: Browser) -> Iterator[Page]:
    """A page with something in its address bar, and what Dash puts beside the callbacks."""
    page = chromium.new_page()
    table = f'<script type="application/json" id="link-table">{json.dumps(browser_table())}</script>'
    page.route("**/*", lambda route: route.fulfill(body=f"<!doctype html>{table}", content_type="text/html"))
    page.goto("http://headscape.test/head?layer=1&head=2&view=pca-raw-2d&where=kind%3Aword&at=0.5,0.5,2,0,0")
    page.evaluate("window.dash_clientside = { no_update: 'stay', callback_context: { triggered: [] } }")
    page.add_script_tag(path=ASSETS / "web" / "address.mjs")
    yield page
    page.close()


@pytest.mark.parametrize(
    ("choice", "search"),
    [
        (
            "'colour', 'kind', {}",
            "?layer=1&head=2&view=pca-raw-2d&where=kind%3Aword&at=0.5,0.5,2,0,0&colour=kind",
        ),
        ("'layer', '3', { layer: 1 }", "?layer=3&head=2&view=pca-raw-2d&where=kind%3Aword"),
        ("'view', 'tsne', { view: 'pca-raw-2d', defaults: { view: 'tsne' } }", "?layer=1&head=2&where=kind%3Aword"),
        ("'where', '', { where: 'kind:word' }", "?layer=1&head=2&view=pca-raw-2d&at=0.5,0.5,2,0,0"),
        ("'where', null, { where: 'kind:word' }", "?layer=1&head=2&view=pca-raw-2d&at=0.5,0.5,2,0,0"),
        ("'layer', '1', { layer: 1 }", "stay"),
        ("'colour', null, {}", "stay"),
        ("'layer', '1', null", "stay"),
    ],
)
def test_a_choice_changes_its_field_of_the_address_and_no_other(address: Page, choice: str, search: str) -> None:
    assert address.evaluate(f"() => headscape.address.choose({choice})") == search


BEFORE = "{ q: '', where: '', defaults: { q: null }, link: '?layer=1' }"


@pytest.mark.parametrize(
    ("choice", "search"),
    [
        ("choose('q', '', BEFORE)", "?layer=1&where=kind%3Aword"),
        ("choose('q', 'film', BEFORE)", "stay"),
        ("filtered(BEFORE)", "?layer=1&where=kind%3Aword%3Blabel%3A&q=film"),
    ],
)
def test_a_choice_made_before_the_page_followed_the_one_before_it_is_not_lost(
    address: Page, choice: str, search: str
) -> None:
    address.evaluate("""() => {
      history.replaceState(null, '', '/?layer=1&where=kind%3Aword&q=film');
      window.dash_clientside.callback_context.triggered = [{ prop_id: '{"add":"condition"}.value', value: "label" }];
    }""")
    assert address.evaluate(f"() => headscape.address.{choice.replace('BEFORE', BEFORE)}") == search


def chosen(address: Page, value: str, shown: str) -> str:
    """What a control of the search makes of the link, with which it stands at this value."""
    address.evaluate(
        """(value) => {
      const prop_id = '{"choose":"q","by":"picture"}.value';
      window.dash_clientside.callback_context.triggered = [{ prop_id, value }];
    }""",
        value,
    )
    return str(address.evaluate(f"() => headscape.address.chosen({shown})"))


def test_a_control_that_its_page_has_set_chooses_nothing_though_the_reader_has_gone_on(address: Page) -> None:
    address.evaluate("() => history.replaceState(null, '', '/?layer=1&q=film')")
    assert chosen(address, "actor", "{ q: 'actor', link: '?layer=1&q=actor' }") == "stay"


def test_a_reader_may_choose_again_what_the_page_still_shows(address: Page) -> None:
    address.evaluate("() => history.replaceState(null, '', '/?layer=1')")
    assert chosen(address, "film", BEFORE) == "?layer=1&q=film"
    address.evaluate("() => history.replaceState(null, '', '/?layer=1&q=film')")
    assert chosen(address, "", BEFORE) == "?layer=1"


def test_what_the_page_corrected_in_a_link_is_chosen_by_nobody(address: Page) -> None:
    address.evaluate("() => history.replaceState(null, '', '/?view=bogus')")
    shown = "{ view: 'pca-raw-2d', link: '?view=bogus' }"
    assert address.evaluate(f"() => headscape.address.choose('view', 'pca-raw-2d', {shown})") == "stay"


def test_another_text_is_no_pair_any_more(address: Page) -> None:
    address.evaluate("() => history.replaceState(null, '', '/sentence?text=a&second=b&pair=ab&words=1')")
    assert address.evaluate("() => headscape.address.choose('text', '', { text: 'a' })") == "?words=1"


@pytest.mark.parametrize(
    ("sent", "link"),
    [
        ("opened", "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword"),
        ("left", "/?view=pca-raw-2d&where=kind%3Aword"),
    ],
)
def test_going_to_another_picture_keeps_what_was_chosen(address: Page, sent: str, link: str) -> None:
    assert (
        address.evaluate(
            """(sent) => {
      window.dash_clientside.callback_context.triggered = [{ prop_id: `points.${sent}` }];
      return headscape.address.go({ panel: 0 }, { panel: 0 }, { panels: [{ name: "L4 H5" }], shape: [6, 12] });
    }""",
            sent,
        )
        == link
    )


@pytest.mark.parametrize(
    ("search", "step", "link"),
    [
        ("?layer=1&head=2", "{ rows: 1, columns: 0 }", "/head?layer=2&head=2"),
        ("?layer=1", "{ rows: 0, columns: 1 }", "/head?layer=1&head=1"),
        ("?layer=1&head=2", "{ rows: 0, columns: 1 }", None),
        ("?layer=1&head=7", "{ rows: -1, columns: 0 }", "/head?layer=0&head=2"),
        ("?layer=x&head=2", "{ rows: 0, columns: -1 }", "/head?layer=1&head=1"),
        ("", "{ rows: -1, columns: 0 }", None),
    ],
)
def test_a_neighbour_is_one_of_the_head_in_the_link_where_it_is_a_head(
    address: Page, search: str, step: str, link: str | None
) -> None:
    """The picture may still be of the head before: arrow keys are faster than it."""
    address.evaluate("(search) => history.replaceState(null, '', '/head' + search)", search)
    picture = "{ panels: [{ name: 'L1 H2' }], shape: [4, 3] }"
    assert address.evaluate(f"() => headscape.address.neighbour({picture}, {step})") == link


@pytest.mark.parametrize(
    ("sent", "link"),
    [
        ("points.opened", "/features?q=a&point=L01.mixed"),
        ("points.left", "/features?q=a"),
    ],
)
def test_a_picture_with_a_page_of_its_own_is_opened_and_left_there(address: Page, sent: str, link: str) -> None:
    address.evaluate("() => history.replaceState(null, '', '/features?point=embedding&at=0.5,0.5,2,0,0&q=a')")
    go = """(sent) => {
      window.dash_clientside.callback_context.triggered = [{ prop_id: sent }];
      const picture = { page: "/features", dropped_fields: ["point"], panels: [{ name: "L1 mixed", fields: { point: "L01.mixed" } }] };
      return headscape.address.go({ panel: 0 }, { panel: 0 }, picture);
    }"""
    assert address.evaluate(go, sent) == link


def test_where_a_reader_stops_in_a_sequence_is_in_the_link_and_the_camera_stays(address: Page) -> None:
    address.evaluate("() => history.replaceState(null, '', '/features?point=embedding&at=0.5,0.5,2,0,0')")
    picture = "{ sequence: [{ fields: { point: 'embedding' } }, { fields: { point: 'L01.mixed' } }] }"
    arrived = f"headscape.address.arrived({{ panel: 1 }}, {picture})"
    assert address.evaluate(arrived) == "?point=L01.mixed&at=0.5,0.5,2,0,0"


@pytest.mark.parametrize(
    ("point", "link"),
    [
        ("{ customdata: 'L4 H5', y: 0.5 }", "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword"),
        ("{ x: 'L0 H1', y: 'L4 H5' }", "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword"),
        ("{ x: 3, y: 0.5 }", "stay"),
    ],
)
def test_a_click_in_a_chart_opens_the_head_it_names(address: Page, point: str, link: str) -> None:
    opened = """(point) => {
      window.dash_clientside.callback_context.triggered = [{ prop_id: '{"opens":"map"}.clickData', value: { points: [point] } }];
      return headscape.address.opened();
    }"""
    assert address.evaluate(f"() => ({opened})({point})") == link


def test_a_chosen_point_and_a_region_become_a_link(address: Page) -> None:
    fields = "?layer=1&head=2&view=pca-raw-2d&where=kind%3Aword&at=0.5,0.5,2,0,0"
    assert address.evaluate("headscape.address.pick({ token: 7, role: 'key' })") == f"{fields}&token=7&role=key"
    assert address.evaluate("headscape.address.pick({ token: -1, role: 'key' })") == fields
    assert address.evaluate("headscape.address.lasso({ lasso: 'v,1,2' })") == f"{fields}&lasso=v,1,2"


def test_a_chosen_token_and_a_region_of_other_pictures_have_names_of_their_own(address: Page) -> None:
    fields = "?layer=1&head=2&view=pca-raw-2d&where=kind%3Aword&at=0.5,0.5,2,0,0"
    names = "{ link_fields: { token: 'ftoken', lasso: 'flasso' } }"
    picked = address.evaluate(f"headscape.address.pick({{ token: 7, role: 'token' }}, {names})")
    assert picked == f"{fields}&ftoken=7"
    assert address.evaluate(f"headscape.address.lasso({{ lasso: 'v,1' }}, {names})") == f"{fields}&flasso=v,1"

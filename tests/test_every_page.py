"""Every page, opened once: nothing moves while it loads and is used, axe finds nothing serious, a narrow window cuts nothing off."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from dashboard.compare.two_models import ModelPair
from tests.accessibility import is_accessible, serious
from tests.browser import EMPTY, Open, choose, followed, forget, turned_to, until
from tests.fake_sentence import Show, token
from tests.standing import SETTLED, settled, shifted, standing

WIDE, MIDDLE, NARROW = 1440, 900, 390


@dataclass(frozen=True)
class Journey:
    """A page and a reader's actions on it, in this order. Links begin behind the address of the server."""

    link: str
    #: Kinds of marks: the pointer is moved to the first of each; those of `clicked` are clicked, all of them twice:
    #: the second click takes the selection back, or makes another. Marks that several pages share are hovered on one page.
    hovered: tuple[str, ...]
    clicked: tuple[str, ...] = ()
    #: Texts that are searched one after the other.
    sought: tuple[str, ...] = ()
    #: The filter that is added.
    filtered: str = ""
    #: Links of the same page that show each kind of its controls and contents; axe looks at them in light and in dark.
    looked_at: tuple[str, ...] = ()
    #: Whether the last link is shown in a narrow window, the parts that are shown whole there, and the charts of full width.
    is_narrowed: bool = False
    whole: tuple[str, ...] = ()
    charts: tuple[str, ...] = ()
    #: The fixture of a server whose store has what the page needs: words, a second model.
    server: str = "tiny_server"


JOURNEYS = (
    Journey(
        "",
        (".card a", ".label-table a", ".layer-bars .part", ".findings a", ".info", ".term"),
        looked_at=("",),
        is_narrowed=True,
    ),
    Journey(
        "heads",
        (".frame", ".tools button", ".legend .chip", ".info"),
        sought=("film", "platypus", ""),
        filtered="position",
        looked_at=(
            "heads?arranged=entropy&colour=entropy&q=film&where=position:1..9;label:positive&labels=1&size=norm",
        ),
        is_narrowed=True,
        whole=(".points",),
    ),
    Journey(
        "head?layer=1&head=0",
        (".frame", ".neighbours a", ".of-sentence"),
        clicked=(".frame",),
        sought=("film", ""),
        looked_at=("head?layer=1&head=0&tab=statistics", "head?layer=1&head=0&evidence=next"),
        is_narrowed=True,
        whole=(".rows.roles", ".role-evidence"),
        server="roles_server",
    ),
    Journey(
        "head?layer=1&head=0&token=3&colour=kind&where=position:1..7",
        (".piece", ".legend button", ".filter"),
        clicked=(".legend button",),
        looked_at=("head?token=5&marks=1-2&lines=sentence&labels=1&colour=norm&where=position:1..4;kind:word",),
        is_narrowed=True,
        server="roles_server",
    ),
    Journey(
        "statistics?where=position:2..7",
        (".filter", ".nsewdrag", ".saves button", ".info"),
        filtered="token type",
        looked_at=("statistics?where=label:positive;position:1..9&sort=entropy&values=difference&named=L1",),
        is_narrowed=True,
        whole=(".scroll:has(> .rows.heads)",),
    ),
    Journey(
        "map?paint=label",
        (".nsewdrag",),
        clicked=(".nsewdrag",),
        looked_at=("map?paint=label",),
        is_narrowed=True,
        charts=("#head-map .nsewdrag", "#matrix .nsewdrag"),
    ),
    Journey(
        "relations",
        (".nsewdrag", ".rows a"),
        looked_at=(
            "sentence?sentence=1",
            "relations?relation=ADJ+->+NOUN&example=0:0-1;1:0-1&examples=chosen&layer=1",
        ),
        is_narrowed=True,
        server="bank_server",
    ),
    Journey(
        "features",
        (".frame",),
        sought=("film", ""),
        filtered="token type",
        looked_at=("features?where=position:1..9;kind:word",),
        is_narrowed=True,
    ),
    Journey(
        "features?point=embedding",
        (".frame", ".legend .chip"),
        clicked=(".frame",),
        looked_at=("features?point=L00.mixed&ftoken=3&fcolour=position&labels=1",),
        is_narrowed=True,
        whole=(".player output",),
    ),
    Journey(
        "sentence",
        (".head-view .query .token", ".head-view .key .token", ".swatches .head"),
        clicked=(".head-view .query .token", ".head-view .key .token"),
        looked_at=("sentence?sentence=3&layer=1&queries=2&toward=4&find=the&by=to_sep&hide=1&without=0-1",),
        is_narrowed=True,
        whole=(".tokens .token", ".one-model"),
    ),
    Journey("sentence?show=model", (".model-view canvas",)),
    Journey("sentence?show=matrix", (".matrix-view canvas",), clicked=(".matrix-view canvas",)),
    Journey(
        "sentence?show=neuron&queries=2",
        (".neuron-queries .token", ".strip", ".neurons tr"),
        clicked=(".neuron-queries .token",),
    ),
    Journey(
        "compare?model={own}&other={other}",
        (".nsewdrag", ".frame", ".rows a"),
        looked_at=("compare?model={own}&other={other}",),
        is_narrowed=True,
        whole=(".rows.changes",),
        server="three_server",
    ),
    Journey("models", (".nsewdrag", ".rows a"), server="three_server"),
    Journey("store", (".rows a",), looked_at=("store",), is_narrowed=True, whole=(".wide",)),
    Journey("notes", ("a.plain",)),
    Journey("server", (".rows tr",)),
)
#: Links that are loaded in a narrow window: one for each arrangement of the parts of a page.
LOADED_NARROW = ("head?layer=1&head=0", "statistics?where=position:2..7", "features", "sentence")

#: Whether the first control of the page is on top where it stands, once it is scrolled to.
REACHED = """(() => {
  const controls = [...document.querySelectorAll("main :is(input, button, a[href])")];
  const control = controls.find((one) => one.checkVisibility() && one.offsetWidth > 20);
  if (!control) return false;
  control.scrollIntoView({ block: "center" });
  const { left, top, width, height } = control.getBoundingClientRect();
  return control.contains(document.elementFromPoint(left + width / 2, top + height / 2));
})()"""
#: Whether the page needs no scrolling sideways.
NO_WIDER = "document.documentElement.scrollWidth <= innerWidth"
#: Number of elements that are narrower than their content.
CUT = (
    "(parts) => [...document.querySelectorAll(parts)].filter((part) => part.scrollWidth > part.clientWidth + 1).length"
)

#: Fields and buttons that are partly hidden below the lower edge of an element around them.
CUT_BELOW = """(() => {
  const isCut = (control) => {
    const { top, bottom, width } = control.getBoundingClientRect();
    for (let place = control.parentElement; width && place !== document.body; place = place.parentElement) {
      const edge = place.getBoundingClientRect().bottom;
      if (getComputedStyle(place).overflowY === "hidden" && top < edge - 1 && bottom > edge + 0.5) return true;
    }
    return false;
  };
  return [...document.querySelectorAll("main :is(select, input, button)")].filter(isCut).map(({ outerHTML }) => outerHTML);
})()"""

#: Gives every legend as little room as it has on any page.
SQUEEZED = "document.querySelectorAll('.legend').forEach((legend) => (legend.style.maxWidth = '300px'))"


def middle(mark: Locator) -> tuple[float, float]:
    box = mark.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def marks(page: Page, kinds: tuple[str, ...]) -> list[tuple[str, tuple[float, float]]]:
    """The places of the visible marks, one of each kind."""
    height = page.viewport_size["height"] if page.viewport_size else 0
    first = [(kind, page.locator(f"{kind}:visible").first) for kind in kinds]
    places = [(kind, middle(mark)) for kind, mark in first if mark.count()]
    return [(kind, place) for kind, place in places if place[1] < height]


@pytest.fixture
def address_of(request: pytest.FixtureRequest) -> Callable[[Journey, str], str]:
    """A function that gives the address of a link of a journey, at a server whose store has what the page shows."""

    def address_of(journey: Journey, link: str) -> str:
        if "{own}" in link:
            alike: ModelPair = request.getfixturevalue("alike")
            link = link.format(own=alike.own.name, other=alike.other.name)
        return f"{request.getfixturevalue(journey.server)}/{link}"

    return address_of


def loaded(page: Page, journey: Journey) -> None:
    """Nothing moves while the page loads, and while the pointer is over its marks."""
    settled(page)
    assert shifted(page) == [], "loading"
    for kind, place in marks(page, journey.hovered):
        with standing(page, f"hovering {kind}"):
            page.mouse.move(*place, steps=2)


def used(page: Page, journey: Journey) -> None:
    """Nothing moves where its marks are clicked, a search is typed and a filter added."""
    for kind, place in 2 * marks(page, journey.clicked):
        page.mouse.move(*place)
        with standing(page, f"clicking {kind}"):
            page.mouse.click(*place)
    box = page.get_by_role("textbox", name="Search", exact=True)
    for text in journey.sought:
        box.fill(text)
        with standing(page, f"searching “{text}”"):
            box.press("Enter")
    if journey.filtered:
        with standing(page, "adding a filter"):
            choose(page, "Filter", journey.filtered)


def narrow(page: Page, journey: Journey) -> None:
    """In a window as narrow as a telephone, the page needs no scrolling sideways, can be clicked, and cuts nothing off."""
    for parts in journey.whole:
        expect(page.locator(parts).first).to_be_visible()
    for width in (900, 360):
        page.set_viewport_size({"width": width, "height": 740})
        until(page, NO_WIDER)
    until(page, REACHED)
    for parts in journey.whole:
        until(page, f"({CUT})({parts!r}) === 0")
    for plot in journey.charts:
        until(page, f"document.querySelector('{plot}').getBoundingClientRect().width >= 250")


@pytest.fixture(scope="module")
def still(open_shared: Open) -> Open:
    """A function that loads a link in a window of a width, without animations, as for a new reader."""
    page = open_shared(EMPTY, motion="reduce")

    def still(url: str, width: int = WIDE) -> Page:
        page.set_viewport_size({"width": width, "height": 900})
        page.mouse.move(0, 0)
        forget(page)
        page.goto(url)
        return page

    return still


#: Links of journeys with the mark `slow`: another journey of the same page has no mark.
SECOND = (
    "head?layer=1&head=0&token=3&colour=kind&where=position:1..7",
    "features?point=embedding",
    "sentence?show=model",
    "sentence?show=matrix",
    "sentence?show=neuron&queries=2",
)


@pytest.mark.parametrize(
    "journey",
    [
        pytest.param(journey, id=journey.link, marks=[pytest.mark.slow] if journey.link in SECOND else [])
        for journey in JOURNEYS
    ],
)
def test_a_page_stands_still_is_accessible_in_light_and_needs_no_scrolling_sideways(
    still: Open, address_of: Callable[[Journey, str], str], journey: Journey
) -> None:
    page = still(address_of(journey, journey.link))
    loaded(page, journey)
    used(page, journey)
    if journey.looked_at:
        assert serious(page, marks=journey.link.startswith("map")) == []
    page.set_viewport_size({"width": NARROW, "height": 740})
    until(page, NO_WIDER)
    assert page.evaluate(CUT_BELOW) == []
    page.set_viewport_size({"width": WIDE, "height": 740})
    page.evaluate(SQUEEZED)
    assert page.evaluate(f"({CUT})('.legend')") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "journey", [pytest.param(journey, id=journey.link) for journey in JOURNEYS if journey.is_narrowed]
)
def test_every_kind_of_control_of_a_page_is_accessible_in_light_and_dark_and_nothing_is_cut_off_in_a_narrow_window(
    still: Open, address_of: Callable[[Journey, str], str], journey: Journey
) -> None:
    page = still(address_of(journey, journey.link))
    settled(page)
    for link in journey.looked_at:
        if link != journey.link:
            turned_to(page, address_of(journey, link))
            until(page, SETTLED)
        is_accessible(page, marks=journey.link.startswith("map"))
    if journey.is_narrowed:
        narrow(page, journey)


@pytest.mark.slow
@pytest.mark.parametrize("width", [NARROW, MIDDLE])
@pytest.mark.parametrize("link", LOADED_NARROW)
def test_nothing_moves_while_a_narrow_window_loads(
    still: Open, address_of: Callable[[Journey, str], str], link: str, width: int
) -> None:
    (journey,) = (journey for journey in JOURNEYS if journey.link == link)
    loaded(still(address_of(journey, link), width), journey)


def test_a_key_that_gets_no_large_weight_leaves_the_head_view_where_it_is(show: Show) -> None:
    """A remark above the lines once moved the key away from the pointer, which ended the hover, which took the remark back."""
    for width in (NARROW, WIDE):
        page = show(least=0.99)
        page.set_viewport_size({"width": width, "height": 900})
        with standing(page, "hovering a key without a line"):
            token(page, "key", 4).hover()
        assert "No weight is 0.99 or more here" in page.locator(".sentence-views .note").inner_text()


def test_a_shorter_tab_leaves_the_window_scrolled_as_it_is(open_page: Open, tiny_server: str) -> None:
    page = open_page(f"{tiny_server}/head?layer=1&head=0&tab=statistics", motion="reduce", width=390)
    settled(page)
    tabs = page.get_by_role("tablist")
    tabs.evaluate("(list) => scrollTo(0, list.getBoundingClientRect().top + scrollY - 64)")
    settled(page)
    before = tabs.bounding_box()
    with followed(page):
        page.get_by_role("tab", name="Notes").click()
    settled(page)
    assert tabs.bounding_box() == before

"""The pure parts of the canvas, run in a browser against plain definitions. No server: the files alone."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

ASSETS = Path(__file__).parents[1] / "dashboard" / "assets"
PURE = [
    "decode",
    "camera",
    "layout",
    "grid_index",
    "lasso",
    "labels",
    "marks",
    "loading",
    "camera_address",
    "player",
    "paragraphs",
]

#: A message as the server sends it: letters, numbers of four bytes, values.
MESSAGE = """const message = (letters, numbers, values) => {
  const body = new Uint8Array(values.buffer || values);
  const bytes = new Uint8Array(4 + 4 * numbers.length + body.length);
  bytes.set([...letters].map((letter) => letter.charCodeAt(0)));
  numbers.forEach((number, i) => new DataView(bytes.buffer).setUint32(4 + 4 * i, number, true));
  bytes.set(body, 4 + 4 * numbers.length);
  return bytes.buffer;
};
const refused = (act) => { try { act(); } catch (error) { return error.message; } };
"""


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page()
    for name in PURE:
        page.add_script_tag(path=ASSETS / "points" / f"{name}.js")
    page.add_script_tag(content=MESSAGE)
    yield page
    page.close()


@pytest.mark.parametrize("roles", [1, 2])
@pytest.mark.parametrize("components", [2, 3])
@pytest.mark.parametrize("kind", ["Uint8Array", "Uint16Array"])
def test_points_are_read_as_they_were_sent(page: Page, roles: int, components: int, kind: str) -> None:
    assert page.evaluate(f"""() => {{
      const sent = {kind}.from({{ length: 3 * {roles} * {components} }}, (_, i) => 7 * i);
      const read = headscape.decode(message("HSP3", [1, 3, {roles}, {components}, sent.BYTES_PER_ELEMENT], sent));
      const named = read.panels === 1 && read.tokens === 3 && read.roles === {roles} && read.components === {components};
      return named && read.most === 256 ** sent.BYTES_PER_ELEMENT - 1 && String(read.places) === String(sent);
    }}""")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            'headscape.decode(message("HSP3", [1, 9, 2, 2, 2], [1, 2, 3]))',
            "The points were cut on their way. Reload the page.",
        ),
        ('headscape.decode(message("HSP2", [1, 9, 2, 2, 2], []))', "These are no points. Reload the page."),
        ("headscape.decode(new ArrayBuffer(2))", "These are no points. Reload the page."),
        (
            'headscape.decode(message("HSP3", [1, 1, 2, 4, 2], []))',
            "These points are of another version. Reload the page.",
        ),
        (
            'headscape.decode.colours(message("HSC2", [1, 2, 2], [0]))',
            "The colours were cut on their way. Reload the page.",
        ),
        (
            'headscape.decode.mask(message("HSM2", [1, 5, 2], [0]))',
            "The selected points were cut on their way. Reload the page.",
        ),
    ],
)
def test_what_is_not_whole_is_refused_in_a_sentence(page: Page, sent: str, said: str) -> None:
    assert page.evaluate(f"() => refused(() => {sent})") == said


def test_bits_of_a_mask_stand_in_their_order(page: Page) -> None:
    assert page.evaluate("""() => {
      const { values, selected } = headscape.decode.mask(message("HSM2", [1, 5, 2], [0b10100000, 0b01000000]));
      return [[...values], selected];
    }""") == [[1, 0, 1, 0, 0, 0, 0, 0, 0, 1], 3]


def test_colours_that_are_the_same_in_every_panel_are_repeated(page: Page) -> None:
    assert page.evaluate("""() => {
      const read = headscape.decode.colours(message("HSC2", [1, 2, 2], [1, 2, 3, 255]));
      return [...headscape.decode.spread(read, 2)];
    }""") == [1, 2, 3, 255, 1, 2, 3, 255]


def test_the_nearest_point_is_the_one_brute_force_finds(page: Page) -> None:
    assert page.evaluate("""() => {
      const places = Uint16Array.from({ length: 4000 }, () => Math.floor(Math.random() * 65536));
      const index = headscape.gridIndex.build(places, 65535);
      for (let trial = 0; trial < 200; trial++) {
        const [x, y, radius] = [Math.random(), Math.random(), 0.001 + 0.05 * Math.random()];
        let [best, found] = [radius, -1];
        for (let i = 0; i < 2000; i++) {
          const distance = Math.hypot(places[2 * i] / 65535 - x, places[2 * i + 1] / 65535 - y);
          if (distance < best) [best, found] = [distance, i];
        }
        if (headscape.gridIndex.nearest(index, x, y, radius) !== found) return false;
      }
      return true;
    }""")


def test_the_next_point_to_the_right_is_the_one_brute_force_finds(page: Page) -> None:
    assert page.evaluate("""() => {
      const places = Uint16Array.from({ length: 600 }, () => Math.floor(Math.random() * 65536));
      const index = headscape.gridIndex.build(places, 65535);
      for (let from = 0; from < 300; from++) {
        let [best, found] = [Infinity, -1];
        for (let i = 0; i < 300; i++) {
          const [dx, dy] = [places[2 * i] - places[2 * from], places[2 * i + 1] - places[2 * from + 1]];
          if (dx > 0 && Math.abs(dy) <= dx && Math.hypot(dx, dy) < best) [best, found] = [Math.hypot(dx, dy), i];
        }
        if (headscape.gridIndex.towards(index, from, 1, 0) !== found) return false;
      }
      return true;
    }""")


def test_zooming_keeps_what_is_under_the_pointer(page: Page) -> None:
    moved = page.evaluate("""() => {
      let camera = headscape.camera.start();
      const before = headscape.camera.toData(camera, 0.3, 0.6);
      for (const factor of [2, 1.7, 3]) camera = headscape.camera.zoomAt(camera, factor, 0.3, 0.6);
      const after = headscape.camera.toData(camera, 0.3, 0.6);
      return Math.hypot(before[0] - after[0], before[1] - after[1]);
    }""")
    assert moved < 1e-9


def test_screen_and_data_places_are_inverse(page: Page) -> None:
    assert (
        page.evaluate("""() => {
      const camera = { x: 0.4, y: 0.7, zoom: 5 };
      const [x, y] = headscape.camera.toScreen(camera, ...headscape.camera.toData(camera, 0.2, 0.9));
      return Math.abs(x - 0.2) + Math.abs(y - 0.9);
    }""")
        < 1e-9
    )


@pytest.mark.parametrize(
    ("yaw", "pitch", "place", "seen"),
    [
        (0, 0, [0.2, 0.9, 0.4], [0.2, 0.9]),
        (90, 0, [0.5, 0.9, 0.8], [0.8, 0.9]),
        (0, 90, [0.2, 0.5, 0.8], [0.2, 0.2]),
        (180, 0, [0.2, 0.9, 0.4], [0.8, 0.9]),
    ],
)
def test_a_turned_cube_is_seen_from_its_side(
    page: Page, yaw: int, pitch: int, place: list[float], seen: list[float]
) -> None:
    camera = {"x": 0.5, "y": 0.5, "zoom": 1, "yaw": yaw, "pitch": pitch}
    assert page.evaluate(
        "([camera, place]) => headscape.camera.square(camera, place)", [camera, place]
    ) == pytest.approx(seen)


def test_a_flattened_cube_is_where_each_of_its_points_is_seen(page: Page) -> None:
    apart = page.evaluate("""() => {
      const camera = { x: 0.5, y: 0.5, zoom: 1, yaw: 37, pitch: -21 };
      const places = Uint16Array.from({ length: 300 }, () => Math.floor(Math.random() * 65536));
      const flat = headscape.gridIndex.flatten({ places, most: 65535 }, camera);
      const errors = Array.from({ length: 100 }, (_, i) => {
        const seen = headscape.camera.square(camera, [0, 1, 2].map((c) => places[3 * i + c] / 65535)).map(headscape.gridIndex.shrink);
        return Math.max(Math.abs(seen[0] - flat[2 * i] / 65535), Math.abs(seen[1] - flat[2 * i + 1] / 65535));
      });
      return Math.max(...errors);
    }""")
    assert apart < 2 / 65535


def test_a_camera_comes_back_from_its_link(page: Page) -> None:
    assert page.evaluate("""() => {
      const camera = { x: 0.4123, y: 0.6, zoom: 3.25, yaw: 40, pitch: -10 };
      return headscape.camera.parse(headscape.camera.format(camera, 3), 3);
    }""") == {"x": 0.4123, "y": 0.6, "zoom": 3.25, "yaw": 40, "pitch": -10}


@pytest.mark.parametrize("text", ["", "1,2", "a,b,c,d,e", "NaN,0,1,0,0"])
def test_a_link_of_nonsense_looks_at_all(page: Page, text: str) -> None:
    assert page.evaluate("(text) => headscape.camera.format(headscape.camera.parse(text, 2), 2)", text) == ""


def test_the_camera_in_the_address_leaves_the_other_fields_as_they_are(page: Page) -> None:
    said = page.evaluate("() => headscape.cameraAddress.withCamera('?where=a%3Ab&at=1,2&q=x+y', '0.5,0.5,2,0,0')")
    assert said == "?where=a%3Ab&q=x+y&at=0.5,0.5,2,0,0"


def test_a_glide_ends_where_it_should(page: Page) -> None:
    assert page.evaluate("""() => {
      const [from, to] = [{ x: 0.5, y: 0.5, zoom: 1, yaw: 0, pitch: 0 }, { x: 0.2, y: 0.9, zoom: 8, yaw: 90, pitch: 10 }];
      return [headscape.camera.between(from, to, 0), headscape.camera.between(from, to, 1)];
    }""") == [
        {"x": 0.5, "y": 0.5, "zoom": 1, "yaw": 0, "pitch": 0},
        {"x": pytest.approx(0.2), "y": pytest.approx(0.9), "zoom": 8, "yaw": 90, "pitch": 10},
    ]


def test_the_panel_under_a_place_is_the_one_that_shows_it(page: Page) -> None:
    assert page.evaluate("""() => {
      const layout = headscape.layout.fit({ count: 144, columns: 12, dimensions: 2, width: 900, height: 900 });
      const camera = { x: 0.3, y: 0.6, zoom: 2.5, yaw: 0, pitch: 0 };
      return Array.from({ length: 144 }, (_, panel) => panel).every((panel) => {
        const pixel = headscape.layout.toPixel(layout, camera, panel, 0.3, 0.8);
        const [x, y] = headscape.layout.fromPixel(layout, camera, panel, ...pixel);
        return headscape.layout.panelAt(layout, camera, ...pixel) === panel && Math.hypot(x - 0.3, y - 0.8) < 1e-9;
      });
    }""")


def test_panels_with_names_and_empty_places_are_found_where_they_are_drawn(page: Page) -> None:
    assert page.evaluate("""() => {
      const slots = [0, 4, 1, 5, 9, 2, 6, 10];
      const layout = headscape.layout.fit({ count: 8, columns: 4, slots, titled: true, dimensions: 2, width: 900, height: 500 });
      const camera = { x: 0.4, y: 0.6, zoom: 1.5, yaw: 0, pitch: 0 };
      const found = slots.map((_, panel) => headscape.layout.panelAt(layout, camera, ...headscape.layout.toPixel(layout, camera, panel, 0.2, 0.9)));
      const [left, top, side] = headscape.layout.rectangle(layout, camera, 4);
      return [found, headscape.layout.panelAt(layout, camera, left - 0.5 * side, top + 0.5 * side)];
    }""") == [[0, 1, 2, 3, 4, 5, 6, 7], -1]


def test_tokens_on_their_way_are_between_both_points(page: Page) -> None:
    way = "(part) => [...headscape.player.mix(Uint16Array.of(0, 100, 65535), Uint16Array.of(10, 0, 65535), part)]"
    assert [page.evaluate(way, part) for part in (0, 0.5, 1)] == [[0, 100, 65535], [5, 50, 65535], [10, 0, 65535]]


@pytest.mark.parametrize(
    ("other", "one_way"),
    [
        ("{ points: 'b', sequence: [{ points: 'a' }, { points: 'b' }] }", True),
        ("{ points: 'b' }", False),
        ("null", False),
    ],
)
def test_there_is_a_way_only_between_pictures_of_one_sequence(page: Page, other: str, one_way: bool) -> None:
    here = "{ points: 'a', sequence: [{ points: 'a' }, { points: 'b' }] }"
    assert page.evaluate(f"headscape.player.isOfOneWay({here}, {other})") is one_way


def test_a_region_keeps_its_corners_and_at_most_sixty_of_them(page: Page) -> None:
    kept = page.evaluate("""() => {
      const side = (from, to) => Array.from({ length: 100 }, (_, i) => [0, 1].map((c) => from[c] + ((to[c] - from[c]) * i) / 100));
      const corners = [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9], [0.1, 0.9]];
      const outline = corners.flatMap((corner, i) => side(corner, corners[(i + 1) % 4]));
      const simple = headscape.lasso.simplify(outline);
      return [simple.length, corners.every((corner) => simple.some((one) => String(one) === String(corner)))];
    }""")
    assert kept[0] <= 60
    assert kept[1]


def test_a_region_comes_back_from_its_link(page: Page) -> None:
    assert page.evaluate("""() => {
      const camera = { x: 0.5, y: 0.5, zoom: 1, yaw: 30, pitch: -20 };
      const text = headscape.lasso.format("pca-raw-3d,3,7", camera, [[0.1, 0.2], [1.1, 0.2], [0.5, 0.9]]);
      return [text, headscape.lasso.parse(text, "pca-raw-3d,3,7").outline];
    }""") == ["pca-raw-3d,3,7,30,-20,100,200,1100,200,500,900", [[0.1, 0.2], [1.1, 0.2], [0.5, 0.9]]]


@pytest.mark.parametrize(
    ("lasso", "here"),
    [
        ("v,3,7,30,-20,0,0,9,0,9,9", True),
        ("v,3,7,31,-20,0,0,9,0,9,9", False),
        ("v,3,8,30,-20,0,0,9,0,9,9", False),
        ("w,3,7,30,-20,0,0,9,0,9,9", False),
        ("v,3,7,30,-20,0,0,9", False),
        ("<script>", False),
    ],
)
def test_a_region_is_drawn_only_where_it_was(page: Page, lasso: str, here: bool) -> None:
    camera = {"x": 0.5, "y": 0.5, "zoom": 1, "yaw": 30, "pitch": -20}
    drawn = page.evaluate(
        "([text, where, camera]) => headscape.lasso.outlineHere(text, where, camera)", [lasso, "v,3,7", camera]
    )
    assert (drawn is not None) is here


def test_labels_never_overlap_and_the_first_come_first(page: Page) -> None:
    chosen = page.evaluate("""() => {
      const candidates = Array.from({ length: 500 }, (_, i) => ({ px: Math.random() * 400, py: Math.random() * 400, text: `word${i}`, i }));
      const sheet = headscape.labels.sheet(400, 400);
      return headscape.labels.choose(candidates, (text) => 6 * text.length, sheet, { most: 300, height: 14, beside: 5 });
    }""")
    assert chosen == sorted(chosen, key=lambda label: int(label["i"]))
    for i, one in enumerate(chosen):
        for other in chosen[:i]:
            beside = abs(one["left"] - other["left"]) >= min(one["width"], other["width"])
            above = abs(one["top"] - other["top"]) >= one["height"]
            assert beside or above


def test_no_more_labels_than_asked_for(page: Page) -> None:
    assert (
        page.evaluate("""() => {
      const candidates = Array.from({ length: 50 }, (_, i) => ({ px: 10, py: 20 + 20 * i, text: "a" }));
      return headscape.labels.choose(candidates, () => 6, headscape.labels.sheet(400, 2000), { most: 7, height: 14, beside: 5 }).length;
    }""")
        == 7
    )


def test_what_is_asked_again_is_fetched_once_and_what_is_late_is_dropped(page: Page) -> None:
    assert page.evaluate("""async () => {
      const asked = [];
      const before = window.fetch;
      window.fetch = async (url) => (asked.push(url), { ok: true, json: async () => url });
      const { create, json } = headscape.loading;
      const parts = create();
      const want = (points, mask) => parts.load({ points: { url: points, read: json }, mask: { url: mask, read: json } });
      const late = want("a", null);
      const last = await want("b", "m");
      const again = await want("b", null);
      window.fetch = before;
      return [await late, last, again, asked];
    }""") == [None, {"points": "b", "mask": "m"}, {"points": "b", "mask": None}, ["a", "b", "m"]]


@pytest.fixture
def address(chromium: Browser) -> Iterator[Page]:
    """A page with something in its address bar, and what Dash puts beside the callbacks."""
    page = chromium.new_page()
    page.route("**/*", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
    page.goto("http://headscape.test/head?layer=1&head=2&view=pca-raw-2d&where=kind%3Aword&at=0.5,0.5,2,0,0")
    page.evaluate("window.dash_clientside = { no_update: 'stay', callback_context: { triggered: [] } }")
    page.add_script_tag(path=ASSETS / "address.js")
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


def test_another_text_is_no_pair_any_more(address: Page) -> None:
    address.evaluate("() => history.replaceState(null, '', '/sentence?text=a&second=b&pair=ab&words=1')")
    assert address.evaluate("() => headscape.address.choose('text', '', { text: 'a' })") == "?words=1"


@pytest.mark.parametrize(
    ("sent", "link"),
    [
        ("opened", "/head?layer=4&head=5&view=pca-raw-2d&where=kind%3Aword"),
        ("stepped", "/head?layer=3&head=6&view=pca-raw-2d&where=kind%3Aword"),
        ("left", "/?view=pca-raw-2d&where=kind%3Aword"),
    ],
)
def test_going_to_another_picture_keeps_what_was_chosen(address: Page, sent: str, link: str) -> None:
    assert (
        address.evaluate(
            """(sent) => {
      window.dash_clientside.callback_context.triggered = [{ prop_id: `points.${sent}` }];
      return headscape.address.go({ panel: 0 }, { rows: -1, columns: 1 }, { panel: 0 }, { panels: [{ name: "L4 H5" }] });
    }""",
            sent,
        )
        == link
    )


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
      const picture = { page: "/features", leaves: ["point"], panels: [{ name: "L1 mixed", fields: { point: "L01.mixed" } }] };
      return headscape.address.go({ panel: 0 }, null, { panel: 0 }, picture);
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
    names = "{ names: { token: 'ftoken', lasso: 'flasso' } }"
    picked = address.evaluate(f"headscape.address.pick({{ token: 7, role: 'token' }}, {names})")
    assert picked == f"{fields}&ftoken=7"
    assert address.evaluate(f"headscape.address.lasso({{ lasso: 'v,1' }}, {names})") == f"{fields}&flasso=v,1"


#: Words as wide as their letters are many, in groups, and the lines that are made of them.
LINES = """(groups, width, apart) => headscape.paragraphs.lines(
  groups.map((group) => group.split(" ").map((word) => ({ word }))), width, { wide: ({ word }) => word.length, apart },
)"""


def lines_of(page: Page, groups: list[str], width: int, apart: int) -> list[list[dict[str, object]]]:
    found = page.evaluate(f"([groups, width, apart]) => ({LINES})(groups, width, apart)", [groups, width, apart])
    return [[*line] for line in found]


def test_an_entry_that_fits_on_a_line_is_not_broken(page: Page) -> None:
    lines = lines_of(page, ["one two", "three four", "five"], 18, 3)
    assert [[piece["word"] for piece in line] for line in lines] == [["one", "two"], ["three", "four"], ["five"]]


def test_an_entry_longer_than_a_line_is_broken_between_words(page: Page) -> None:
    lines = lines_of(page, ["one two three"], 9, 3)
    assert [[piece["word"] for piece in line] for line in lines] == [["one"], ["two"], ["three"]]


@given(st.lists(st.text("ab ", min_size=1, max_size=30).map(str.split).filter(bool).map(" ".join), max_size=12))
def test_every_word_is_on_a_line_in_order_and_none_reaches_over(page: Page, groups: list[str]) -> None:
    lines = lines_of(page, groups, 40, 5)
    assert [piece["word"] for line in lines for piece in line] == " ".join(groups).split()
    assert all(piece["left"] + len(piece["word"]) <= 40 for line in lines for piece in line)  # type: ignore[operator, arg-type]
    assert all(one["left"] + len(one["word"]) < other["left"] for line in lines for one, other in pairwise(line))  # type: ignore[operator, arg-type]

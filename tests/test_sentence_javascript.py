"""The pure parts of a sentence's views, run in a browser against plain definitions. No server: the files alone."""

from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page

from dashboard.ui.theme import PALETTE
from tests.scripts import ASSETS, scripted

#: Messages as the server sends them, and two heads of three queries and four keys.
MADE = """
const message = (letters, numbers, most, values) => {
  const body = new Uint8Array(values.buffer || values);
  const bytes = new Uint8Array(8 + 4 * numbers.length + body.length);
  const view = new DataView(bytes.buffer);
  bytes.set([...letters].map((letter) => letter.charCodeAt(0)));
  numbers.forEach((number, i) => view.setUint32(4 + 4 * i, number, true));
  view.setFloat32(4 + 4 * numbers.length, most, true);
  bytes.set(body, 8 + 4 * numbers.length);
  return bytes.buffer;
};
const refused = (act) => { try { act(); } catch (error) { return error.message; } };
const layerOf = (share, [heads, queries, keys] = [2, 3, 4], most = 1) => {
  const codes = Uint16Array.from({ length: heads * queries * keys }, (_, i) => Math.round(65535 * share(i)));
  return { heads, queries, keys, most, codes };
};
const random = (shape) => layerOf(() => Math.random() ** 3, shape);
const { decode, lines, rows, weights, shades, svg, swatches, tokens, modelView, matrixPicture, file } = headscape.sentence;
"""


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    with scripted(chromium, sorted((ASSETS / "sentence").glob("*.mjs")), MADE) as page:
        yield page


def test_weights_are_read_as_they_were_sent(page: Page) -> None:
    assert page.evaluate("""() => {
      const read = decode.layer(message("HSL1", [1, 2, 3], 2.5, Uint16Array.from([0, 1, 2, 65535, 4, 5])));
      return [read.heads, read.queries, read.keys, read.most, [...read.codes], weights.at(read, 0, 1, 0)];
    }""") == [1, 2, 3, 2.5, [0, 1, 2, 65535, 4, 5], 2.5]


def test_thumbnails_are_read_as_they_were_sent(page: Page) -> None:
    assert page.evaluate("""() => {
      const { codes, ...shape } = decode.model(message("HST1", [1, 2, 1, 2], 1, Uint8Array.from([0, 255, 7, 8])));
      return [shape, [...codes]];
    }""") == [{"layers": 1, "heads": 2, "rows": 1, "columns": 2, "most": 1}, [0, 255, 7, 8]]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ('decode.layer(message("HSL1", [1, 9, 9], 1, [1, 2]))', "The weights were cut on their way. Reload the page."),
        ('decode.layer(message("HST1", [1, 1, 1], 1, [0, 0]))', "These are no weights. Reload the page."),
        ("decode.layer(new ArrayBuffer(3))", "These are no weights. Reload the page."),
        (
            'decode.model(message("HST1", [1, 1, 9, 9], 1, [1]))',
            "The thumbnails were cut on their way. Reload the page.",
        ),
        ('decode.model(message("HSL1", [1, 1, 1, 1], 1, [1]))', "These are no thumbnails. Reload the page."),
    ],
)
def test_what_is_not_whole_is_refused_in_a_sentence(page: Page, sent: str, said: str) -> None:
    assert page.evaluate(f"() => refused(() => {sent})") == said


@pytest.mark.parametrize("only", ["null", '{ side: "query", units: [2, 5] }', '{ side: "key", units: [0, 3] }'])
def test_the_lines_are_those_brute_force_finds(page: Page, only: str) -> None:
    assert page.evaluate(f"""() => {{
      const layer = random([4, 9, 7]);
      const only = {only};
      const wanted = [];
      for (const head of [1, 3])
        for (let query = 0; query < 9; query++)
          for (let key = 0; key < 7; key++) {{
            const inside = !only || only.units.includes(only.side === "query" ? query : key);
            if (inside && weights.at(layer, head, query, key) >= 0.05) wanted.push(`${{head}},${{query}},${{key}}`);
          }}
      const found = lines.find(layer, [1, 3], 0.05, only);
      const made = Array.from({{ length: found.count }}, (_, i) => `${{found.heads[i]}},${{found.queries[i]}},${{found.keys[i]}}`);
      return found.found === wanted.length && String(made.sort()) === String(wanted.sort());
    }}""")


def test_stronger_lines_are_drawn_over_weaker_ones(page: Page) -> None:
    assert page.evaluate("""() => {
      const { codes } = lines.find(random([2, 30, 30]), [0, 1], 0, null);
      return codes.every((code, i) => i === 0 || code >> 8 >= codes[i - 1] >> 8);
    }""")


def test_of_too_many_lines_the_strongest_are_drawn(page: Page) -> None:
    found, count, strongest = page.evaluate("""() => {
      const found = lines.find(random([12, 128, 128]), [...Array(12).keys()], 0, null);
      return [found.found, found.count, found.codes.at(-1) > 65000];
    }""")
    assert found > 40_000 >= count > 30_000
    assert strongest


def test_what_has_no_weight_is_no_line_even_if_everything_is_asked_for(page: Page) -> None:
    assert page.evaluate("() => lines.find(layerOf((i) => (i === 5 ? 0.5 : 0)), [0, 1], 0, null).found") == 1


def test_the_least_weight_of_norms_is_a_norm(page: Page) -> None:
    assert page.evaluate("() => lines.find(layerOf((i) => i / 24, [2, 3, 4], 3), [0, 1], 1.5, null).found") == 12


def test_a_long_sentence_is_searched_within_a_moment(page: Page) -> None:
    taken = page.evaluate("""() => {
      const layer = random([12, 512, 512]);
      const heads = [...Array(12).keys()];
      lines.find(layer, heads, 0.9, null);
      const from = performance.now();
      lines.find(layer, heads, 0.9, null);
      return performance.now() - from;
    }""")
    assert taken < 1_000


def test_selected_queries_give_the_sum_of_their_weights_to_every_key(page: Page) -> None:
    assert page.evaluate("""() => {
      const layer = layerOf((i) => i / 24);
      return weights.sums(layer, [1], "query", [0, 2]).map(([sum]) => Math.round(24 * sum));
    }""") == [32, 34, 36, 38]


def test_selected_keys_get_the_sum_of_their_weights_from_every_query(page: Page) -> None:
    assert page.evaluate("""() => {
      const layer = layerOf((i) => i / 24);
      return weights.sums(layer, [0], "key", [1, 3]).map(([sum]) => Math.round(24 * sum));
    }""") == [4, 12, 20]


@pytest.mark.parametrize(
    ("weight", "most", "said"),
    [(0.344, 1, "34 %"), (0.0123, 1, "1.2 %"), (0.0999, 1, "10 %"), (1, 1, "100 %"), (1.2345, 3, "1.23")],
)
def test_attention_is_said_in_per_cent_and_a_norm_as_it_is(page: Page, weight: float, most: float, said: str) -> None:
    assert page.evaluate("([weight, most]) => weights.say(weight, most)", [weight, most]) == said


def test_the_second_sentence_stands_apart(page: Page) -> None:
    assert page.evaluate("""() => rows.tops([0, 0, 1, 1].map((segment) => ({ segment })))""") == [0, 24, 62, 86, 110]


def test_a_column_without_tokens_has_no_height(page: Page) -> None:
    assert page.evaluate("() => rows.tops([])") == [0]


@pytest.mark.parametrize(
    ("selected", "unit", "more", "after"),
    [([], 3, False, [3]), ([3], 3, False, []), ([3], 1, False, [1]), ([3], 1, True, [1, 3]), ([1, 3], 1, True, [3])],
)
def test_a_click_selects_and_one_more_leaves(
    page: Page, selected: list[int], unit: int, more: bool, after: list[int]
) -> None:
    assert page.evaluate("(given) => tokens.select(...given)", [selected, unit, more]) == after


def test_a_head_alone_and_once_more_all(page: Page) -> None:
    assert page.evaluate("() => [swatches.alone([0, 2], 1, 3), swatches.alone([1], 1, 3)]") == [[1], [0, 1, 2]]


def test_a_head_goes_and_comes_back_in_its_place(page: Page) -> None:
    assert page.evaluate("() => [swatches.toggled([0, 1, 2], 1), swatches.toggled([0, 2], 1)]") == [[0, 2], [0, 1, 2]]


def test_the_last_head_cannot_be_taken_out(page: Page) -> None:
    assert page.evaluate("() => swatches.toggled([1], 1)") == [1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_ramp_goes_one_way_from_the_ground(page: Page, scheme: str) -> None:
    light = page.evaluate(
        "([palette, scheme]) => shades.ramp(palette, scheme).map((colour) => colour.reduce((a, b) => a + b))",
        [PALETTE[scheme], scheme],
    )
    steps = [after - before for before, after in pairwise(light)]
    assert all(step <= 0 for step in steps) if scheme == "light" else all(step >= 0 for step in steps)


def test_no_weight_and_the_largest_have_the_ends_of_the_ramp(page: Page) -> None:
    assert page.evaluate("() => [shades.code(0), shades.code(0.25), shades.code(1), shades.code(7)]") == [
        0,
        128,
        255,
        255,
    ]


def test_the_head_under_a_pixel_is_the_one_drawn_there(page: Page) -> None:
    assert page.evaluate("""() => {
      const shape = { layers: 6, heads: 12 };
      const place = modelView.layout(6, 12, 900);
      const seen = modelView.headAt(place, shape, place.width - 8, place.height - 8);
      return [seen, modelView.headAt(place, shape, 5, 100), modelView.headAt(place, shape, 100, 5)];
    }""") == [[5, 11], None, None]


def test_a_matrix_fits_its_room_and_is_not_blown_up(page: Page) -> None:
    assert page.evaluate("""() => {
      const units = (count) => Array.from({ length: count }, () => ({ name: "cat" }));
      const cells = [3, 60, 512].map((count) => matrixPicture.layout(units(count), units(count), 1000));
      return [cells[0].cell, cells[1].width <= 1000, cells[2].cell];
    }""") == [38, True, 3]


def test_a_drawing_is_xml_whatever_a_token_says(page: Page) -> None:
    text = page.evaluate("""() => {
      const shapes = [{ text: '<b>&"\\u0000\\u0007', at: [1, 2], colour: "#000000" }, { line: [0, 1, 2, 3], colour: "#0072b2", opacity: 0.5 }];
      return svg.write({ width: 10, height: 20, ground: "#ffffff", title: "a < b", source: "m on c", shapes });
    }""")
    root = ElementTree.fromstring(text)
    assert root.find("{*}text").text == '<b>&"\ufffd\ufffd'  # type: ignore[union-attr]
    assert root.find("{*}line").attrib["stroke-opacity"] == "0.500"  # type: ignore[union-attr]


def test_a_file_is_named_after_what_it_shows_and_what_it_is_of(page: Page) -> None:
    assert page.evaluate(
        "() => [file.name(['Attention of L2, “cat”', 'm-1'], 'svg'), file.name(['猫', 'm-1'], 'png')]"
    ) == ["attention-of-l2-cat-m-1.svg", "m-1.png"]

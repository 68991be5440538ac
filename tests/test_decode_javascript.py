"""What the server sends the canvas, as a browser reads it, against bytes written by hand."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.scripts import of_points

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
    with of_points(chromium, "decode", "loading", own=MESSAGE) as page:
        yield page


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

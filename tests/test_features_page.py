"""Page Features in a browser: small panels, the large panel, and the path of the same tokens through all panels."""

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from flask.testing import FlaskClient
from playwright.sync_api import FloatRect, Page, expect

from dashboard.features.figures import mean_trust
from dashboard.features.shown import FeatureView
from dashboard.pages import TOPICS, picture_of
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.browser import DRAWN, SECONDS, Open, Visit, blank, canvas_place, choose, drawn, inked, picture, until

NAME = ".player output"
#: Pauses the player as soon as it shows the name of another point.
PAUSE_AT_ONCE = """() => {
  const [name, button] = ["output", "button"].map((tag) => document.querySelector(`.player ${tag}`));
  const before = name.textContent;
  const watch = new MutationObserver(() => {
    if (name.textContent === before) return;
    watch.disconnect();
    setTimeout(() => button.click(), 50);
  });
  watch.observe(name, { childList: true });
}"""


def fields(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def in_link(page: Page, field: str, value: str | None) -> None:
    """Wait until a field of the link has a value."""
    for _ in range(20 * SECONDS):
        if fields(page).get(field) == value:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{page.url} does not come to say {field}={value}")


def large(visit: Visit, server: str, point: str = "L00.mixed") -> Page:
    return drawn(visit(f"{server}/features?point={point}"))


@pytest.fixture
def grid(visit: Visit, tiny_server: str) -> Page:
    """Page Features with the panels of all points."""
    return drawn(visit(f"{tiny_server}/features"))


def panel_place(page: Page, name: str) -> tuple[float, float]:
    """A place in a panel, in the window: right of the start of the column's heading, below the row's heading."""
    layer, _, kind = name.partition(" ") if re.match(r"L\d ", name) else ("input", " ", name)
    column, row = heading(page, ".column-names", f"^{layer}$"), heading(page, ".row-names", rf"^(↓ )?{kind}( ·|$)")
    return column["x"] + 40, row["y"] + 60


def heading(page: Page, names: str, pattern: str) -> FloatRect:
    box = page.locator(f"{names} span", has_text=re.compile(pattern)).bounding_box()
    assert box is not None
    return box


def test_all_points_are_headed_drawn_and_explained(grid: Page, tiny_corpus: Corpus) -> None:
    tokens = tiny_corpus.features("sample").n_tokens
    expect(grid.locator(".column-names span")).to_have_text(["input", "L0", "L1"])
    expect(grid.locator(".row-names span")).to_have_text(
        [
            "embedding",
            "head outputs · inside attention",
            "↓ position",
            "↓ attention output · after attention",
            "↓ layer output · end of the layer",
        ]
    )
    assert panels_with_points(picture(grid)) == [True] * 6 + [False, True, True]
    expect(grid.get_by_role("heading", level=1)).to_have_text(
        f"{tokens:,} tokens of the sample at 8 places in the model, from embedding to last layer"
    )
    expect(grid.get_by_text("all of them are drawn")).to_be_visible()
    expect(grid.locator(".caption", has_text="fitted on")).to_be_visible()
    expect(grid.get_by_text("Trustworthiness (1:")).to_contain_text("mean")
    expect(grid.get_by_text("headscape finetune")).to_be_visible()  # the store has no classifier to colour by
    expect(grid.locator(".figure").filter(has_text="Explained variance")).to_contain_text(f"over {tokens:,} tokens")
    expect(grid.get_by_role("img", name="CKA of every two places in the model")).to_be_visible()
    grid.mouse.move(*panel_place(grid, "L1 attention output"))
    expect(grid.locator(".points .tip")).to_contain_text(re.compile(r"L1 attention output trustworthiness [01]\.\d\d"))


def panels_with_points(shown: np.ndarray) -> list[bool]:
    """Whether anything is drawn in each of the nine places, row by row."""
    rows, columns = (size // 3 for size in shown.shape[:2])
    return [
        np.ptp(
            shown[row * rows + 30 : (row + 1) * rows - 8, column * columns + 8 : (column + 1) * columns - 8],
            axis=(0, 1),
        ).max()
        > 50
        for row in range(3)
        for column in range(3)
    ]


def test_headings_stay_in_sight_and_the_way_into_a_panel_and_back_by_mouse_and_keyboard_keeps_what_is_selected(
    open_page: Open, tiny_server: str
) -> None:
    page = drawn(open_page(f"{tiny_server}/features?q=film&at=0.6,0.5,2,0,0"))
    frame = page.locator(".points .frame").bounding_box()
    assert frame is not None
    expect(page.locator(".row-names span").filter(has_text="attention output")).to_be_visible()
    assert heading(page, ".row-names", "attention output")["x"] == pytest.approx(frame["x"], abs=1)
    page.locator(".frame").press("0")
    expect(page.locator(".frame")).to_have_attribute("data-zoom", "1.00")
    drawn(page).mouse.click(*panel_place(page, "L0 attention output"))
    in_link(page, "point", "L00.projected")
    expect(page.locator('.frame[data-drawn*="/L00.projected.bin"]')).to_be_visible()
    drawn(page).locator(".frame").focus()
    page.keyboard.press("Backspace")
    in_link(page, "point", None)
    assert fields(page)["q"] == "film"
    expect(page.get_by_text("drawn tokens are selected")).to_be_visible()
    expect(
        page.get_by_role("img", name="CKA of every two places in the model")
    ).to_be_visible()  # charts are shown again
    drawn(page).locator(".frame").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft"):  # the keys go on from the panel that was left
        page.keyboard.press(key)
    expect(page.locator(".points .announcement[aria-live]")).to_contain_text("L0 layer output")
    page.keyboard.press("Enter")
    in_link(page, "point", "L00.feedforward")


@pytest.mark.slow
def test_pausing_stays_at_the_point_it_was_on_its_way_to(visit: Visit, tiny_server: str) -> None:
    page = large(visit, tiny_server, "embedding")
    page.evaluate(PAUSE_AT_ONCE)
    page.get_by_role("button", name="Play").click()
    in_link(page, "point", "position")
    page.wait_for_timeout(600)
    expect(page.locator(NAME)).to_have_text("position (2 of 8)")


def test_a_token_is_named_in_its_sentence_shows_its_nearest_and_a_box_selects_in_every_panel(
    visit: Visit, tiny_server: str
) -> None:
    page = large(visit, tiny_server)
    page.locator(".frame").focus()
    page.keyboard.press("p")
    expect(page.locator(".points .tip .where")).to_contain_text(re.compile(r"position \d+, sentence \d+"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Nearest at L0 head outputs")).to_be_visible()
    expect(page.locator(".beside .rows:not(.bars) tbody tr")).to_have_count(10)
    inked(page, least=50)
    page.get_by_role("link", name="clear").click()
    in_link(page, "ftoken", None)
    blank(page)
    page.get_by_role("button", name="Box").click()
    page.mouse.move(*canvas_place(page, 0.2, 0.2))
    page.mouse.down()
    page.mouse.move(*canvas_place(page, 0.6, 0.8), steps=3)
    page.mouse.up()
    line = page.get_by_text("drawn tokens are selected")
    expect(line).to_be_visible()
    count = line.inner_text()
    page.get_by_role("link", name="All panels").click()
    in_link(page, "point", None)
    expect(page.get_by_text("drawn tokens are selected")).to_have_text(count)
    until(page, "Boolean(document.querySelector('.frame').dataset.masked)")


def test_token_set_scale_colour_and_vectors_are_chosen_and_in_the_link(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/features"))
    choose(page, "Scale", "per panel")
    expect(page.get_by_text("Each panel fits its tokens:")).to_be_visible()
    expect(page.locator(DRAWN)).to_have_attribute("data-drawn", re.compile("/points/fitted/"))
    in_link(page, "fscale", "each")
    choose(page, "Tokens of", "review 3")
    in_link(page, "material", "review-3")
    expect(page.get_by_role("heading", level=1)).to_contain_text("of review 3")
    choose(page, "Colour", "sentence of the review, in order")
    in_link(page, "fcolour", "sentence")
    expect(page.locator("div.legend").first).to_contain_text("sentence of the review")
    choose(page, "Vectors", "values of layer 1")
    expect(page.locator(".panel-names span")).to_have_text(["L1 H0", "L1 H1"])
    expect(page.get_by_role("heading", level=1)).to_contain_text("values of 2 heads in layer 1")


def test_a_region_of_one_scale_selects_the_same_tokens_in_the_other(tiny_store: str) -> None:
    region = "flasso=points,pca-joint,L00.mixed,0,0,0,0,999,0,999,999"
    one, other = (FeatureView.of(context(tiny_store, f"{region}{scale}")).selected for scale in ("", "&fscale=each"))
    np.testing.assert_array_equal(one, other)


def test_heads_keep_their_own_scale(tiny_store: str) -> None:
    assert str(FeatureView.of(context(tiny_store, "vectors=1&fscale=each")).series) == "L1"


# -- links, without a browser ---------------------------------------------------------------------------


def context(store: str, search: str) -> Context:
    return resolve(ServedStore(store), "/features", search)


@pytest.mark.parametrize(
    "search",
    [
        "material=../../etc",
        "vectors=99",
        "fview=tsne-joint",
        "point=L99.mixed",
        "fcolour=<script>",
        "ftoken=99999999",
        "flasso=points,pca-joint,L00.mixed,0,0,1,1",
        "flasso=L9,pca,H0,0,0,0,0,9,0,9,9",
        "point=embedding&vectors=1",
        "q=a&within=sentence&material=review-3",
        "fonly=nothing",
        "fcolour=position&fonly=1",
        "where=entropy:1..2",
        "where=reach_cls:0..1&material=review-3",
    ],
)
def test_invalid_parameters_of_a_link_are_ignored_with_a_notice(tiny_store: str, search: str) -> None:
    here = context(tiny_store, search)
    page = TOPICS["features"].layout(here)
    assert picture_of(here) is not None
    assert len(here.notices) + len(page.notices) == 1


@pytest.mark.parametrize("search", ["fcolour=kind&fonly=%5BCLS%5D", "fcolour=sentence&ftoken=7&fonly=this+sentence"])
def test_an_entry_of_the_legend_shows_its_category_alone(
    client: FlaskClient, tiny_store: str, tiny_corpus: Corpus, search: str
) -> None:
    here = context(tiny_store, search)
    shown, drawn_picture = FeatureView.of(here), picture_of(here)
    tokens = tiny_corpus.features("sample").tokens
    index = tokens.sentence_index.values
    expected = tokens.position.values == 0 if "kind" in search else index == index[7]
    np.testing.assert_array_equal(shown.selected_tokens, expected[: shown.tokens])
    assert drawn_picture is not None
    sent = np.frombuffer(client.get(str(drawn_picture.mask)).data[16:], np.uint8)
    np.testing.assert_array_equal(np.unpackbits(sent)[: shown.tokens], expected[: shown.tokens])
    pressed = re.findall(r"Button\(.*?aria-pressed='true'.*?\)", str(TOPICS["features"].layout(here).above))
    assert len(pressed) == 1
    assert "fonly" not in pressed[0]


def test_filters_select_the_tokens_whose_columns_match_all_of_them_and_their_file_has_these(
    client: FlaskClient, tiny_store: str, tiny_corpus: Corpus
) -> None:
    here = context(tiny_store, "where=position:1..4;reach_sentence:..1&fonly=word")
    shown, page, drawn_picture = FeatureView.of(here), TOPICS["features"].layout(here), picture_of(here)
    sample = tiny_corpus.features("sample")
    rows, position = sample.tokens.row.values, sample.tokens.position.values
    reach = tiny_corpus.token_reach.sel(target="sentence").values[-1][rows]
    is_word = sample.tokens.token_flags.values == 0
    expected = (position >= 1) & (position <= 4) & (reach <= 1) & is_word
    assert 0 < expected.sum() < ((position >= 1) & (position <= 4) & is_word).sum()
    np.testing.assert_array_equal(shown.selected_tokens, expected[: shown.tokens])
    assert drawn_picture is not None
    sent = np.frombuffer(client.get(str(drawn_picture.mask)).data[16:], np.uint8)
    np.testing.assert_array_equal(np.unpackbits(sent)[: shown.tokens], expected[: shown.tokens])
    (file,) = re.findall(r"href='(/[^']*/selection/[^']*\.csv[^']*)'", str(page.below))
    named = {line.split(",")[1] for line in client.get(file).text.splitlines()[1:]}
    assert named == set(map(str, np.flatnonzero(expected)))


def test_every_column_of_the_tokens_can_be_filtered_by_and_a_sentence_once_a_token_of_it_is_clicked(
    tiny_store: str,
) -> None:
    def offered(search: str) -> list[str]:
        return re.findall(r"'value': '(\w+)', 'label'", str(menu(context(tiny_store, search))))

    columns = ["kind", "wordpiece", "position", "label", "reach_cls", "reach_sentence", "reach_word"]
    assert offered("") == columns
    assert offered("where=kind:word&ftoken=7") == [*columns[1:4], "sentence", *columns[4:]]


def menu(here: Context) -> object:
    rows, *_ = TOPICS["features"].layout(here).above[2:]
    (found,) = [part for part in rows._traverse() if getattr(part, "id", None) == {"add": "condition"}]
    return found.data


def test_a_saved_picture_says_which_category_stands_out(tiny_store: str) -> None:
    shown = picture_of(context(tiny_store, "fonly=%5BCLS%5D"))
    assert shown is not None
    assert list(shown.file.notes) == ["What stands out is selected by kind:[CLS]."]


def test_everything_on_screen_is_in_the_link(tiny_store: str) -> None:
    search = "q=film&material=review-3&vectors=1&point=H1&fscale=each&fcolour=wordpiece&fonly=%2C&ftoken=5"
    assert parse_qs(context(tiny_store, search).state.href.partition("?")[2]) == parse_qs(search)


#: Pixels of the text of a box that its right edge cuts off, in a typeface.
HIDDEN_WIDTH = """(box, typeface) => {
  box.style.fontFamily = typeface;
  const hidden = box.scrollWidth - box.clientWidth;
  box.style.fontFamily = "";
  return hidden;
}"""


@pytest.mark.slow
def test_the_longest_name_of_a_colour_is_shown_whole(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/features"))
    box = page.get_by_role("textbox", name="Colour", exact=True)
    box.click()
    names = page.get_by_role("option").all_inner_texts()
    page.keyboard.press("Escape")
    choose(page, "Colour", max(names, key=len))
    assert len(names) >= 5
    for typeface in ("Roboto", "sans-serif"):  # the browser takes the second one where the first comes late
        assert box.evaluate(HIDDEN_WIDTH, typeface) == 0


def test_a_store_without_feature_points_says_how_to_make_them(few_store: str) -> None:
    here = context(few_store, "point=embedding")
    assert picture_of(here) is None
    assert "Code('headscape ingest')" in str(TOPICS["features"].layout(here).above)


@pytest.mark.parametrize(
    ("search", "following"), [("vectors=1&point=H1", "head"), ("point=L00.mixed", "place in the model")]
)
def test_a_large_panel_says_what_play_goes_to(tiny_store: str, search: str, following: str) -> None:
    page = TOPICS["features"].layout(context(tiny_store, search))
    assert f"arrow keys go to the next {following}." in str(page.above)


def test_panels_of_too_few_tokens_have_no_measure() -> None:
    assert mean_trust(np.full(2, np.nan), ("input", "L0 output")) is None
    assert (
        mean_trust(np.array([np.nan, 0.5]), ("input", "L0 output"))
        == "mean 0.50, from 0.50 (L0 output) to 0.50 (L0 output)."
    )


def test_the_pages_picture_can_be_had_part_by_part(client: FlaskClient, tiny_store: str) -> None:
    shown = picture_of(context(tiny_store, "q=film&point=L00.mixed&ftoken=3&labels=1"))
    assert shown is not None
    parts = ("points", "raster", "colours", "mask", "labels", "focus")
    assert {part: client.get(getattr(shown, part)).status_code for part in parts} == dict.fromkeys(parts, 200)

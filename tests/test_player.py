"""The way of tokens through the feature points of a model, frame by frame in a browser."""

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Error, Page, Route, expect

from store import Corpus
from tests.browser import Open, Visit, drawn, never_there, picture, seen, until
from tests.standing import SETTLED

#: Counts how often points start to move: the canvas then gets their next places beside their current ones.
COUNT = """() => {
  const { prototype } = WebGL2RenderingContext;
  const { enableVertexAttribArray } = prototype;
  window.journeys = 0;
  prototype.enableVertexAttribArray = function (index) {
    window.journeys += index === 3;
    return enableVertexAttribArray.call(this, index);
  };
}"""

#: Notes every feature point at which the tokens arrive; clicks Pause and Play once they rest at the first one.
NOTE = """() => {
  const { frame, button } = { frame: document.querySelector(".frame"), button: document.querySelector(".player button") };
  window.reached = [];
  new MutationObserver(() => {
    window.reached.push(frame.dataset.at.match(/([^/]+)[.]bin/)[1]);
    if (window.reached.length === 1) setTimeout(() => (button.click(), button.click()));
  }).observe(frame, { attributeFilter: ["data-at"] });
}"""


#: Notes the texts that are drawn above the points, in order.
NOTE_ABOVE = """() => {
  const frame = document.querySelector(".frame");
  window.above = [];
  new MutationObserver(() => window.above.push(frame.dataset.overlay)).observe(frame, { attributeFilter: ["data-overlay"] });
}"""


@pytest.mark.slow
def test_pausing_and_playing_on_leaves_no_point_out(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/features?point=L00.feedforward"))
    page.evaluate(NOTE)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".player output")).to_have_text("L1 layer output (8 of 8)")
    until(page, "reached.at(-1) === 'L01.feedforward'")
    assert page.evaluate("reached") == ["L01.mixed", "L01.projected", "L01.feedforward"]


def trust(corpus: Corpus, point: str) -> str:
    """The page's text on the trustworthiness of a feature point in the default picture."""
    features = corpus.features("sample")
    return (
        f"Trustworthiness (1: perfect): {float(features.view(features.views[0]).trustworthiness.sel(point=point)):.2f}."
    )


@pytest.mark.slow
def test_name_and_trustworthiness_follow_while_it_plays(open_page: Open, tiny_server: str, tiny_corpus: Corpus) -> None:
    page = drawn(open_page(f"{tiny_server}/features?point=embedding&ftoken=3"))
    never_there(page)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("tokens of the sample at position")
    expect(page.locator(".how-to-read")).to_contain_text("Position: word embeddings and what the model adds to them")
    expect(page.locator(".caption", has_text="Trustworthiness")).to_contain_text(trust(tiny_corpus, "position"))
    expect(page.locator(".middle")).to_have_attribute("data-away", "")
    assert "point=embedding" in page.url


def test_playing_moves_the_tokens_and_where_it_ends_everything_is_of_the_shown_point(
    visit: Visit, tiny_server: str, tiny_corpus: Corpus
) -> None:
    page = drawn(visit(f"{tiny_server}/features?point=L01.mixed&ftoken=3"))
    before = picture(page)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    seen(page, lambda shown: bool((shown != before).any(axis=-1).mean() > 0.001))
    expect(page).to_have_url(re.compile("point=L01[.]feedforward"))
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("tokens of the sample at L1 layer output")
    expect(page.locator(".caption", has_text="Trustworthiness")).to_contain_text(trust(tiny_corpus, "L01.feedforward"))
    expect(page.get_by_role("heading", name="Nearest at L1 layer output")).to_be_visible()
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/L01[.]feedforward/3[.]json"))
    expect(page.locator(".middle[data-away]")).to_have_count(0)


def test_keys_and_the_slider_go_to_other_points_in_steps_where_motion_is_reduced_and_the_nearest_tokens_follow(
    visit: Visit, tiny_server: str
) -> None:
    page = drawn(visit(f"{tiny_server}/features?point=L00.mixed&ftoken=3"))
    the_nearest_tokens_follow(page)
    page.emulate_media(reduced_motion="reduce")
    keys_go_in_steps(page)
    page.emulate_media(reduced_motion="reduce")
    a_step_back_returns(page)
    page.get_by_role("slider", name="Point of the model").focus()
    page.keyboard.press("End")
    expect(page.locator(".player output")).to_have_text("L1 layer output (8 of 8)")
    expect(page).to_have_url(re.compile("point=L01[.]feedforward"))


def the_nearest_tokens_follow(page: Page) -> None:
    frame = page.locator(".frame")
    expect(frame).to_have_attribute("data-overlay", re.compile("/L00[.]mixed/3[.]json"))
    page.evaluate(NOTE_ABOVE)
    frame.press("ArrowRight")
    frame.press("ArrowLeft")
    until(page, "above.includes('')")
    expect(frame).to_have_attribute("data-overlay", re.compile("/L00[.]mixed/3[.]json"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("at L0 head outputs")


def keys_go_in_steps(page: Page) -> None:
    """Keys move the points in steps where motion is reduced; elsewhere points glide."""
    frame, name = page.locator(".frame"), page.locator(".player output")
    page.evaluate(COUNT)
    for key, point, text, moves in (
        ("ArrowRight", "L00.projected", "L0 attention output (4 of 8)", False),
        ("ArrowLeft", "L00.mixed", "L0 head outputs (3 of 8)", True),
    ):
        frame.press(key)
        until(page, f"document.querySelector('.frame').dataset.at?.includes('/{point}.bin')")
        expect(name).to_have_text(text)
        assert page.evaluate("journeys > 0") == moves
        expect(page).to_have_url(re.compile(f"point={point}"))
        until(page, SETTLED)
        page.emulate_media(reduced_motion="no-preference")


def a_step_back_returns(page: Page) -> None:
    """A step back while the page of the step forward is on its way."""
    held: list[Route] = []
    page.route("**/data/page*", lambda route: held.append(route), times=1)
    page.locator(".frame").press("ArrowRight")
    expect(page).to_have_url(re.compile("point=L00[.]projected"))
    page.locator(".frame").press("ArrowLeft")
    expect(page).to_have_url(re.compile("point=L00[.]mixed"))
    with suppress(Error):  # the page may have given it up
        held[0].continue_()
    expect(page.get_by_role("heading", level=1)).to_contain_text("at L0 head outputs")

"""Saving a chart whose button was pressed before the chart was drawn."""

from playwright.sync_api import Browser

from tests.browser import until
from tests.scripts import ASSETS

PRESSED = """{
  no_update: "stay",
  callback_context: { triggered: [{ prop_id: '{"of":"curves","save":"svg"}.n_clicks', value: 1 }] },
}"""


def test_a_chart_is_saved_as_soon_as_it_is_drawn(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content("<div id='curves'></div>")
    page.evaluate(f"window.dash_clientside = {PRESSED}")
    page.evaluate("window.Plotly = { downloadImage: (chart, { filename }) => (window.saved = filename) }")
    page.add_script_tag(path=ASSETS / "chart.js")
    assert page.evaluate("headscape.chart.save()") == "stay"
    assert page.evaluate("window.saved === undefined")
    page.evaluate("document.getElementById('curves').innerHTML = '<p class=\"js-plotly-plot\"></p>'")
    until(page, "window.saved === 'curves'")
    page.close()

"""Saving a chart whose button was pressed before the chart was drawn."""

from playwright.sync_api import Browser

from tests.browser import until
from tests.scripts import ASSETS

PRESSED = """{
  no_update: "stay",
  callback_context: { triggered: [{ prop_id: '{"of":"curves","save":"svg"}.n_clicks', value: 1 }] },
}"""

SHOWN = '{ props: { data: { source: "tiny on reviews", stem: "tiny-1" } } }'
DRAW = """{
  const chart = document.createElement("p");
  Object.assign(chart, { className: "js-plotly-plot", layout: { margin: { t: 30 } }, data: [] });
  chart.style = "width: 300px; height: 200px; margin: 0";
  document.getElementById("curves").append(chart);
}"""


def test_a_chart_is_saved_as_soon_as_it_is_drawn(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content("<div id='curves' aria-label='Curves of a < b'></div>")
    page.evaluate(f"window.dash_clientside = {PRESSED}")
    page.evaluate(f"window.dash_component_api = {{ getLayout: () => ({SHOWN}) }}")
    page.evaluate(
        "window.Plotly = { downloadImage: (chart, { filename }) => (window.saved = [filename, chart.layout]) }"
    )
    for script in ("canvas/paragraphs.mjs", "web/chart.mjs"):
        page.add_script_tag(path=ASSETS / script)
    assert page.evaluate("headscape.chart.save()") == "stay"
    assert page.evaluate("window.saved === undefined")
    page.evaluate(DRAW)
    until(page, "window.saved !== undefined")
    name, layout = page.evaluate("window.saved")
    assert name == "curves-tiny-1"
    assert "Curves of a &lt; b" in layout["title"]["text"]
    assert "tiny on reviews" in layout["title"]["text"]
    assert layout["margin"]["t"] == layout["height"] - 200 + 30
    page.close()

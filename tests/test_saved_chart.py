"""Saving a chart whose button was pressed before the chart was drawn."""

from urllib.parse import urlparse

from playwright.sync_api import Browser, Route

from dashboard.web.assets import DASHBOARD
from tests.browser import until

#: An address at which a browser finds our modules, and a page with a place for a chart.
ORIGIN = "http://headscape.test"
PAGE = """<!doctype html>
<div id='curves' aria-label='Curves of a < b; see below' data-title='Curves of a < b' data-of='Means over 40 sentences'>
</div>
<button data-chart='curves' data-save='svg'>SVG</button>"""
SHOWN = '{ props: { data: { source: "tiny on reviews", stem: "tiny-1" } } }'
DRAW = """{
  const chart = document.createElement("p");
  Object.assign(chart, { className: "js-plotly-plot", layout: { margin: { t: 30 } }, data: [] });
  chart.style = "width: 300px; height: 200px; margin: 0";
  document.getElementById("curves").append(chart);
}"""


def serve(route: Route) -> None:
    """A file of the dashboard, or the page."""
    path = DASHBOARD / urlparse(route.request.url).path.lstrip("/")
    if path.is_file():
        route.fulfill(path=path, content_type="text/javascript")
    else:
        route.fulfill(body=PAGE, content_type="text/html")


def test_a_chart_is_saved_as_soon_as_it_is_drawn(chromium: Browser) -> None:
    page = chromium.new_page()
    page.route(f"{ORIGIN}/**", serve)
    page.goto(ORIGIN)
    page.evaluate(f"window.dash_component_api = {{ getLayout: () => ({SHOWN}) }}")
    page.evaluate(
        "window.Plotly = { downloadImage: (chart, { filename }) => (window.saved = [filename, chart.layout]) }"
    )
    page.evaluate("import('/assets/web/chart.mjs').then(({ followCharts }) => followCharts())")
    page.get_by_role("button", name="SVG").click()
    assert page.evaluate("window.saved === undefined")
    page.evaluate(DRAW)
    until(page, "window.saved !== undefined")
    name, layout = page.evaluate("window.saved")
    assert name == "curves-tiny-1"
    assert "Curves of a &lt; b" in layout["title"]["text"]
    assert "see below" not in layout["title"]["text"]
    assert "Means over 40 sentences<br>tiny on reviews" in layout["title"]["text"]
    assert layout["margin"]["t"] == layout["height"] - 200 + 30
    page.close()

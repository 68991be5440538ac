// Charts as files: plotly draws them again, so that a PNG is sharp and an SVG is one.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const SHARP = 2;
  const PAUSE = 100;

  /** Save the chart whose button was pressed: {"save": "svg", "of": "density-raw"}. */
  function save() {
    const { no_update, callback_context } = root.dash_clientside;
    const [trigger] = callback_context.triggered;
    if (!trigger?.value) return no_update;
    const { save: format, of } = JSON.parse(trigger.prop_id.slice(0, trigger.prop_id.lastIndexOf(".")));
    whenDrawn(of, (chart) => root.Plotly.downloadImage(chart, { format, filename: of, width: chart.offsetWidth, height: chart.offsetHeight, scale: format === "png" ? SHARP : 1 }));
    return no_update;
  }

  /** Its button may be there, and be pressed, before the chart is. */
  function whenDrawn(of, act) {
    const place = document.getElementById(of);
    const chart = place?.querySelector(".js-plotly-plot");
    if (chart) act(chart);
    else if (place) root.setTimeout(() => whenDrawn(of, act), PAUSE);
  }

  headscape.chart = { save };
})(window);

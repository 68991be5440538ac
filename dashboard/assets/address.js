// Choices become links: what is on screen is in the URL. Used by clientside callbacks.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const dash = () => root.dash_clientside;

  /** The query string with one field changed; nothing if the page shows that already. */
  function choose(field, value, search, shown) {
    if (value === null || value === undefined || !shown || String(shown[field]) === String(value)) return dash().no_update;
    const fields = new URLSearchParams(search || "");
    fields.set(field, value);
    return "?" + fields.toString();
  }

  /** The page of a head: the one a reader opened in the grid, or the neighbour an arrow key asked for. */
  function headLink(name, search, step) {
    const [, layer, head] = name.match(/^L(\d+) H(\d+)$/).map(Number);
    const fields = new URLSearchParams(search || "");
    fields.set("layer", layer + (step ? step.rows : 0));
    fields.set("head", head + (step ? step.columns : 0));
    return "/head?" + fields.toString();
  }

  function go(opened, stepped, panels, search) {
    const byStep = dash().callback_context.triggered.some((trigger) => trigger.prop_id === "points.stepped");
    if (byStep && stepped) return headLink(panels[0].name, search, stepped);
    return opened ? headLink(panels[opened.panel].name, search) : dash().no_update;
  }

  function copy(clicks) {
    if (!clicks) return dash().no_update;
    return navigator.clipboard.writeText(window.location.href).then(
      () => "Copied",
      () => "Copy it from the address bar",
    );
  }

  headscape.address = { choose, go, copy, headLink };
  if (typeof module !== "undefined") module.exports = headscape.address;
})(typeof window === "undefined" ? globalThis : window);

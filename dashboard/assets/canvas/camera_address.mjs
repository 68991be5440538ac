// Where the reader looks, kept in the address bar as `at`: a link shows the same part of the picture.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const PAUSE = 250;

  /** The query string with another `at`, or without one; the rest of it stays as it was written. */
  function withCamera(search, at) {
    const others = search.replace(/^\?/, "").split("&").filter((field) => field && !field.startsWith("at="));
    const fields = at ? [...others, `at=${at}`] : others;
    return fields.length ? "?" + fields.join("&") : "";
  }

  function create(panels) {
    let waiting = 0;
    const page = () => root.location.pathname + withCamera(root.location.search, "");

    /** Soon; not at all if the reader has gone to another page by then, or if it is where a picture grows out of until its points come. */
    function write() {
      root.clearTimeout(waiting);
      const from = page();
      waiting = root.setTimeout(() => panels.picture && !panels.emerging && page() === from && replace(), PAUSE);
    }

    function replace() {
      const search = withCamera(root.location.search, headscape.camera.format(panels.camera, panels.picture.dimensions));
      if (search !== root.location.search) root.history.replaceState(root.history.state, "", root.location.pathname + search + root.location.hash);
    }

    return { write, forget: () => root.clearTimeout(waiting) };
  }

  headscape.cameraAddress = { create, withCamera };
  if (typeof module !== "undefined") module.exports = headscape.cameraAddress;
})(typeof window === "undefined" ? globalThis : window);

// The head view of the shown layer as one file: scripts, sheet and weights are in it, and nothing is asked of any server.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const CLOSED = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

  async function textOf(url) {
    const response = await fetch(url);
    if (!response.ok) throw new Error("The page's own files cannot be read. Reload the page and save again.");
    return response.text();
  }

  const scripts = () => [...document.scripts].map(({ src }) => src).filter((src) => /\/assets\/sentence\/[^/]+\.mjs/.test(src));
  const sheets = () => [...document.querySelectorAll('link[rel="stylesheet"]')].map(({ href }) => href).filter((href) => /\/assets\/style\.css/.test(href));

  /** Text that may stand in a script or a style element. */
  const inside = (text) => text.replace(/<\/(script|style)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

  function base64(codes) {
    const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
    let text = "";
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return btoa(text);
  }

  function codesOf(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Uint16Array(bytes.buffer);
  }

  /** What the saved page shows, as JSON without a "<". */
  function contents({ data, ...shown }) {
    const { codes, ...shape } = data;
    const addresses = { layer_url: "saved", model_url: null, neuron_url: null };
    return JSON.stringify({ shown: { ...shown, ...addresses, show: "head" }, layer: { ...shape, codes: base64(codes) } }).replace(/</g, "\\u003c");
  }

  function page({ title, source }, style, script, json) {
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${CLOSED}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<style>${inside(style)}</style>
</head>
<body class="saved-sentence">
<h1>${escape(title)}</h1>
<p class="caption">${escape(source)}</p>
<div id="sentence" class="sentence-views"></div>
<script type="application/json" id="saved">${json}</script>
<script>${inside(script)}</script>
<script>window.headscape.sentence.open(document.getElementById("sentence"), document.getElementById("saved").textContent);</script>
</body>
</html>
`;
  }

  /** The text of the file; of the views that are on the page, if no others are named. */
  async function standalone(views = sentence.current) {
    if (views?.shown?.show !== "head") throw new Error("Only lines can be saved as a page. Open the lines of a layer first.");
    const [style, script] = await Promise.all([sheets(), scripts()].map(async (urls) => (await Promise.all(urls.map(textOf))).join("\n")));
    return page(views.shown, style, script, contents(views.shown));
  }

  /** In the saved file: the reader's colour scheme, and the views on what was saved. */
  function open(host, text) {
    const dark = root.matchMedia("(prefers-color-scheme: dark)");
    const follow = () => document.documentElement.setAttribute("data-mantine-color-scheme", dark.matches ? "dark" : "light");
    follow();
    dark.addEventListener("change", follow);
    const { shown, layer } = JSON.parse(text);
    const data = { ...layer, codes: codesOf(layer.codes) };
    const views = new sentence.Views(host, { load: async () => ({ data }), cancel: () => {} }, { offline: true });
    views.update(shown, () => {});
  }

  sentence.standalone = standalone;
  sentence.open = open;
})(window);

// The widget of a notebook, as anywidget calls it: a picture of the dashboard in a tree of its own, which no style of
// the notebook reaches, and whose style reaches nothing of the notebook. Its colours are those of the notebook around
// it, light or dark, as each notebook says it.
import { SCHEME, make } from "../web/elements.mjs";

/**
 * The function that anywidget calls to draw a widget; it returns a function that removes the widget.
 * @param {(model: WidgetModel, place: HTMLElement, signal: AbortSignal) => void} mount
 */
export const widgetOf =
  (mount) =>
  (/** @type {{ model: WidgetModel, el: HTMLElement }} */ { model, el }) => {
    const ending = new AbortController();
    const host = make("div", { className: "headscape", "data-lm-suppress-shortcuts": "true" });
    const place = make("div", { className: "notebook-widget" });
    host.attachShadow({ mode: "open" }).append(make("style", { textContent: model.get("sheet") }), place);
    el.append(host);
    const still = `.${model.get("still_class")}`;
    const hidden = make("style", { textContent: `${still}, .jp-OutputArea-child:has(${still}) { display: none }` });
    document.head.append(hidden);
    followScheme(host, ending.signal);
    mount(model, place, ending.signal);
    return () => (ending.abort(), host.remove(), hidden.remove());
  };

/** @param {Document} page @returns {Scheme} */
export function schemeOf({ body, documentElement: root, defaultView }) {
  const { jpThemeLight, vscodeThemeKind } = body.dataset;
  if (jpThemeLight) return jpThemeLight === "false" ? "dark" : "light"; // JupyterLab, Notebook 7
  if (vscodeThemeKind) return /dark|contrast$/.test(vscodeThemeKind) ? "dark" : "light";
  const named = [root.getAttribute("theme"), ...root.classList, ...body.classList]; // Colab; marimo
  const scheme = ["dark", "light"].find((name) => named.includes(name));
  const system = defaultView?.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  return /** @type {Scheme} */ (scheme ?? system);
}

/**
 * Keeps the colours of a widget those of its notebook: pictures read the page's scheme, the style sheet the host's.
 * @param {HTMLElement} host @param {AbortSignal} signal
 */
export function followScheme(host, signal) {
  const follow = () => {
    const scheme = schemeOf(document);
    for (const element of [host, document.documentElement])
      if (element.getAttribute(SCHEME) !== scheme) element.setAttribute(SCHEME, scheme);
  };
  const watch = new MutationObserver(follow);
  const attributeFilter = ["class", "theme", "data-jp-theme-light", "data-vscode-theme-kind"];
  for (const element of [document.documentElement, document.body]) watch.observe(element, { attributeFilter });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow, { signal });
  signal.addEventListener("abort", () => watch.disconnect());
  follow();
}

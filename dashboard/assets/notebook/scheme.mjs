// The colours of the notebook around a widget, light or dark, as each of them says it.
import { SCHEME } from "../web/drawing.mjs";

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
 * Keeps the colours of a widget those of its notebook. The pictures read them of the page, its style sheet of the host.
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

// Starts the views in a saved page, which has its weights inside and asks no server.
import { Views } from "./views.mjs";
import { elementOf } from "../web/elements.mjs";

/** @param {string} text */
function codesOf(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Uint16Array(bytes.buffer);
}

/** The colour scheme of the reader's system. */
function followScheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () =>
    document.documentElement.setAttribute("data-mantine-color-scheme", dark.matches ? "dark" : "light");
  follow();
  dark.addEventListener("change", follow);
}

/** @param {HTMLElement} host @param {string} text */
function open(host, text) {
  const { shown, layer } = JSON.parse(text);
  const data = { ...layer, codes: codesOf(layer.codes) };
  const views = new Views(host, { load: async () => ({ data }), cancel: () => {} }, { offline: true });
  views.update(shown, () => {});
}

followScheme();
open(elementOf("sentence"), elementOf("saved").textContent);

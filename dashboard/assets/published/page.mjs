// What every published page does: it explains terms, and has the colours of the reader's system, or chosen ones. A page
// without a picture and without a sentence does nothing else.
import { SCHEME, printLight, schemeNow } from "../web/elements.mjs";
import { explainButtons } from "../web/popover.mjs";

/** Name under which color_scheme.js reads the choice. */
const CHOICE = "mantine-color-scheme-value";

/** @param {string} scheme */
function keep(scheme) {
  try {
    window.localStorage.setItem(CHOICE, scheme);
  } catch {
    // A browser that stores nothing follows the system on the next page.
  }
}

function followScheme() {
  const root = document.documentElement;
  const button = document.getElementById("scheme");
  button?.addEventListener("click", () => {
    const scheme = schemeNow() === "dark" ? "light" : "dark";
    root.setAttribute(SCHEME, scheme);
    keep(scheme);
  });
}

/** Starts a page. */
export function start() {
  printLight();
  explainButtons();
  followScheme();
}

// The worked example of page Heads: shown until its reader has got it, and again by a button. It is not in the link.
import { recall, remember } from "./remembered.mjs";

const NAME = "example";
const SEEN = "data-example-seen";

/** Shows or hides the example, and moves the keyboard to the button that does the opposite. */
function turn(hide) {
  document.documentElement.toggleAttribute(SEEN, hide);
  remember(NAME, hide ? "seen" : "");
  document.querySelector(`[data-example="${hide ? "show" : "hide"}"]`)?.focus();
}

function pressed(event) {
  if (event.key === "Escape" && event.target.closest?.(".example")) turn(true);
}

export function showExampleOnce() {
  document.documentElement.toggleAttribute(SEEN, recall(NAME) === "seen");
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-example]");
    if (button) turn(button.dataset.example === "hide");
  });
  document.addEventListener("keydown", pressed);
}

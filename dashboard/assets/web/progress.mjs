// Says how far the server is with a page while the browser waits for it: what it counts, and the share that is done.
import { pathOf } from "./address.mjs";

/** Milliseconds before a page is asked for its progress, and between two times. */
const [FIRST, AGAIN] = [400, 500];
const FIXED = "The server puts this page together.";
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A name for a wait that nobody guesses, as dashboard/ui/job.py checks it. */
export const newWait = () =>
  [...window.crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** What the server does now for the page; a fixed sentence where it does not say. */
async function progressOf(wait) {
  const body = new URLSearchParams({ wait });
  const response = await fetch(pathOf("data/page/progress"), { method: "POST", body }).catch(() => null);
  return (response?.ok && (await response.json()).said) || FIXED;
}

/** Keeps the words of the page's skeleton, or those over the page before, until the page is there. */
export async function sayWhile({ page, wait }) {
  let isThere = false;
  page.finally(() => (isThere = true));
  const { dataset } = document.getElementById("page");
  dataset.said = FIXED;
  for (let next = FIRST; ; next = AGAIN) {
    await pause(next);
    if (isThere) return;
    const said = await progressOf(wait);
    if (isThere) return;
    dataset.said = said;
  }
}

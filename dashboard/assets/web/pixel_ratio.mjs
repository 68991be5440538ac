// Pixels of the screen for each of the page: another screen has others, and so has another zoom of the browser.

/** Calls each time when the window has come to another pixel ratio: what is drawn on a canvas is drawn anew. */
export function whenPixelRatioChanges(act, signal) {
  const media = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
  const changed = () => (whenPixelRatioChanges(act, signal), act());
  media.addEventListener("change", changed, { once: true, signal });
}

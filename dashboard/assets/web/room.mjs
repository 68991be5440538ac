// Keeps the room below what a reader sees: where a shorter tab, list or selection comes, the window would scroll up.

/**
 * The least height of a page, in pixels, with which the window stays scrolled as it is. `top` and `height` are the
 * page's in the window, `window` is the window's height, `below` what follows the page.
 */
export const leastHeight = ({ top, height, window, below }) => Math.max(0, Math.min(height, window - top - below));

function keep() {
  const page = document.getElementById("page");
  if (!page) return;
  const { top, height } = page.getBoundingClientRect();
  const below = parseFloat(getComputedStyle(page.parentElement).paddingBottom);
  const least = leastHeight({ top, height, window: document.documentElement.clientHeight, below });
  page.style.minHeight = window.scrollY > 0 ? `${least}px` : "";
}

/** Follows the window: as its reader scrolls up, room that is no longer needed goes. */
export function keepRoom() {
  for (const name of ["scroll", "resize"]) window.addEventListener(name, keep, { passive: true });
}

// Paper is white: a dark page is printed in the colours of a light one.

const SCHEME = "data-mantine-color-scheme";

/** Installs it for as long as the page lives; before the picture listens, which draws itself for paper. */
export function printLight(page = window, root = document.documentElement) {
  let scheme = null;
  page.addEventListener("beforeprint", () => {
    scheme = root.getAttribute(SCHEME);
    root.setAttribute(SCHEME, "light");
  });
  page.addEventListener("afterprint", () => scheme && root.setAttribute(SCHEME, scheme));
}

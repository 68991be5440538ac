// The Dash component Markup: plain HTML, drawn by React. dashboard/ui/markup.py says what a tree is.
import { visit } from "./address.mjs";

/** To the top only where it is another page. */
function follow(event) {
  if (event.metaKey || event.shiftKey || event.altKey || event.ctrlKey) return;
  event.preventDefault();
  const before = window.location.pathname;
  visit(event.currentTarget.href);
  if (window.location.pathname !== before) window.scrollTo(0, 0);
}

/** A table scrolls within itself in a narrow window: where it is not in something that scrolls anyway. */
const isWide = (tag, around) => tag === "table" && !around.split(" ").includes("scroll");

function draw(node, around) {
  if (!Array.isArray(node)) return node;
  const [tag, properties, ...children] = node;
  const make = window.React.createElement;
  const inner = children.map((child) => draw(child, properties.className || ""));
  if (tag === "link") return make("a", { ...properties, onClick: follow }, ...inner);
  const element = make(tag, properties, ...inner);
  return isWide(tag, around) ? make("div", { className: "wide" }, element) : element;
}

export const Markup = ({ tree }) =>
  window.React.createElement(window.React.Fragment, null, ...tree.map((node) => draw(node, "")));

/** A link that names a part of its page scrolls there: Dash has taken the click and scrolled to the top before. */
export function scrollToParts() {
  window.addEventListener("click", (event) => {
    const link = event.defaultPrevented && event.target.closest?.("a[href]");
    if (link?.hash) document.getElementById(link.hash.slice(1))?.scrollIntoView();
  });
}

// The Dash component Markup: plain HTML of a page, as dashboard/ui/markup.py describes it.
//
// A browser that translates the page puts its own texts in place of the page's. Where an element has several nodes,
// React then changes its old text, which nobody sees; React replaces a text that is alone. So every text beside another
// node is in an element of its own.
import { opensElsewhere, visit } from "./address.mjs";
import { isData, partsOf } from "./elements.mjs";
import { areControlsOpen } from "./room.mjs";

/** An element without style or meaning. */
const TEXT = "plain-text";

/** Follows a link; to the top of another page. @param {MouseEvent} event */
function follow(event) {
  if (opensElsewhere(event)) return;
  event.preventDefault();
  const before = window.location.pathname;
  visit(/** @type {HTMLAnchorElement} */ (event.currentTarget).href);
  if (window.location.pathname !== before) window.scrollTo(0, 0);
}

/**
 * Whether an element is a table that scrolls by itself in a narrow window: nothing around it scrolls.
 * @param {string} tag @param {string} around
 */
const isWide = (tag, around) => tag === "table" && !around.split(" ").includes("scroll");

/** @param {Markup[]} children */
const textOf = (children) => (children.every((child) => !Array.isArray(child)) ? children.join("") : undefined);

/** @param {unknown} content @param {boolean} [isKept] */
const asElement = (content, isKept) =>
  window.React.createElement(TEXT, isKept ? { translate: "no" } : null, ...[content].flat());

/** A text whose data is in elements of its own; nobody translates a space. @param {string} text */
function asParts(text) {
  const parts = partsOf(text);
  if (parts.length === 1) return asElement(text, isData(TEXT, {}, text));
  return asElement(parts.map((part) => (part.trim() ? asElement(part, isData(TEXT, {}, part)) : part)));
}

/**
 * A text as it is where it stands alone and is of one kind, or is data with all around it; else as an element.
 * @param {unknown} text @param {boolean} isAlone @param {boolean} isKept
 */
function drawText(text, isAlone, isKept) {
  const written = typeof text === "boolean" ? "" : String(text ?? "");
  if (!written.trim() || (isAlone && (isKept || partsOf(written).length === 1))) return [text];
  return [isKept ? asElement(written) : asParts(written)];
}

/**
 * The properties of an element: data is not translated, and a button says whether the controls
 * that it opens are open.
 * @param {string} tag @param {Record<string, any>} properties @param {Markup[]} children
 */
function marked(tag, properties, children) {
  if (properties["data-opens"]) return { ...properties, "aria-expanded": String(areControlsOpen()) };
  return isData(tag, properties, textOf(children)) ? { ...properties, translate: "no" } : properties;
}

/**
 * A node of a tree in React, [tag, properties, ...children] or a text, as one node or several.
 * @param {Markup} node @param {{ around: string, isAlone: boolean, isKept: boolean }} given
 * @returns {ReactNode[] | ReactNode}
 */
function draw(node, { around, isAlone, isKept }) {
  if (!Array.isArray(node)) return drawText(node, isAlone, isKept);
  const [tag, given, ...children] = node;
  const make = window.React.createElement;
  const properties = marked(tag, given, children);
  const within = {
    around: properties.className || "",
    isAlone: children.length === 1,
    isKept: isKept || properties.translate === "no",
  };
  const inner = children.flatMap((child) => draw(child, within));
  if (tag === "link") return make("a", { ...properties, onClick: follow }, ...inner);
  const href = tag === "button" && properties["data-href"];
  const element = make(tag, href ? { ...properties, onClick: () => visit(href) } : properties, ...inner);
  return isWide(tag, around) ? make("div", { className: "wide" }, element) : element;
}

/** @param {{ tree: Markup[] }} given */
export const Markup = ({ tree }) =>
  window.React.createElement(
    window.React.Fragment,
    null,
    ...tree.flatMap((node) => draw(node, { around: "", isAlone: false, isKept: false })),
  );

// Makes elements of a page, and those of an SVG file. Text is always text: a wordpiece is never read as HTML or XML.
import { isData, partsOf } from "./translation.mjs";

/** The typeface of pages, on canvases and in saved files. */
export const FAMILY = "Roboto, system-ui, -apple-system, 'Segoe UI', sans-serif";

const PROPERTIES = new Set(["className", "textContent", "hidden", "type", "title", "tabIndex", "disabled", "dir"]);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value);
  }
  if (isData(tag, attributes, attributes.textContent)) element.translate = false;
  element.append(...children);
  return element;
}

/** Writes a text into an element, its data in elements that no browser translates. */
export const write = (element, text) =>
  element.replaceChildren(...partsOf(text).map((part) => make("span", { textContent: part })));

const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// Control characters are no XML, whatever a tokenizer makes of a text.
// oxlint-disable-next-line no-control-regex
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

export const escapeXml = (text) => text.replace(NO_XML, "\ufffd").replace(/[&<>"]/g, (letter) => ESCAPED[letter]);
export const shortNumber = (number) => String(Math.round(number * 100) / 100);

/** An element with these attributes, without those that are undefined; `inside` is text of elements. */
export function svgElement(tag, attributes, inside = "") {
  const named = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const start = [tag, ...named.map(([name, value]) => `${name}="${escapeXml(String(value))}"`)].join(" ");
  return inside ? `<${start}>${inside}</${tag}>` : `<${start}/>`;
}

/** The text of an SVG file: `size` are attributes of its root, `elements` what is on its ground. */
export function svgFile({ size, ground, title, source }, elements) {
  const about = [svgElement("title", {}, escapeXml(title)), svgElement("desc", {}, escapeXml(source))];
  const paper = svgElement("rect", { width: "100%", height: "100%", fill: ground });
  const root = { xmlns: "http://www.w3.org/2000/svg", ...size };
  return svgElement("svg", root, ["", ...about, paper, ...elements, ""].join("\n"));
}

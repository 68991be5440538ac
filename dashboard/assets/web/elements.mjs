// Makes elements. Text is always text: a wordpiece is never read as HTML.

const PROPERTIES = new Set(["className", "textContent", "hidden", "type", "title", "tabIndex", "disabled", "dir"]);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

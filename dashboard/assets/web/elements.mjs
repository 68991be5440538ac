// Making elements. Text is always text: what a wordpiece contains is never read as HTML.

const PROPERTIES = new Set(["className", "textContent", "hidden", "type", "title", "tabIndex", "disabled", "dir"]);

export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (PROPERTIES.has(name)) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Making elements. Text is always text: what a wordpiece contains is never read as HTML.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const PROPERTIES = new Set(["className", "textContent", "hidden", "type", "title", "tabIndex", "disabled", "dir"]);

  function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (PROPERTIES.has(name)) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  sentence.make = make;
})(window);

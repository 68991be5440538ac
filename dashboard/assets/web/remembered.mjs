// What this browser remembers of its reader beside the link; nothing where it stores nothing.

const named = (name) => `headscape-${name}`;

export function recall(name) {
  try {
    return window.localStorage.getItem(named(name)) || "";
  } catch {
    return "";
  }
}

export function remember(name, value) {
  try {
    if (value) window.localStorage.setItem(named(name), value);
    else window.localStorage.removeItem(named(name));
  } catch {
    // Private windows may refuse: the choice then lasts as long as the page.
  }
}

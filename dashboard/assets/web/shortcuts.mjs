// Keys of the whole page: `?` lists them, `g` and a letter opens a page, `/` goes to the search box, `c` copies the
// link. The list is in dashboard/shell.py, the letter of a page on its link.

/** Milliseconds in which the letter of a page follows `g`. */
const WAIT = 1500;

const isTyped = (target) => target.closest?.("input, textarea, select, [contenteditable='true'], [role='textbox']");
const pageLink = (letter) => document.querySelector(`#navigation a[data-letter="${letter}"]`);
const searchBox = () => document.querySelector("#page input[placeholder]:not([aria-haspopup])");

/** What a key does; null where it does nothing. `afterG`: the key before was g. */
export function actionOf(key, afterG) {
  if (afterG && /^[a-z]$/.test(key)) return { page: key };
  return { "?": { list: true }, "/": { search: true }, c: { copy: true }, g: { wait: true } }[key] ?? null;
}

function act(action) {
  if (action.list) document.getElementById("shortcuts").showModal();
  if (action.page) pageLink(action.page)?.click();
  if (action.search) searchBox()?.focus();
  if (action.copy) document.getElementById("copy-link").click();
  return Boolean(!action.wait && (!action.page || pageLink(action.page)) && (!action.search || searchBox()));
}

/** Follows the keys and the button of the list. */
export function followShortcuts() {
  let pressed = -Infinity;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyped(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const action = actionOf(event.key, event.timeStamp - pressed < WAIT);
    pressed = action?.wait ? event.timeStamp : -Infinity;
    if (action && act(action)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const list = document.getElementById("shortcuts");
    if (event.target.closest?.("#open-shortcuts")) list.showModal();
    else if (event.target === list || event.target.closest?.("#close-shortcuts")) list.close();
  });
}

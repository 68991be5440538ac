// What the browser does before the scripts of the page have come. It asks for the page of the link at once: the server
// puts it together meanwhile, and `createPages` in assets/web/follow.mjs takes the answer. It shows the words of the
// answer, which cannot be used yet: they go when the page itself stands below them, each word at the same place.
(function () {
  /** @typedef {Record<string, any>} Controls the properties of a control */

  /** Attributes that the look of an element depends on; the others are for a reader's actions. */
  const SEEN = /^(id|src|alt|dir|type|hidden|disabled|data-name|aria-(current|disabled|pressed|busy|sort))$/;
  /** Attributes by Dash's names. @type {Record<string, string>} */
  const SPELLED = { className: "class", colSpan: "colspan", rowSpan: "rowspan" };
  /** Controls with a label over a field. */
  const FIELDS = /^(Select|MultiSelect|TextInput|NumberInput)$/;
  /** Windows where the part beside a picture does not depend on the picture's size (style.css). */
  const TWO_COLUMNS = "(min-width: 1101px)";
  /** Pixels of a token of a sentence, and of the room above the tokens with a caption of 20.15 (sentence.css). */
  const [TOKEN, ABOVE_TOKENS] = [24, 112.15];

  /** @param {unknown} value @returns {any[]} */
  const listed = (value) => (value === null || value === undefined ? [] : [value].flat());

  /** @param {string} tag @param {Record<string, any>} properties @param {...(Node | string)} children */
  function make(tag, properties, ...children) {
    const made = document.createElement(tag === "link" ? "a" : tag);
    for (const [name, value] of Object.entries(properties)) {
      const spelled = SPELLED[name] ?? (SEEN.test(name) ? name : null);
      if (spelled && value !== false && typeof value !== "object")
        made.setAttribute(spelled, value === true ? "" : value);
    }
    setStyle(made, properties.style ?? {});
    made.append(...children);
    return made;
  }

  /** Sets a style, a number in pixels, as React does. @param {HTMLElement} made @param {Record<string, any>} style */
  function setStyle(made, style) {
    for (const [name, value] of Object.entries(style)) {
      const written = typeof value === "number" ? `${value}px` : value;
      if (name.startsWith("--")) made.style.setProperty(name, written);
      else Object.assign(made.style, { [name]: written });
    }
  }

  /** A node of a `Markup`, [tag, properties, ...children] or a text. @param {Markup} node @returns {Node | string} */
  function element(node) {
    if (!Array.isArray(node)) return typeof node === "boolean" ? "" : String(node ?? "");
    const [tag, properties, ...children] = node;
    return make(tag, properties, ...children.map(element));
  }

  /** An element of a class with components in it. @param {string} className @param {unknown} components */
  const place = (className, components) => make("div", { className }, ...listed(components).flatMap(component));

  /** The place of a control: its label, and a box with what is chosen. @param {string} type @param {Controls} given */
  function field(type, { label, value, data, placeholder, w, className = "" }) {
    const options = listed(data).flatMap((option) => option.items ?? [option]);
    const chosen = options.find((option) => option.value === value)?.label ?? value ?? "";
    const box = place("box", chosen === "" ? placeholder : String(chosen));
    const around = { className: `field mantine-${type}-root ${className}`, style: { width: w } };
    return make("div", around, place("name", label), box);
  }

  /** The list of tabs, and the panel of the one that is open. @param {Controls} given */
  function tabs({ value, children }) {
    const [list, ...panels] = listed(children);
    const open = panels.find(({ props }) => props.value === value);
    const names = listed(list.props.children).map(({ props }) => place("mantine-Tabs-tab", props.children));
    return [make("div", { className: "mantine-Tabs-list" }, ...names), place("tab-panel", open?.props.children)];
  }

  /** @param {Controls} given */
  function segments({ data }) {
    const names = listed(data).map((option) => place("", option.label ?? option));
    return make("div", { className: "segments" }, ...names);
  }

  /** Elements for a component of Mantine. @param {string} type @param {Controls} given */
  function control(type, given) {
    const { className = "", label, children } = given;
    if (FIELDS.test(type)) return [field(type, given)];
    if (type === "Tabs") return tabs(given);
    if (type === "SegmentedControl") return [segments(given)];
    if (type === "Switch") return [place(`toggle ${className}`, label)];
    if (type === "Alert") return [place("alert", children)];
    if (type === "Table") return [make("table", { className }, ...listed(children).flatMap(component))];
    return [];
  }

  /** Elements and texts of a Dash component. @param {any} node @returns {(Node | string)[]} */
  function component(node) {
    if (typeof node !== "object" || node === null) return [element(node)];
    const { namespace, type, props } = node;
    if (type === "Markup") return props.tree.map(element);
    if (namespace === "dash_mantine_components") return control(type, props);
    if (namespace === "dash_html_components")
      return [make(type.toLowerCase(), props, ...listed(props.children).flatMap(component))];
    if (type !== "Chart") return [];
    const { src, ...style } = props.still ?? {};
    const still = src ? [make("img", { src, alt: "", className: "still", style })] : [];
    return [make("div", { className: "undrawn drawing", style: props.style }, ...still)];
  }

  /**
   * The room of the lines of a sentence, and the part below it; none for other pictures, of unknown size.
   * @param {Page} page
   */
  function picture({ sentence, below }) {
    if (sentence?.show !== "head") return [];
    const height = ABOVE_TOKENS + TOKEN * sentence.units.length;
    const room = make("div", { className: "sentence-views", "aria-busy": "true", style: { height } });
    return [room, place("", below)];
  }

  /** @param {Page} page */
  function drawn(page) {
    const brand = make("a", { className: "brand" }, "Headscape");
    const middle = make("div", { className: "middle" });
    if (window.matchMedia(TWO_COLUMNS).matches)
      middle.append(make("div", { className: "picture" }, ...picture(page)), place("beside", page.beside));
    const early = make(
      "div",
      { className: "early" },
      make("div", { className: "header" }, brand, place("what-is-shown", page.header)),
      place("pages", page.navigation),
      make("div", { className: "page" }, place("above", page.above), middle),
    );
    early.inert = true;
    early.setAttribute("aria-hidden", "true");
    return early;
  }

  const isThere = () => document.querySelector("#above:not(:empty)") !== null;

  /** Removes the early page once the page is there. @param {HTMLElement} early */
  function removeLater(early) {
    const observer = new MutationObserver(() => {
      if (!isThere()) return;
      observer.disconnect();
      early.remove();
    });
    observer.observe(document.body, { childList: true, subtree: true });
  }

  /** The request for the page of the link. */
  function ask() {
    const { root } = JSON.parse(document.getElementById("link-table")?.textContent ?? "{}");
    const { pathname, search } = window.location;
    const request = { pathname, search, snapshot: "" };
    const bytes = window.crypto.getRandomValues(new Uint8Array(8));
    const wait = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const ending = new AbortController();
    const body = new URLSearchParams({ ...request, wait });
    const response = fetch(`${root}/data/page`, { method: "POST", body, signal: ending.signal, redirect: "manual" });
    return { request, wait, ending, response: response.catch(() => null) };
  }

  /** The page of an answer; null where something else has answered. @param {Response | null} answer */
  async function pageOf(answer) {
    const isPage = answer?.ok && answer.headers.get("Content-Type") === "application/json";
    return isPage ? answer.clone().json() : null;
  }

  /** @param {FirstPage} first */
  async function show({ response }) {
    const page = await response.then(pageOf);
    while (!document.body) await new Promise(requestAnimationFrame);
    if (!page?.above || document.getElementById("page") || window.location.hash) return;
    const early = drawn(page);
    document.body.append(early);
    removeLater(early);
  }

  window.firstPage = ask();
  show(window.firstPage);
})();

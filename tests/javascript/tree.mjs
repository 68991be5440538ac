// A page whose elements form a tree: selectors find them, events rise to the document, one has the keyboard. For tests
// without a browser of modules that draw elements and listen to them.

/** Names of attributes that are properties too, by the property. */
const REFLECTED = { id: "id", className: "class", type: "type" };

/** @param {string} name */
const dataName = (name) => `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The attributes data-*. */
const datasetOf = (element) =>
  new Proxy(
    {},
    {
      get: (_, name) => element.getAttribute(dataName(name)) ?? undefined,
      set: (_, name, value) => (element.setAttribute(dataName(name), value), true),
    },
  );

/** Whether an element matches a selector without spaces. */
function matchesSimple(element, selector, scope) {
  return selector.match(/:[\w-]+|\[[^\]]+\]|[.#]?[\w-]+|\*/g).every((part) => {
    if (part === ":scope") return element === scope;
    if (part === ":popover-open") return element.open;
    if (part === "*") return true;
    if (part[0] === ".") return (element.getAttribute("class") ?? "").split(" ").includes(part.slice(1));
    if (part[0] === "#") return element.id === part.slice(1);
    if (part[0] !== "[") return element.tag === part;
    const [, name, begins, value] = part.match(/^\[([\w-]+)(?:(\^?)="([^"]*)")?\]$/);
    const given = element.getAttribute(name);
    if (value === undefined) return given !== null;
    return begins ? given?.startsWith(value) : given === value;
  });
}

/** Whether an element matches the steps of a selector: simple selectors, and ">" between parent and child. */
function matchesSteps(element, steps, scope) {
  const last = steps.at(-1);
  if (!element || !matchesSimple(element, last, scope)) return false;
  const before = steps.slice(0, -1);
  if (!before.length) return true;
  if (before.at(-1) === ">") return matchesSteps(element.parent, before.slice(0, -1), scope);
  for (let above = element.parent; above; above = above.parent) if (matchesSteps(above, before, scope)) return true;
  return false;
}

export class Element {
  attributes = {};
  children = [];
  listeners = [];
  style = { setProperty() {} };
  value = "";
  disabled = false;
  parent = null;

  constructor(tag) {
    this.tag = tag;
    this.dataset = datasetOf(this);
    for (const [property, name] of Object.entries(REFLECTED))
      Object.defineProperty(this, property, {
        get: () => this.getAttribute(name) ?? "",
        set: (value) => {
          this.setAttribute(name, value);
        },
      });
  }

  get isConnected() {
    return this === document.documentElement || Boolean(this.parent?.isConnected);
  }

  get firstChild() {
    return this.children[0] ?? null;
  }

  get textContent() {
    return this.children.map((child) => child.textContent ?? child).join("");
  }

  set textContent(text) {
    this.replaceChildren(text);
  }

  append(...children) {
    for (const child of children) {
      child.remove?.();
      if (child instanceof Element) child.parent = this;
      this.children.push(child);
    }
  }

  /** An element that leaves the page leaves the keyboard to the body. */
  replaceChildren(...children) {
    for (const child of this.children) if (child instanceof Element) child.parent = null;
    this.children = [];
    this.append(...children);
    if (!document.activeElement.isConnected) document.activeElement = document.body;
  }

  remove() {
    this.parent?.replaceChildren(...this.parent.children.filter((child) => child !== this));
  }

  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }

  getAttribute(name) {
    return this.attributes[name] ?? null;
  }

  hasAttribute(name) {
    return name in this.attributes;
  }

  contains(other) {
    return other === this || Boolean(other?.parent && this.contains(other.parent));
  }

  matches(selector, scope = this) {
    return selector.split(",").some((one) => matchesSteps(this, one.trim().split(/\s+/), scope));
  }

  closest(selector) {
    return this.matches(selector) ? this : (this.parent?.closest(selector) ?? null);
  }

  querySelectorAll(selector, scope = this) {
    const inside = this.children.filter((child) => child instanceof Element);
    return inside.flatMap((child) => [
      ...(child.matches(selector, scope) ? [child] : []),
      ...child.querySelectorAll(selector, scope),
    ]);
  }

  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  addEventListener(name, act, options = {}) {
    this.listeners.push({ name, act, once: options.once });
  }

  /** Calls the listeners of this element and of all around it. */
  dispatch(name, fields = {}) {
    const event = { target: this, preventDefault: () => {}, stopPropagation: () => {}, ...fields };
    for (let at = this; at; at = at.parent ?? (at === document.documentElement ? document : null))
      for (const listener of at.listeners.filter((each) => each.name === name)) {
        if (listener.once) at.listeners.splice(at.listeners.indexOf(listener), 1);
        listener.act(event);
      }
    return event;
  }

  click() {
    this.dispatch("click");
  }

  focus() {
    if (this.isConnected && !this.disabled) document.activeElement = this;
  }

  select() {
    this.focus();
  }

  requestSubmit() {
    this.dispatch("submit");
  }

  getBoundingClientRect() {
    return { left: 0, top: 0, right: 0, bottom: 0, width: 0, height: 0 };
  }

  showModal() {
    this.open = true;
  }

  close() {
    this.open = false;
    this.dispatch("close");
  }

  showPopover() {
    this.open = true;
  }

  hidePopover() {
    this.open = false;
  }
}

/** Makes an empty page the document, with the window around it; gives the body of the page. */
export function openTree() {
  const [documentElement, body] = [new Element("html"), new Element("body")];
  const document = { documentElement, body, activeElement: body, parent: null, listeners: [] };
  document.createElement = (tag) => new Element(tag);
  document.getElementById = (id) => documentElement.querySelectorAll("*").find((each) => each.id === id) ?? null;
  document.querySelector = (selector) => documentElement.querySelector(selector);
  document.addEventListener = Element.prototype.addEventListener;
  document.dispatch = Element.prototype.dispatch;
  globalThis.document = document;
  globalThis.window = { crypto, location: { pathname: "/notes", search: "" }, innerWidth: 1000 };
  globalThis.CSS = { escape: (text) => text };
  documentElement.append(body);
  return body;
}

/** An element with attributes and children. */
export function makeElement(tag, attributes = {}, ...children) {
  const made = new Element(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Lets all that waits for an answer go on. */
export const settled = () => new Promise((resolve) => setTimeout(resolve, 10));

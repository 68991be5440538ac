// A page that knows which of its elements has the keyboard, for tests without a browser.

class Element {
  constructor(tag) {
    Object.assign(this, {
      tag,
      children: [],
      attributes: {},
      style: { setProperty() {} },
      listeners: {},
      disabled: false,
    });
  }

  append(...children) {
    this.children.push(...children.filter((child) => child instanceof Element));
  }

  /** A removed element with the keyboard leaves it to the page. */
  replaceChildren(...children) {
    if (this.children.some((child) => child.contains(document.activeElement))) document.activeElement = null;
    this.children = [];
    this.append(...children);
  }

  contains(other) {
    return this === other || this.children.some((child) => child.contains(other));
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  addEventListener(name, act) {
    this.listeners[name] = act;
  }

  querySelector() {
    return null;
  }

  querySelectorAll(tag) {
    return this.children.flatMap((child) => [...(child.tag === tag ? [child] : []), ...child.querySelectorAll(tag)]);
  }

  focus() {
    if (!this.disabled) document.activeElement = this;
  }
}

/** Makes a page the document. */
export function openPage() {
  const documentElement = { getAttribute: () => "light" };
  globalThis.document = { createElement: (tag) => new Element(tag), activeElement: null, documentElement };
}

// The Dash component TokenRuler: a strip of all tokens of a long sentence with the window on it, moved by click or key.
import { make, useOnElement } from "./elements.mjs";
import { hasModifier } from "./keyboard.mjs";

/**
 * @typedef {{ first: number, size: number, tokens: number }} Span the first token of the window, how many it has, and
 * how many there are
 */

/**
 * The window's first token after a key; null for a key that moves nothing.
 * @param {string} key @param {Span} span
 */
export function keyed(key, { first, size, tokens }) {
  const [step, last] = [size / 4, Math.max(0, tokens - size)];
  const to = /** @type {Record<string, number>} */ ({
    ArrowLeft: first - step,
    ArrowUp: first - step,
    ArrowRight: first + step,
    ArrowDown: first + step,
    PageUp: first - size,
    PageDown: first + size,
    Home: 0,
    End: last,
  })[key];
  return to === undefined ? null : Math.max(0, Math.min(last, to));
}

/** The first token of the window around a share of the strip. @param {number} share @param {Span} span */
export const clicked = (share, { size, tokens }) =>
  Math.max(0, Math.min(tokens - size, Math.round(share * tokens - size / 2)));

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(3)}%`;

/**
 * The shades of the strip as a background.
 * @param {number[]} shades
 */
export function background(shades) {
  if (!shades.length) return "";
  const stops = shades.map((shade, i) => {
    const [from, to] = [i, i + 1].map((edge) => percent(edge / shades.length));
    return `color-mix(in srgb, var(--query) ${shade}%, var(--panel)) ${from} ${to}`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** @typedef {Span & { value?: number, label: string, shades?: number[], setProps: SetProps }} RulerProps */

/**
 * The window as its reader has moved it, before the page follows: keys may come faster.
 * @param {{ value?: number } & Span} props @returns {Span}
 */
export const moved = ({ value, first, size, tokens }) => ({
  first: value === undefined || value === null || value >= tokens ? first : value,
  size,
  tokens,
});

class Ruler {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.host = host;
    this.span = { first: 0, size: 1, tokens: 1 };
    this.setProps = /** @type {SetProps} */ (() => {});
    this.thumb = make("span", { className: "thumb" });
    host.replaceChildren(this.thumb);
    host.addEventListener("click", (event) => this.move(clicked(this.share(event), this.span)));
    host.addEventListener("keydown", (event) => this.press(event));
  }

  /** @param {MouseEvent} event */
  share(event) {
    const { left, width } = this.host.getBoundingClientRect();
    return (event.clientX - left) / (width || 1);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const first = hasModifier(event) ? null : keyed(event.key, this.span);
    if (first === null) return;
    event.preventDefault();
    this.move(first);
  }

  /** Moves the window at once; the page follows. @param {number} first */
  move(first) {
    if (first === this.span.first) return;
    this.show({ ...this.span, first });
    this.setProps({ value: first });
  }

  /** @param {Span} span */
  show({ first, size, tokens }) {
    this.span = { first, size, tokens };
    const stop = Math.min(tokens, first + size);
    Object.assign(this.thumb.style, { left: percent(first / tokens), width: percent((stop - first) / tokens) });
    for (const [name, value] of Object.entries({
      "aria-valuemin": 0,
      "aria-valuemax": Math.max(0, tokens - 1),
      "aria-valuenow": first,
      "aria-valuetext": `tokens ${first + 1} to ${stop} of ${tokens}`,
    }))
      this.host.setAttribute(name, String(value));
  }

  /** @param {RulerProps} props */
  update({ label, shades = [], setProps, ...props }) {
    this.setProps = setProps;
    this.host.setAttribute("aria-label", label);
    this.host.style.backgroundImage = background(shades);
    this.show(moved(props));
  }

  release() {}
}

/** @param {RulerProps & { id: Record<string, string> }} props */
export function TokenRuler({ id, ...props }) {
  const ref = useOnElement(
    (host) => new Ruler(host),
    (ruler) => ruler.update(props),
  );
  const named = { id: JSON.stringify(id, Object.keys(id).sort()), ref, className: "ruler", tabIndex: 0 };
  const scrolls = { role: "scrollbar", "aria-controls": "page", "aria-orientation": "horizontal" };
  return window.React.createElement("div", { ...named, ...scrolls });
}

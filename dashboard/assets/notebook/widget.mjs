// The widget of a notebook, as anywidget calls it: a picture of the dashboard in a tree of its own, which no style of
// the notebook reaches, and whose style reaches nothing of the notebook.
import { followScheme } from "./scheme.mjs";
import { make } from "../web/elements.mjs";

/**
 * What anywidget calls to draw a widget into an element; it gives what takes the widget away.
 * @param {(model: WidgetModel, place: HTMLElement, signal: AbortSignal) => void} mount
 */
export const widgetOf =
  (mount) =>
  (/** @type {{ model: WidgetModel, el: HTMLElement }} */ { model, el }) => {
    const ending = new AbortController();
    const host = make("div", { className: "headscape", "data-lm-suppress-shortcuts": "true" });
    const place = make("div", { className: "notebook-widget" });
    host.attachShadow({ mode: "open" }).append(make("style", { textContent: model.get("sheet") }), place);
    el.append(host);
    const still = `.${model.get("still_class")}`;
    const hidden = make("style", { textContent: `${still}, .jp-OutputArea-child:has(${still}) { display: none }` });
    document.head.append(hidden);
    followScheme(host, ending.signal);
    mount(model, place, ending.signal);
    return () => (ending.abort(), host.remove(), hidden.remove());
  };

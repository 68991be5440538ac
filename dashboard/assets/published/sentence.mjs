// The page of a published sentence: the widget of a notebook, whose model is the page and a file with all weights.
import { mount } from "../notebook/sentence.mjs";
import { elementIn, elementOf } from "../web/elements.mjs";
import { start as startPage } from "./page.mjs";

/** Views that need the vectors of the sentence. */
const ASKS_PYTHON = "neuron";

/**
 * The model of a widget without a notebook.
 * @param {Record<string, unknown>} traits @returns {WidgetModel}
 */
export function fixedModel(traits) {
  const values = { ...traits };
  return {
    get: (name) => values[name],
    set: (name, value) => void (values[name] = value),
    save_changes: () => {},
    on: () => {},
    off: () => {},
  };
}

async function show() {
  const { content, state, weights } = JSON.parse(elementIn(document, "#published").textContent);
  const place = elementOf("picture");
  const response = await fetch(weights);
  if (!response.ok) throw new Error(`The site lacks the file ${weights}. Publish it again.`);
  const data = { weights: new DataView(await response.arrayBuffer()) };
  place.replaceChildren();
  const model = fixedModel({ content, state, data, answer: { of: null } });
  mount(model, place, new AbortController().signal);
  place.querySelector(`option[value="${ASKS_PYTHON}"]`)?.remove();
}

/** Starts the page: what every page does, and its views. */
export function start() {
  startPage();
  show().catch((error) => (elementOf("picture").textContent = error.message));
}

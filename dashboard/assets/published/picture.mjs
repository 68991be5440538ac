// A published picture: the canvas of the dashboard on files of the site. Of all heads a click opens the page of one; of
// one head a choice colours the points, and a click draws the lines of a point.
import { panelElements } from "../canvas/component.mjs";
import { Panels } from "../canvas/panels.mjs";
import { element } from "../notebook/points.mjs";
import { elementIn, elementOf } from "../web/elements.mjs";
import { hasModifier } from "../web/keyboard.mjs";
import { answerItself } from "../web/loading.mjs";
import { openFiles, pictureOf } from "./files.mjs";
import { startPage } from "./page.mjs";

/** Pixels of a picture in height at most, and pixels that a frame of another page leaves round it. */
const MOST_HEIGHT = 620;
const AROUND = 16;

const isEmbedded = () => document.documentElement.hasAttribute("data-embed");

/**
 * The fields of a link to a page of the dashboard are none of a published one: the camera stays out of the address.
 * @param {PublishedPicture} given @param {HTMLElement} place
 */
function show(given, place) {
  const state = { colour: 0, chosen: /** @type {Picture["chosen"]} */ (null) };
  answerItself(given.base, openFiles(given));
  const first = pictureOf(given, state);
  const host = /** @type {HTMLElement} */ (
    /** @type {unknown} */ (panelElements(/** @type {any} */ (element), { picture: first, noted: null }))
  );
  place.replaceChildren(host);
  const most = isEmbedded() ? window.innerHeight - AROUND : MOST_HEIGHT;
  const panels = new Panels(host, { most, leaves: Boolean(given.every) && !isEmbedded() });

  function draw() {
    panels.update(pictureOf(given, state), null, tell);
  }

  /** @param {Record<string, any>} event */
  function tell({ opened, left, picked }) {
    if (opened && given.pages[opened.panel]) window.location.assign(given.pages[opened.panel]);
    if (left && given.every) window.location.assign(given.every);
    if (!picked) return;
    state.chosen = picked.token < 0 ? null : { token: picked.token, role: picked.role };
    draw();
  }

  host.addEventListener("keydown", (event) => {
    const href = event.shiftKey || hasModifier(event) || event.target !== panels.frame ? "" : given.steps[event.key];
    if (href && !isEmbedded()) window.location.assign(href);
  });
  const choice = /** @type {HTMLSelectElement | null} */ (document.getElementById("colour"));
  choice?.addEventListener("change", () => {
    state.colour = choice.selectedIndex;
    for (const legend of document.querySelectorAll("[data-legend]"))
      legend.toggleAttribute("hidden", legend.getAttribute("data-legend") !== choice.value);
    draw();
  });
  draw();
}

startPage();
show(JSON.parse(elementIn(document, "#published").textContent), elementOf("picture"));

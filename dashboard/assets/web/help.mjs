// Help and the tour: dialogs of the shell (dashboard/help_dialog.py). The server fills them when they are opened, for
// the model that the page shows; the tour is read by its buttons or the arrow keys.

/** @param {string} id */
const dialogOf = (id) => /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
let asked = 0;

/** Opens Help or the tour; nothing before the page has it. @param {string} id */
export function openHelp(id) {
  const dialog = dialogOf(id);
  if (!dialog) return;
  dialogOf("help")?.close();
  window.dash_clientside.set_props("asked-help", { data: ++asked });
  dialog.showModal();
  if (id === "tour") show(dialog, 0);
}

/**
 * The step of a tour after one that is turned back or ahead; null where the tour is over.
 * @param {number} step @param {number} turn @param {number} steps
 */
export const stepAfter = (step, turn, steps) => (step + turn >= steps ? null : Math.max(0, step + turn));

/** @param {HTMLDialogElement} tour @param {number} step */
function show(tour, step) {
  const steps = Number(tour.dataset.steps);
  const [back, ahead] = ["-1", "1"].map((turn) => tour.querySelector(`[data-turn="${turn}"]`));
  tour.dataset.step = String(step);
  tour.querySelector(".tour-place")?.replaceChildren(`${step + 1} of ${steps}`);
  back?.toggleAttribute("disabled", step === 0);
  ahead?.replaceChildren(step === steps - 1 ? "Done" : "Next");
  ahead?.focus();
}

/** @param {HTMLDialogElement} tour @param {number} turn */
function turnTour(tour, turn) {
  const step = stepAfter(Number(tour.dataset.step), turn, Number(tour.dataset.steps));
  if (step === null) tour.close();
  else show(tour, step);
}

/** Follows the buttons of both, a click beside them, and the arrow keys of the tour. Escape is the browser's. */
export function followHelp() {
  document.addEventListener("click", ({ target }) => {
    const button = target?.closest?.("[data-help], [data-close], [data-turn], dialog a[href]:not([target])");
    const { help, close, turn } = button?.dataset ?? {};
    if (help) openHelp(help);
    else if (close) dialogOf(close)?.close();
    else if (turn) turnTour(/** @type {HTMLDialogElement} */ (button?.closest("dialog")), Number(turn));
    else if (button || target instanceof HTMLDialogElement)
      /** @type {HTMLDialogElement | null} */ (target?.closest?.("dialog") ?? null)?.close();
  });
  document.addEventListener("keydown", (event) => {
    const tour = dialogOf("tour");
    const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!tour?.open || !turn || (turn > 0 && tour.dataset.step === String(Number(tour.dataset.steps) - 1))) return;
    event.preventDefault();
    turnTour(tour, turn);
  });
}

// A choice draws the controls anew; the keyboard stays where it was.
(function () {
  const FOCUSABLE = "a[href], button, input, [tabindex]";
  let last = null;

  const partsOf = (control) => [control, ...control.querySelectorAll(FOCUSABLE)];

  /** The control an element belongs to, and which of its parts it is: a slider has two thumbs. Only Dash's own ids last. */
  function placeOf(element) {
    const control = element.closest('[id^="{"]') || (element.id && element);
    return control ? { id: control.id, part: partsOf(control).indexOf(element) } : null;
  }

  document.addEventListener("focusin", (event) => (last = placeOf(event.target)));
  new MutationObserver(() => {
    if (document.activeElement !== document.body || !last) return;
    const control = document.getElementById(last.id);
    if (control?.closest("#above, #beside, #below")) partsOf(control)[last.part]?.focus({ preventScroll: true });
  }).observe(document.documentElement, { childList: true, subtree: true });
})();

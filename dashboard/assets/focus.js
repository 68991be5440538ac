// A choice draws the controls anew; the keyboard stays where it was.
(function () {
  let last = "";

  document.addEventListener("focusin", (event) => (last = event.target.id || ""));
  new MutationObserver(() => {
    if (document.activeElement !== document.body || !last) return;
    const again = document.getElementById(last);
    if (again && again.closest("#above, #beside, #below")) again.focus({ preventScroll: true });
  }).observe(document.documentElement, { childList: true, subtree: true });
})();

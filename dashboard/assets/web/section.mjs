// A link within a page that names a part of it goes there: Dash's own goes to the top.
(function (root) {
  /** Dash has taken the click, and scrolled, before it comes here. */
  root.addEventListener("click", (event) => {
    const link = event.defaultPrevented && event.target.closest?.("a[href]");
    if (link?.hash) document.getElementById(link.hash.slice(1))?.scrollIntoView();
  });
})(window);

// Runs before the first paint, so that a dark page does not flash white. Mantine keeps the choice under this name.
(function () {
  let chosen = "auto";
  try {
    chosen = window.localStorage.getItem("mantine-color-scheme-value") || "auto";
  } catch {
    // A browser that stores nothing follows the system.
  }
  const dark = chosen === "dark" || (chosen === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();

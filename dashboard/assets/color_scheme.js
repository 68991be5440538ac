// Runs before the first paint, so that a dark page does not flash white. Mantine keeps the choice under this name.
(function () {
  const chosen = window.localStorage.getItem("mantine-color-scheme-value") || "auto";
  const dark = chosen === "dark" || (chosen === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();

// Asks for the page of the link at once: the server puts it together while the scripts that show it are on their way.
// `createPages` in assets/web/follow.mjs takes the answer.
(function () {
  const { root } = JSON.parse(document.getElementById("link-table")?.textContent ?? "{}");
  const { pathname, search } = window.location;
  const request = { pathname, search, snapshot: "" };
  const bytes = window.crypto.getRandomValues(new Uint8Array(8));
  const wait = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const ending = new AbortController();
  const body = new URLSearchParams({ ...request, wait });
  const response = fetch(`${root}/data/page`, { method: "POST", body, signal: ending.signal, redirect: "manual" });
  window.firstPage = { request, wait, ending, response: response.catch(() => null) };
})();

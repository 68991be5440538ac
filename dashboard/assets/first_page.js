// Asks for the first page before the scripts that show it are read: the server puts it together meanwhile. What answers
// the request later takes this answer (web/session.mjs).
(function () {
  const { pathname, search } = window.location;
  const bytes = window.crypto.getRandomValues(new Uint8Array(8));
  const wait = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const body = new URLSearchParams({ pathname, search, snapshot: "", wait });
  const { src } = /** @type {HTMLScriptElement} */ (document.currentScript);
  const response = fetch(new URL("../data/page", src), { method: "POST", body, redirect: "manual" });
  response.catch(() => {}); // said where the answer is taken
  window.firstPage = { wait, body: String(body), response };
})();

// Says where the session of the reader has ended: every request of the page goes through `fetch`, those of Dash too.
import { make } from "./elements.mjs";

/** The header by which the server names its page to sign in (dashboard/access/gate.py). */
const HEADER = "Sign-In";

/** The page to sign in, which returns to the link in the address bar. */
export const signInLink = (page, { pathname, search }) => `${page}?next=${encodeURIComponent(pathname + search)}`;

/** The page to sign in, where a response says that the session has ended; else null. */
export const signInPage = ({ status, headers }) => (status === 401 ? headers.get(HEADER) : null);

function show(page) {
  if (document.getElementById("session-ended")) return;
  const link = make("a", { textContent: "Sign in again", href: signInLink(page, window.location) });
  link.addEventListener("click", () => (link.href = signInLink(page, window.location)));
  const attributes = { id: "session-ended", className: "session-ended", role: "alert" };
  document.body.append(make("div", attributes, "Your session has ended. ", link, "."));
}

/** To Dash a callback without a session is one that changes nothing: it would read the text of a refusal twice. */
export const forDash = (response) =>
  new URL(response.url).pathname.endsWith("/_dash-update-component") ? new Response(null, { status: 204 }) : response;

/** Watches the responses to all requests of the page. */
export function watchSession() {
  const { fetch } = window;
  window.fetch = async (...request) => {
    const response = await fetch(...request);
    const page = signInPage(response);
    if (!page) return response;
    show(page);
    return forDash(response);
  };
}

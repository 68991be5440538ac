// Notices that the session of the reader has ended: every request of the page goes through `fetch`, those of Dash too.
import { element } from "./elements.mjs";

/** The header by which the server names its page to sign in (dashboard/access/gate.py). */
const HEADER = "Sign-In";

/** The page to sign in, which returns to the link in the address bar. */
export const signInLink = (page, { pathname, search }) => `${page}?next=${encodeURIComponent(pathname + search)}`;

/** The page to sign in, where the server answers so because the session has ended; else null. */
export const signInPage = ({ status, headers }) => (status === 401 ? headers.get(HEADER) : null);

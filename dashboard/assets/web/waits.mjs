// What a page waits for: where the request that brings it is lost, the page asks again until it has an answer.

/** Milliseconds until a lost request is sent again. */
const PAUSE = 2000;
const LOST = "The connection to the server is lost. This page asks again by itself.";
/** What the names of elements around a wait begin with (dashboard/ui/job.py). */
const AROUND = ["state", "clock", "cancel", "later"];

function bodyOf(body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** The id of what says how far a wait is, where Dash asks for its content; null for any other request. */
export function stateOf(body) {
  const wanted = typeof body === "string" ? bodyOf(body)?.inputs?.[0] : null;
  const { job, name, deferred, is, wait } = wanted?.property === "id" ? (wanted.id ?? {}) : {};
  if (is === "content") return { deferred, is: "state", wait };
  return job && !AROUND.includes(job) ? { job: "state", name } : null;
}

/** Whether the page still waits: Dash writes the keys of an id in their order. */
const isThere = (id) =>
  document.getElementById(JSON.stringify(Object.fromEntries(Object.entries(id).toSorted()))) !== null;

/** The answer to a request; what fills a wait is asked for again as long as it is lost and the page waits for it. */
export async function persistent(send, body, isLost, { waits = isThere, pause = PAUSE } = {}) {
  const state = stateOf(body);
  if (!state) return send();
  for (;;) {
    const answer = await send().catch((error) => error);
    const failed = answer instanceof Error;
    if (!(failed ? answer.name !== "AbortError" : isLost(answer)) || !waits(state)) {
      if (failed) throw answer;
      return answer;
    }
    window.dash_clientside.set_props(state, { children: LOST });
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

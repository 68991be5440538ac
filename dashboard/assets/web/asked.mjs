// Pages as the server writes them. Only the newest is waited for: one that is asked for before is given up, at the server too.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const URL_OF_PAGES = "/data/page";
  const SILENT = "The server does not answer. Reload the page in a while.";

  /** What could not be had, as the page of a link would say it. */
  const problem = (sentence) => ({ problem: sentence });

  async function fetchPage(asked, signal) {
    const response = await root.fetch(URL_OF_PAGES, { method: "POST", body: new URLSearchParams(asked), signal });
    return response.ok ? response.json() : problem(await response.text());
  }

  function create() {
    let waiting = null;
    let ahead = null;

    function start(asked) {
      const ending = new AbortController();
      const page = fetchPage(asked, ending.signal).catch((error) => (error.name === "AbortError" ? null : problem(SILENT)));
      return { asked, ending, page, key: JSON.stringify(asked) };
    }

    /** The page, or null where another one was asked for since. */
    async function now(asked) {
      waiting?.ending.abort();
      const mine = (waiting = ahead?.key === JSON.stringify(asked) ? ahead : start(asked));
      if (ahead !== mine) ahead?.ending.abort();
      ahead = null;
      const page = await mine.page;
      if (waiting !== mine) return null;
      return page;
    }

    /** Have a page and its points come before anybody asks for them. */
    function beforehand(asked) {
      ahead?.ending.abort();
      const mine = (ahead = start(asked));
      mine.page.then((page) => page?.picture && mine === ahead && pointsOf(page, mine.ending.signal));
    }

    return { now, beforehand };
  }

  /** The points of the picture of a page are there, or are not to be had: the picture says which. */
  const pointsOf = (page, signal) => headscape.loading.beforehand(page.picture.points, signal).catch(() => null);

  headscape.asked = { create, pointsOf };
})(window);

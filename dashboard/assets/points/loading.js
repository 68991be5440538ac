// Parts of a picture by URL: what is there already is kept, what is no longer wanted is cancelled, what comes too late is dropped.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});

  async function get(url, signal) {
    const response = await fetch(url, { signal });
    if (!response.ok) throw new Error(await response.text());
    return response;
  }

  /** `load({name: {url, read}})` resolves to {name: what was read, or null}; to null if it was asked again meanwhile. */
  function create() {
    const parts = new Map();
    let turn = 0;

    function part(name, { url, read }) {
      const known = parts.get(name);
      if (known && known.url === url) return known.value;
      known?.abort.abort();
      parts.delete(name);
      if (!url) return null;
      const abort = new AbortController();
      const value = get(url, abort.signal).then(read);
      parts.set(name, { url, abort, value });
      value.catch(() => parts.get(name)?.value === value && parts.delete(name));
      return value;
    }

    async function load(wanted) {
      const mine = ++turn;
      try {
        const names = Object.keys(wanted);
        const values = await Promise.all(names.map((name) => part(name, wanted[name])));
        return mine === turn ? Object.fromEntries(names.map((name, i) => [name, values[i]])) : null;
      } catch (error) {
        if (mine !== turn || error.name === "AbortError") return null;
        throw error;
      }
    }

    function cancel() {
      turn++;
      for (const { abort } of parts.values()) abort.abort();
      parts.clear();
    }

    return { load, cancel };
  }

  const bytes = (read) => async (response) => read(await response.arrayBuffer());
  const json = (response) => response.json();

  headscape.loading = { create, get, bytes, json };
  if (typeof module !== "undefined") module.exports = headscape.loading;
})(typeof window === "undefined" ? globalThis : window);

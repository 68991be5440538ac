// The tokens of a sentence as buttons, one of them reached by Tab and the others by arrow keys.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);

  function token(unit, i, side, units) {
    const classes = ["token", unit.special && "special", unit.segment === 1 && "second", sentence.rows.begins(units, i) && "begins"];
    const made = make("button", { type: "button", className: classes.filter(Boolean).join(" "), dir: "auto", textContent: unit.name });
    for (const [name, value] of Object.entries({ "data-unit": i, "aria-label": `${unit.name}, ${side} ${i}${unit.segment ? ", sentence B" : ""}` })) made.setAttribute(name, value);
    return made;
  }

  function create(side, name) {
    const list = make("div", { className: `tokens ${side}`, role: "group", "aria-label": name, "data-side": side });
    let drawn = "";
    let units = [];

    /** The same tokens keep their elements, and with them the reader's place. */
    function renew(given) {
      const text = JSON.stringify(given);
      if (text === drawn) return;
      [drawn, units] = [text, given];
      list.replaceChildren(...units.map((unit, i) => token(unit, i, side, units)));
      stand(0);
    }

    function mark(selected) {
      [...list.children].forEach((one, i) => one.setAttribute("aria-pressed", String(selected.includes(i))));
    }

    /** The token that Tab reaches. */
    function stand(i) {
      list.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
      [...list.children].forEach((one, at) => (one.tabIndex = at === i ? 0 : -1));
    }

    function focus(i) {
      const at = Math.max(0, Math.min(units.length - 1, i));
      stand(at);
      list.children[at]?.focus();
    }

    const unitOf = (event) => Number(event.target.closest?.(".token")?.dataset.unit ?? -1);

    return { list, side, renew, mark, stand, focus, unitOf, get units() { return units; } };
  }

  /** The selection once a token was clicked: that token alone, or with more added or taken away; [] for none. */
  function select(selected, unit, more) {
    if (more) return selected.includes(unit) ? selected.filter((one) => one !== unit) : [...selected, unit].sort((a, b) => a - b);
    return selected.length === 1 && selected[0] === unit ? [] : [unit];
  }

  sentence.tokens = { create, select };
})(window);

// The card of a point: its token in its sentence, and the attention it gives and gets. Text only, never HTML.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const AROUND = 24;

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function sentence(card) {
    const first = Math.max(0, card.position - AROUND);
    const last = Math.min(card.wordpieces.length, card.position + AROUND + 1);
    const pieces = card.wordpieces.slice(first, last).map((piece, i) => {
      const joined = piece.startsWith("##") ? piece.slice(2) : (i ? " " : "") + piece;
      return first + i === card.position ? element("mark", card.role, joined) : joined;
    });
    return element("p", "sentence", first ? "… " : "", ...pieces, last < card.wordpieces.length ? " …" : "");
  }

  function partners(card) {
    const rows = card.partners.map((partner) =>
      element("tr", "", element("td", "", partner.wordpiece), element("td", "number", `at ${partner.position}`), element("td", "number", (100 * partner.weight).toFixed(1) + " %")),
    );
    const title = card.role === "query" ? "as a query it attends to" : "as a key it is attended to by";
    return [element("h3", "", title), element("table", "", element("tbody", "", ...rows))];
  }

  /** The DOM of a card. */
  function draw(card) {
    const place = card.where || `${card.role}, position ${card.position} of ${card.wordpieces.length} in sentence ${card.sentence}${card.label ? `, ${card.label}` : ""}`;
    return element(
      "div",
      "",
      element("h2", card.role, card.wordpiece),
      element("p", "where", place),
      sentence(card),
      ...(card.partners ? [element("p", "where", `attention received ${card.received.toFixed(2)} (uniform: 1), entropy given ${card.entropy.toFixed(2)} nats`), ...partners(card)] : []),
    );
  }

  headscape.card = { draw };
})(window);

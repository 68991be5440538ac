// The Dash component Markup: plain HTML as React draws it. Its Python, which says what a tree is, is dashboard/ui/markup.py.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});

  /** To the top only where it is another page. */
  function follow(event) {
    if (event.metaKey || event.shiftKey || event.altKey || event.ctrlKey) return;
    event.preventDefault();
    const before = root.location.pathname;
    headscape.address.visit(event.currentTarget.href);
    if (root.location.pathname !== before) root.scrollTo(0, 0);
  }

  /** A table scrolls within itself in a narrow window: where it is not in something that scrolls anyway. */
  const isWide = (tag, around) => tag === "table" && !around.split(" ").includes("scroll");

  function draw(node, around) {
    if (!Array.isArray(node)) return node;
    const [tag, properties, ...children] = node;
    const make = root.React.createElement;
    const inner = children.map((child) => draw(child, properties.className || ""));
    if (tag === "link") return make("a", { ...properties, onClick: follow }, ...inner);
    const made = make(tag, properties, ...inner);
    return isWide(tag, around) ? make("div", { className: "wide" }, made) : made;
  }

  headscape.Markup = ({ tree }) => root.React.createElement(root.React.Fragment, null, ...tree.map((node) => draw(node, "")));
})(window);

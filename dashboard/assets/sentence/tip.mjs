// What is said beside the pointer or the keyboard.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const AWAY = 8;

  function create(views) {
    const tip = views.tip;

    /** Left, right, above or below a rectangle of the window, and within the component. */
    function place(content, box, side = "below") {
      tip.replaceChildren(...content);
      tip.style.display = "block";
      const host = views.host.getBoundingClientRect();
      const [width, height] = [tip.offsetWidth, tip.offsetHeight];
      const middle = box.top + box.height / 2 - height / 2;
      const beside = side === "left" || side === "right";
      const low = box.bottom + AWAY;
      const top = beside ? middle : low + height > root.innerHeight ? box.top - AWAY - height : low;
      const left = { left: box.left - AWAY - width, right: box.right + AWAY }[side] ?? box.left + box.width / 2 - width / 2;
      const [most, lowest] = [Math.min(host.right, root.innerWidth) - width, root.innerHeight - height - AWAY];
      tip.style.left = `${Math.max(0, Math.min(most, left) - host.left)}px`;
      tip.style.top = `${Math.max(beside ? AWAY : -Infinity, beside ? Math.min(lowest, top) : top) - host.top}px`;
    }

    const hide = () => (tip.style.display = "none");

    return { place, hide };
  }

  sentence.tip = { create };
})(window);

// The names of layers and heads beside the grid: they stay with their panels while it is zoomed and moved.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});

  /** Names along one axis (0 across, 1 down), each at the middle of its panel; none beside the frame. */
  function along(panels, className, axis, panelOf, long) {
    [...panels.host.querySelector(className).children].forEach((name, i) => {
      const box = headscape.layout.rectangle(panels.layout, panels.camera, panelOf(i));
      const middle = box[axis] + box[2] / 2;
      name.style.transform = axis ? `translateY(${middle}px) translateY(-50%)` : `translateX(${middle}px) translateX(-50%)`;
      name.style.visibility = middle < 0 || middle > long ? "hidden" : "visible";
    });
  }

  function place(panels) {
    if (panels.single) return;
    const { columns, width, height } = panels.layout;
    along(panels, ".column-names", 0, (i) => i, width);
    along(panels, ".row-names", 1, (i) => i * columns, height);
  }

  headscape.names = { place };
})(window);

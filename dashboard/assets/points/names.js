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

  /** Where panels have a name each: at the left end of the line above it. */
  function above(panels) {
    const { layout, camera } = panels;
    [...panels.host.querySelector(".panel-names").children].forEach((name, panel) => {
      const [left, top, side] = headscape.layout.rectangle(layout, camera, panel);
      name.style.transform = `translate(${left}px, ${top}px) translateY(-100%)`;
      name.style.maxWidth = `${side}px`;
      name.style.visibility = left < -1 || left + 20 > layout.width || top < layout.title - 1 || top > layout.height ? "hidden" : "visible";
    });
  }

  function place(panels) {
    if (panels.single) return;
    if (panels.layout.title) return above(panels);
    const { columns, width, height } = panels.layout;
    along(panels, ".column-names", 0, (i) => i, width);
    along(panels, ".row-names", 1, (i) => i * columns, height);
  }

  headscape.names = { place };
})(window);

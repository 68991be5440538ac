// Where there is no WebGL2: a picture from the server, and a line that says what it lacks.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const NO_SPACE = "This browser has no WebGL2: pictures in space cannot be shown. Choose one in the plane.";
  const STILL = "This browser has no WebGL2: this is a still picture, without colours, search, lasso and zoom.";

  function load(panels) {
    const { picture, image, note, layout, scale, scheme } = panels;
    const deep = picture.dimensions === 3 || !picture.raster;
    note.textContent = deep ? NO_SPACE : STILL;
    note.hidden = false;
    image.hidden = deep;
    image.onload = () => panels.finish("", true);
    image.onerror = () => panels.finish("The picture could not be loaded. Reload the page.");
    if (deep || !layout) return panels.finish("", true);
    const pixels = (length) => Math.round(length * scale);
    image.src = `${picture.raster}&side=${pixels(layout.side)}&gap=${pixels(layout.gap)}&title=${pixels(layout.title)}&scheme=${scheme}`;
  }

  headscape.stillPicture = { load };
})(window);

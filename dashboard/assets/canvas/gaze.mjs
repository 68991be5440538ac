// Where the reader looks, and how that moves: by the wheel, a hand, a button, or by itself.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  /** So much of the frame a panel fills when the wheel opens its head. */
  const OPENS_AT = 0.9;

  function create(panels) {
    const state = { gliding: 0, look, zoom, pan, turn, settle, reset, glide, land, still };
    let arrive = null;

    function look(camera) {
      panels.camera = camera;
      panels.frame.dataset.zoom = camera.zoom.toFixed(2);
      panels.hover.hide();
      panels.pace.moved();
      panels.paint();
      panels.layer.moved();
      panels.address.write();
    }

    function zoom(factor, px = panels.layout.width / 2, py = panels.layout.height / 2) {
      if (!panels.painter || state.gliding) return;
      const { layout, single } = panels;
      const most = single ? undefined : headscape.layout.filling(layout);
      look(headscape.camera.zoomAt(panels.camera, factor, px / layout.width, 1 - py / layout.height, most));
      if (!single && factor > 1 && panels.camera.zoom >= OPENS_AT * most) panels.openAt(px, py);
    }

    function pan(dx, dy) {
      look(headscape.camera.pan(panels.camera, dx / panels.layout.width, -dy / panels.layout.height));
    }

    function turn(yaw, pitch) {
      look(headscape.camera.turn(panels.camera, yaw, pitch));
    }

    /** A link says whole degrees: so the picture stands at whole degrees once the hand is off. */
    function settle() {
      const { yaw, pitch } = panels.camera;
      if (yaw % 1 || pitch % 1) look({ ...panels.camera, yaw: Math.round(yaw), pitch: Math.round(pitch) });
    }

    function reset() {
      still();
      look(headscape.camera.start(panels.picture.dimensions));
    }

    /** Moves there within a moment, then does what follows. */
    function glide(target, then = () => {}) {
      still();
      arrive = () => (look(target), then());
      headscape.glide.start(panels, target, arrive);
    }

    /** The way ends where it leads: a key is not lost to it. */
    function land() {
      if (!state.gliding) return;
      still();
      arrive();
    }

    function still() {
      root.cancelAnimationFrame(state.gliding);
      state.gliding = 0;
    }

    return state;
  }

  headscape.gaze = { create };
})(window);

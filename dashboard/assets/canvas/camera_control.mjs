// Moves the camera: by the wheel, a drag, a button or an animation, and writes it into the address bar.
import { betweenCameras, formatCamera, panCamera, startCamera, turnCamera, zoomCamera } from "./camera.mjs";
import { fillingZoom } from "./layout.mjs";

/** Share of the frame that a panel fills when zooming by the wheel opens its head. */
const OPENS_AT = 0.9;
/** Milliseconds of an animation, and from the last movement until the address bar has it. */
const [DURATION, WRITE_PAUSE] = [350, 250];

export const ease = (part) => part * part * (3 - 2 * part);
export const isReduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function createCameraControl(panels) {
  const state = { animating: 0, look, zoom, pan, turn, settle, reset, animateTo, finish, stop };
  let arrive = null;

  function look(camera) {
    panels.camera = camera;
    panels.frame.dataset.zoom = camera.zoom.toFixed(2);
    panels.hover.hide();
    panels.detail.moved();
    panels.paint();
    panels.layer.moved();
    panels.cameraLink.write();
  }

  function zoom(factor, px = panels.layout.width / 2, py = panels.layout.height / 2) {
    if (!panels.painter || state.animating) return;
    const { layout, single } = panels;
    const most = single ? undefined : fillingZoom(layout);
    look(zoomCamera(panels.camera, factor, px / layout.width, 1 - py / layout.height, most));
    if (!single && factor > 1 && panels.camera.zoom >= OPENS_AT * most) panels.openAt(px, py);
  }

  function pan(dx, dy) {
    look(panCamera(panels.camera, dx / panels.layout.width, -dy / panels.layout.height));
  }

  function turn(yaw, pitch) {
    look(turnCamera(panels.camera, yaw, pitch));
  }

  /** A link says whole degrees: so the picture stands at whole degrees once the hand is off. */
  function settle() {
    const { yaw, pitch } = panels.camera;
    if (yaw % 1 || pitch % 1) look({ ...panels.camera, yaw: Math.round(yaw), pitch: Math.round(pitch) });
  }

  function reset() {
    stop();
    look(startCamera(panels.picture.dimensions));
  }

  /** Moves the camera there within a moment, then calls `then`; at once for a reader who wants reduced motion. */
  function animateTo(target, then = () => {}) {
    stop();
    arrive = () => {
      look(target);
      then();
    };
    if (isReduced()) arrive();
    else animate(target);
  }

  function animate(target) {
    const [from, begin] = [panels.camera, performance.now()];
    const step = (now) => {
      const part = Math.max(0, Math.min(1, (now - begin) / DURATION));
      if (part === 1) return finish();
      look(betweenCameras(from, target, ease(part)));
      state.animating = requestAnimationFrame(step);
    };
    state.animating = requestAnimationFrame(step);
  }

  /** Ends the animation where it leads, so that no key is lost to it. */
  function finish() {
    if (!state.animating) return;
    stop();
    arrive();
  }

  function stop() {
    cancelAnimationFrame(state.animating);
    state.animating = 0;
  }

  return state;
}

/** The query string with another `at`, or without one; its other fields stay as they were written. */
export function withCamera(search, at) {
  const others = search
    .replace(/^\?/, "")
    .split("&")
    .filter((field) => field && !field.startsWith("at="));
  const fields = at ? [...others, `at=${at}`] : others;
  return fields.length ? "?" + fields.join("&") : "";
}

/** Keeps the camera in the address bar as `at`, so that a link shows the same part of the picture. */
export function createCameraLink(panels) {
  let waiting = 0;
  const page = () => window.location.pathname + withCamera(window.location.search, "");

  /** Soon; not where the page has changed by then, nor while the picture still shows the panel that it grows out of. */
  function write() {
    clearTimeout(waiting);
    const from = page();
    waiting = setTimeout(() => panels.picture && !panels.emerging && page() === from && replace(), WRITE_PAUSE);
  }

  function replace() {
    const search = withCamera(window.location.search, formatCamera(panels.camera, panels.picture.dimensions));
    const { pathname, hash } = window.location;
    if (search !== window.location.search)
      window.history.replaceState(window.history.state, "", pathname + search + hash);
  }

  return { write, forget: () => clearTimeout(waiting) };
}

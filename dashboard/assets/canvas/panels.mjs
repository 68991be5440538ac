// The Dash component PointPanels, and its state: the picture, its loaded parts and the camera. Pointer, keyboard and
// toolbar call it.
import {
  createCameraControl,
  createCameraLink,
  createLevelOfDetail,
  parseCamera,
  pointStyle,
  startCamera,
} from "./camera.mjs";
import { createPainter, decodeColours, decodeMask, decodePoints } from "./painter.mjs";
import { createHover } from "./hover.mjs";
import { createSearch, listenToKeyboard, listenToPointer } from "./input.mjs";
import { panelElements, placeNames, resize, showStillPicture } from "./frame.mjs";
import { fillingCamera, panelAt } from "./layout.mjs";
import { createOverlay } from "./overlay.mjs";
import { createPlayer, firstPanel, pointsOf, shareSequence, sharedPanel, standAlike, standIn } from "./player.mjs";
import { LOST, drawForPaper } from "./save.mjs";
import { createToolbar } from "./toolbar.mjs";
import { neighbour, visit } from "../web/address.mjs";
import { elementIn, required, tellDash, useOnElement, schemeNow, watchScreen } from "../web/elements.mjs";
import { createLoader, readBytes } from "../web/loading.mjs";

const NO_LINK = { write: () => {}, forget: () => {}, says: () => false };

export class Panels {
  /**
   * `most`: largest height in pixels, in a notebook or published page, where the address bar stays as it is. `leaves`:
   * whether there is a way back out of a single panel.
   * @param {HTMLElement} host @param {{ most?: number, leaves?: boolean }} given
   */
  constructor(host, { most, leaves = true } = {}) {
    this.host = host;
    this.leaves = leaves;
    this.mostHeight = most;
    const sheet = /** @type {(name: string) => HTMLCanvasElement} */ ((name) => elementIn(host, name));
    this.frame = elementIn(host, ".frame");
    this.tools = elementIn(host, ".tools");
    this.note = elementIn(host, ".note");
    this.problem = elementIn(host, ".problem");
    this.announcement = elementIn(host, ".announcement");
    this.ring = elementIn(host, ".ring");
    this.tip = elementIn(host, ".tip");
    this.canvas = sheet(".frame canvas");
    this.overlay = sheet(".overlay");
    this.paper = sheet(".paper");
    this.image = /** @type {HTMLImageElement} */ (elementIn(host, ".frame img"));
    this.pictureNow = /** @type {Picture | null} */ (null);
    this.noted = /** @type {Marks | null} */ (null);
    this.layoutNow = /** @type {Layout | null} */ (null);
    this.setProps = /** @type {SetProps} */ (() => {});
    this.kept = /** @type {(() => void) | null} */ (null);
    this.listening = new AbortController();
    this.data = /** @type {Loaded} */ ({});
    this.count = this.waiting = this.scale = 0;
    this.gridPanel = -1;
    this.keyboard = this.dragging = this.emerging = false;
    this.after = "";
    this.camera = startCamera();
    this.painter = createPainter(this.canvas);
    this.host.toggleAttribute("data-still", !this.painter);
    this.parts = createLoader();
    this.search = createSearch(this);
    this.hover = createHover(this);
    this.detail = createLevelOfDetail(this);
    this.cameraControl = createCameraControl(this);
    this.layer = createOverlay(this);
    this.cameraLink = most ? NO_LINK : createCameraLink(this);
    this.tool = createToolbar(this);
    this.player = createPlayer(this);
    listenToPointer(this);
    listenToKeyboard(this);
    this.watch();
  }

  get picture() {
    return required(this.pictureNow, "a picture");
  }

  get layout() {
    return required(this.layoutNow, "the layout of a picture");
  }

  get points() {
    return required(this.data.points, "the points of a picture");
  }

  get single() {
    return this.pictureNow?.panels.length === 1;
  }

  /** Whether a click chooses a point: in a single panel, and in two heads. Elsewhere it opens a panel. */
  get choosesPoints() {
    return this.single || Boolean(this.pictureNow?.second);
  }

  /**
   * The panel under a pixel of the frame: a single panel takes the whole frame.
   * @param {number} px @param {number} py
   */
  panelAt(px, py) {
    return this.single ? 0 : panelAt(this.layout, this.camera, px, py);
  }

  /** Whether the drawn points are those of this picture, not of the one before. */
  get arePointsThere() {
    return this.frame.dataset.drawn === this.picture.points;
  }

  /** Factor of the opacity of points: less below lines or contours. */
  get dim() {
    return this.layer.focused || this.picture.contours ? 0.45 : 1;
  }

  /** Beginning of a panel's region in a link. @param {number} panel */
  regionOf(panel) {
    return panel ? this.picture.second?.region : this.picture.region;
  }

  get scheme() {
    return schemeNow();
  }

  get palette() {
    return this.picture.palette[schemeNow()] || this.picture.palette.light;
  }

  /** Roles of a token's points: query and key, or the token itself. */
  get roles() {
    return this.picture.roles;
  }

  /** The token and the role of a point. @param {number} point */
  named(point) {
    return { token: Math.floor(point / this.roles.length), role: this.roles[point % this.roles.length] };
  }

  /** Whether the graphics card holds the points. */
  get hasPoints() {
    return Boolean(this.painter && !this.painter.isLost());
  }

  /** Shows a problem; without one, a sentence as long as the points are lost. @param {string} problem */
  say(problem) {
    this.problem.textContent = problem || (this.painter?.isLost() ? LOST : "");
  }

  /**
   * @param {EventTarget} target @param {string} name @param {(event: any) => unknown} act
   * @param {AddEventListenerOptions} [options]
   */
  on(target, name, act, options) {
    target.addEventListener(name, act, { signal: this.listening.signal, ...options });
  }

  watch() {
    this.on(this.canvas, "webglcontextlost", (event) => (event.preventDefault(), this.say("")));
    this.on(this.canvas, "webglcontextrestored", () => (this.painter?.restore(), this.say(""), this.paint()));
    this.on(window, "beforeprint", () => this.pictureNow && this.hasPoints && drawForPaper(this, this.paper));
    const resized = () => resize(this);
    const acts = { rescaled: resized, resized, recoloured: () => this.repaint() };
    watchScreen(required(this.host.parentElement, "the parent of a picture"), acts, this.listening.signal);
  }

  // -- the picture ------------------------------------------------------------------------------

  /** @param {Picture | null} picture @param {Marks | null} noted @param {SetProps} setProps */
  update(picture, noted, setProps) {
    this.setProps = setProps;
    const isNoted = noted !== this.noted;
    this.noted = noted;
    if (picture !== this.pictureNow) this.turnTo(picture);
    else if (isNoted && picture && this.layoutNow) this.showNoted();
  }

  /** Shows counts of notes that are new or changed. */
  showNoted() {
    placeNames(this);
    this.layer.refresh();
  }

  /** @param {Picture | null} picture */
  turnTo(picture) {
    const before = this.pictureNow;
    this.pictureNow = picture;
    if (!picture?.after) this.askAfter("");
    if (!picture) return this.hide();
    const isOther = pointsOf(before) !== pointsOf(picture) || !standAlike(before, picture);
    const isElsewhere = isOther && !shareSequence(before, picture);
    if (isElsewhere) this.arrive(before, picture);
    this.player.renew(isElsewhere);
    resize(this);
    if (this.emerging && this.layoutNow) this.camera = fillingCamera(this.layout, this.camera, this.gridPanel);
    if (!isElsewhere) this.cameraControl.follow();
    // Else the shown points stay right until new parts come: without a graphics card, one more painting is felt.
    if (isElsewhere) this.paint();
    this.tool.renew();
    this.loaded = this.load();
    this.layer.load();
  }

  hide() {
    this.cameraControl.stop();
    this.player.leave();
    this.hover.hide();
    this.cameraLink.forget();
  }

  /** Keeps the last click on points that are not there yet, until they are. @param {() => void} click */
  keep(click) {
    this.kept = click;
    this.announcement.textContent = "The points are on their way. The click is kept.";
  }

  /**
   * Starts another picture: its first camera, and the panel out of which it grows.
   * @param {Picture | null} before @param {Picture} picture
   */
  arrive(before, picture) {
    this.cameraControl.stop();
    this.kept = null;
    this.hover.hide();
    this.tool.cancel();
    this.cameraLink.forget();
    this.gridPanel = sharedPanel(before, picture);
    const isOutOfHead = this.gridPanel >= 0 && picture.panels.length > 1;
    this.emerging = Boolean(isOutOfHead && !picture.at && this.painter);
    const turned = before && !picture.at && before.dimensions === 3 && picture.dimensions === 3;
    const { yaw, pitch } = this.camera;
    this.camera = parseCamera(picture.at, picture.dimensions);
    if (turned) this.camera = { ...this.camera, yaw, pitch };
    this.cameraLink.write();
    this.hover.focus = isOutOfHead ? this.gridPanel : firstPanel(picture);
    this.frame.dataset.zoom = this.camera.zoom.toFixed(2);
  }

  async load() {
    const { points, colours, mask, sizes } = this.picture;
    this.frame.setAttribute("aria-busy", "true");
    if (!this.painter) return showStillPicture(this);
    try {
      const data = await this.parts.load({
        points: { url: points, read: readBytes(decodePoints) },
        colours: { url: colours, read: readBytes(decodeColours) },
        mask: { url: mask, read: readBytes(decodeMask) },
        sizes: { url: sizes, read: readBytes(decodeColours) },
      });
      if (data && this.pictureNow) this.show(data, this.painter);
    } catch (error) {
      this.finish(error.message);
    }
  }

  /** @param {Loaded} loaded @param {Painter} painter */
  show(loaded, painter) {
    const { points } = this.data;
    const stays = this.player.isAway() && points?.panels === 1 && points.tokens === loaded.points?.tokens;
    const data = stays ? { ...loaded, points } : loaded;
    const renewed = /** @type {(keyof Loaded)[]} */ (Object.keys(data)).some((name) => data[name] !== this.data[name]);
    painter.take(data);
    this.data = data;
    this.finish("", renewed);
    this.layer.renew();
    if (renewed) this.paint();
    const { kept } = this;
    this.kept = null;
    kept?.();
    if (!this.emerging) return;
    this.emerging = false;
    this.cameraControl.animateTo(parseCamera(null, this.picture.dimensions));
  }

  /** @param {string} problem @param {boolean} [renewed] */
  finish(problem, renewed) {
    const { points, colours, mask } = this.pictureNow || {};
    this.say(problem);
    this.frame.removeAttribute("aria-busy");
    Object.assign(this.frame.dataset, {
      drawn: problem ? "" : points || "",
      coloured: (!problem && colours) || "",
      masked: (!problem && mask) || "",
    });
    requestAnimationFrame(
      () => (renewed && performance.mark("headscape-drawn"), this.askAfter(this.pictureNow?.after || "")),
    );
  }

  /** Asks for the slow parts below a picture once it is painted, once for each `after`. @param {string} after */
  askAfter(after) {
    if (after === this.after) return;
    this.after = after;
    this.send({ painted: { after } });
  }

  // -- painting ---------------------------------------------------------------------------------

  paint() {
    if (!this.painter || this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.pictureNow && this.layoutNow) this.paintNow();
    });
  }

  paintNow() {
    const { layout, camera, scale, palette, scheme } = this;
    const shown = {
      layout,
      camera,
      scale,
      palette,
      scheme,
      roles: this.roles,
      ramp: this.picture.ramp?.[scheme],
      outlined: this.picture.outlined,
      ...standIn(this),
    };
    const most = this.detail.most(this.data.points, shown.only !== undefined);
    const marks = pointStyle(
      Math.min(most, (this.data.points?.tokens || 1) * this.roles.length),
      layout.side * camera.zoom,
    );
    required(this.painter, "WebGL2").paint({ ...shown, ...marks, most, dim: this.dim, between: this.player.between });
    this.detail.painted();
    this.layer.draw();
    placeNames(this);
  }

  /**
   * Calls `act` while the points are painted at `scale` pixels for each of the page: WebGL keeps no picture.
   * @param {number} scale @param {() => void} act
   */
  enlarged(scale, act) {
    const before = this.scale;
    /** @param {number} pixels */
    const paint = (pixels) => {
      this.scale = pixels;
      [this.canvas.width, this.canvas.height] = [this.layout.width, this.layout.height].map((length) =>
        Math.round(length * pixels),
      );
      this.paintNow();
    };
    paint(scale);
    try {
      act();
    } finally {
      paint(before);
    }
  }

  /** Paints in other colours or at another size; a still picture is loaded. */
  repaint() {
    if (!this.pictureNow) return;
    if (this.painter) this.paint();
    else showStillPicture(this);
  }

  // -- what goes out ----------------------------------------------------------------------------

  /** @param {number} px @param {number} py */
  openAt(px, py) {
    const { layout, camera } = this;
    const under = panelAt(layout, camera, px, py);
    this.open(under >= 0 ? under : panelAt(layout, camera, layout.width / 2, layout.height / 2));
  }

  /** @param {number} panel */
  open(panel) {
    if (panel < 0 || this.cameraControl.animating) return;
    const go = () => (this.cameraLink.forget(), this.send({ opened: { panel } }));
    if (!this.painter) return go();
    this.cameraControl.animateTo(fillingCamera(this.layout, this.camera, panel), go);
  }

  /** Goes from a head back to all heads. */
  leave() {
    if (!this.leaves) return;
    this.player.leave();
    this.cameraLink.forget();
    this.send({ left: { panel: this.gridPanel } });
  }

  /** @param {number} rows @param {number} columns */
  step(rows, columns) {
    if (this.picture.sequence) return this.player.step(rows + columns);
    const link = this.picture.page || this.mostHeight ? null : neighbour(this.picture, { rows, columns });
    if (!link) return;
    this.cameraLink.forget();
    visit(link);
  }

  /** Sends the chosen point, or that none is chosen any more. @param {number} point */
  pick(point) {
    if (point >= 0) this.send({ picked: { ...this.named(point) } });
    else if (this.picture.chosen) this.send({ picked: { token: -1, role: this.picture.chosen.role } });
  }

  /** @param {Outgoing} event */
  send(event) {
    tellDash(this, event);
  }

  release() {
    this.hide();
    this.parts.cancel();
    this.layer.release();
    this.player.leave();
    this.detail.release();
    this.listening.abort();
    this.painter?.release();
  }
}

/** @param {{ id: string, picture: Picture | null, noted: Marks | null, setProps: SetProps }} given */
export function PointPanels({ id, picture, noted, setProps }) {
  const ref = useOnElement(
    (host) => new Panels(host),
    (panels) => panels.update(picture || null, noted || null, setProps),
  );
  return panelElements(window.React.createElement, { id, ref, picture, noted });
}

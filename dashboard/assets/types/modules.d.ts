// What passes between the modules: places, cameras, layouts, decoded bytes and shapes.

/** A place in a panel's square, 0..1, in two or three dimensions. */
type Place = number[];
type Pair = [number, number];
/** A place in pixels of the page, from the upper left of the frame. */
type Pixel = [number, number];
type Box = [number, number, number, number];
type ToPixel = (place: Place) => Pixel;
type Room = { left: number; top: number; right: number; bottom: number };
type Colour = [number, number, number];

type Panels = import("../canvas/panels.mjs").Panels;
type Painter = NonNullable<ReturnType<typeof import("../canvas/painter.mjs").createPainter>>;
type Views = import("../sentence/views.mjs").Views;
type SvgContext = import("../canvas/save.mjs").SvgContext;
/** What a picture of points is drawn on: a canvas, or an SVG file. */
type Context = CanvasRenderingContext2D | SvgContext;
type SetProps = (props: Record<string, unknown>) => void;

interface Camera {
  x: number;
  y: number;
  zoom: number;
  yaw: number;
  pitch: number;
}

interface Layout {
  columns: number;
  rows: number;
  count: number;
  slots: number[] | null;
  single: boolean;
  side: number;
  title: number;
  gap: number;
  inset: number;
  width: number;
  height: number;
  part: number;
}

/** Panels of a picture, and the room for them, in pixels. */
interface Wished {
  count: number;
  columns?: number;
  slots?: number[] | null;
  flows?: boolean;
  narrowest?: number | null;
  titled?: boolean;
  least?: number | null;
  dimensions: number;
  width: number;
  height: number;
}

/** Codes of the points of each panel: token by token, role by role. */
interface Values {
  panels: number;
  tokens: number;
  roles: number;
  values: Uint8Array;
}

interface Mask extends Values {
  selected: number;
}

interface Points {
  panels: number;
  tokens: number;
  roles: number;
  components: number;
  width: number;
  places: Uint8Array | Uint16Array;
  most: number;
}

/** What the graphics card holds. */
interface Loaded {
  points?: Points;
  colours?: Values | null;
  mask?: Mask | null;
  sizes?: Values | null;
}

interface PointIndex {
  places: Uint8Array | Uint16Array;
  most: number;
  starts: Uint32Array;
  order: Uint32Array;
}

/** Cells of a sheet, and which are taken by texts. */
interface Sheet {
  columns: number;
  rows: number;
  taken: Uint8Array;
}

interface Label {
  place: Place;
  text: string;
  role: number;
  kind: "plain" | "strong";
  faint?: boolean;
}

/** Wordpieces of the tokens of a head, by their ids. */
interface Pieces {
  pieces: string[];
  ids: ArrayLike<number>;
}

/** A word of a caption, a swatch or a ramp. */
interface Piece {
  word?: string;
  colour?: string;
  colours?: string[];
  width?: number;
}

interface Paragraph {
  groups: Piece[][];
  apart?: boolean;
  strong?: boolean;
}

type Paragraphs = ReturnType<typeof import("../web/drawing.mjs").setParagraphs>;

// -- a sentence -----------------------------------------------------------------------------------

/** Weights [head, query, key]. */
interface Layer {
  heads: number;
  queries: number;
  keys: number;
  most: number;
  codes: Uint16Array;
}

/** Weights [layer, head, row, column]. */
interface Thumbnails {
  layers: number;
  heads: number;
  rows: number;
  columns: number;
  most: number;
  codes: Uint8Array;
}

/** The tokens of one side whose weights are drawn alone. */
interface Only {
  side: Side;
  units: number[];
}

interface TokenPair {
  query: number;
  key: number;
}

type ShownSentence = SentencePicture & { data: any };
/** One of the views of a sentence, which draws what is shown. */
interface SentenceView {
  draw: (shown: ShownSentence) => void;
  resize: () => void;
  picture: () => Drawing;
}

type Lines = ReturnType<typeof import("../sentence/weights.mjs").findLines>;
type Scale = ReturnType<typeof import("../sentence/weights.mjs").createScale>;
type Tokens = ReturnType<typeof import("../sentence/choice.mjs").createTokens>;

interface LineShape {
  line: Box;
  colour: string;
  opacity: number;
  width?: number;
}

interface BoxShape {
  box: Box;
  colour: string;
}

interface TextShape {
  text: string;
  at: number[];
  colour: string;
  size?: number;
  weight?: number;
  align?: string;
  turn?: number;
}

interface ImageShape {
  image: HTMLCanvasElement;
  at: number[];
}

type Shape = LineShape | BoxShape | TextShape | ImageShape;

interface Drawing {
  width: number;
  height: number;
  ground: string;
  title: string;
  source?: string;
  shapes: Shape[];
}

// -- notes -----------------------------------------------------------------------------------------

/** What a list of notes is about: a target or several, under a title or open. */
interface About {
  target?: string;
  title?: string;
  empty?: string;
  search?: boolean;
  parts?: About[];
}

// -- the page around ------------------------------------------------------------------------------

/** The link of a page, at the snapshot that the tab shows. */
interface PageRequest {
  pathname: string;
  search: string;
  snapshot: string;
  [field: string]: string;
}

/** A component whose properties another page changes. */
interface Change {
  id: any;
  type: string;
  props: Record<string, unknown>;
  part?: string;
}

/** The present properties of a component. */
type Current = (id: ComponentId) => Record<string, unknown>;

/** The lists of components of a page. */
type Part = "above" | "beside" | "below" | "navigation" | "drawer" | "header";

/** A part to load, and how it is read. */
interface Wanted {
  url: string | null | undefined;
  read: (response: any) => unknown;
}

/** A tree of dashboard/ui/markup.py: [tag, properties, ...children] or a text. */
type Markup = any;

/** A chart that plotly has drawn. */
type PlottedElement = HTMLElement & Figure;

/** What an author has typed into a form. */
interface Written {
  text: string;
  tags: string[];
  id: string;
}

interface Draft {
  text: string;
  tags?: string;
  id: string;
}

interface FormOptions {
  name: string;
  label: string;
  start: { text: string; tags?: string };
  send: string;
  save: (written: Written) => Promise<unknown>;
  close: () => void;
}

type NoteForm = ReturnType<typeof import("../notes/note_list.mjs").createForm>;
type Menu = { element: HTMLElement; views: HTMLElement; save: HTMLButtonElement; why: HTMLElement };
type Dialog = { element: HTMLDialogElement; show: (text: string) => HTMLElement };

/** A request to the server, what ends the wait for its answer, and the name of the wait. */
interface Asked {
  request: PageRequest;
  ending: AbortController;
  wait: string;
}

/** The request of `early_page.js`; the response is null where the server was not reached. */
interface FirstPage extends Asked {
  response: Promise<Response | null>;
}

/** A page on its way. */
interface Wait extends Asked {
  page: Promise<any>;
  key: string;
}

// -- a picture of points --------------------------------------------------------------------------

/** An action of a reader by its name, of which a component tells its page. */
type Outgoing = Record<string, Record<string, unknown>>;

/** What is painted: where the panels are, how points look, and which points. */
interface View {
  layout: Layout;
  camera: Camera;
  scale: number;
  palette: Palette;
  scheme: Scheme;
  roles: string[];
  ramp?: Record<string, string[]>;
  outlined: boolean;
  only?: number;
  shift: number;
  size: number;
  alpha: number;
  most: number;
  dim: number;
  between: number;
}

/** The name of a cluster where it is written; its peak is at px, py. */
type DrawnName = Cluster & { left: number; top: number; width: number; height: number; px: number; py: number };

type PictureSheet = ReturnType<typeof import("../canvas/save.mjs").sheetOf>;
type Columns = Record<Side, Tokens>;
type MatrixPlace = { cell: number; left: number; top: number; width: number; height: number };
type ShownMatrix = Omit<ShownSentence, "scale"> & { codes: Codes; scale: Scale };
/** Codes of weights; codes of a difference have a sign. */
type Codes = Uint8Array | Uint16Array | Int32Array;
type ScaleKind = "root" | "linear" | "largest" | "row" | "log";

/** A module of a saved page. */
type Module = { text: string; imports: string[] };

/** A name beside, above or in a panel, with its place in the frame. */
interface Named {
  element: HTMLElement;
  axis?: number;
  at: Pair;
  size?: Pair;
  most?: number;
  seen: boolean;
  arrow?: boolean;
  narrowed?: number;
}

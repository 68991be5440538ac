// What passes between the server and the browser, by its names on either side: tests/test_contract.py compares them with
// the dataclasses and answers of the server. Numbers are counts or indices from 0, colours #rrggbb, places 0..1 of a square.

type Scheme = "light" | "dark";
type Palette = Record<string, string>;

// -- a picture of points (dashboard/canvas/spec.py) ---------------------------------------------

interface Panel {
  name: string;
  summary: string;
  tag: string;
  value: string;
  fields: Record<string, string> | null;
}

interface RowHeading {
  slot: number;
  name: string;
}

interface Headings {
  above: string[];
  rows: RowHeading[];
}

interface Step {
  name: string;
  points: string;
  label: string;
  fields: Record<string, string>;
  texts: Record<string, string>;
}

interface ChosenPoint {
  token: number;
  role: string;
}

interface SecondHead {
  focus: string | null;
  region: string;
}

interface LinkFields {
  token: string;
  lasso: string;
}

interface FileSource {
  source: string;
  stem: string;
  notes: string[];
}

/** Colours of the codes 0 to 255 by scheme, then by role. */
type Ramp = Record<string, Record<string, string[]>>;

interface Picture {
  panels: Panel[];
  columns: number;
  label: string;
  roles: string[];
  dimensions: number;
  shape: [number, number] | null;
  slots: number[] | null;
  flows: boolean;
  titled: boolean;
  headings: Headings | null;
  min_side: number | null;
  narrowest: number | null;
  points: string;
  raster: string;
  colours: string | null;
  ramp: Ramp | null;
  outlined: boolean;
  mask: string | null;
  sizes: string | null;
  labels: string | null;
  contours: string | null;
  clusters: string | null;
  card: string | null;
  cards: string[] | null;
  chosen: ChosenPoint | null;
  focus: string | null;
  focus_caption: string | null;
  marks: [number, number][];
  second: SecondHead | null;
  lasso: string | null;
  region: string | null;
  at: string | null;
  sequence: Step[] | null;
  page: string | null;
  dropped_fields: string[];
  link_fields: LinkFields | null;
  after: string | null;
  file: FileSource;
  palette: Record<Scheme, Palette>;
}

/** The card of a point (dashboard/points/clicked_point.py); a feature has neither partners nor attention. */
interface Card {
  role: string;
  wordpiece: string;
  position: number;
  sentence: number;
  label?: string;
  where?: string;
  wordpieces: string[];
  texts: string[];
  received: number;
  entropy: number;
  partners?: { wordpiece: string; position: number; weight: number }[];
}

/** Places of the tokens of a sentence in their roles, lines [query, key, weight], and the points nearest to the chosen one. */
interface Focus {
  position: number;
  pieces: string[];
  places: Place[][];
  lines: [number, number, number][];
  near?: { place: Place; position: number; piece: string }[];
}

/** Lines round a share of the points of a role: flat x, y. */
interface Contour {
  role: number;
  share: number;
  lines: number[][];
}

interface Cluster {
  name: string;
  role: number;
  points: number;
  of: number;
  place: Place;
}

/** Counts of notes on what is shown (dashboard/notes/page.py). */
interface Marks {
  base: string;
  panels: Record<string, number>;
  tokens: Record<string, number>;
  positions: Record<string, number>;
  counts: Record<string, number>;
}

// -- the views of a sentence (dashboard/sentence/picture.py) --------------------------------------

type Side = "query" | "key";

/** A wordpiece or a word. */
interface Unit {
  name: string;
  positions: number[];
  segment: number;
  special: boolean;
}

interface SentencePicture {
  show: "head" | "model" | "matrix" | "neuron";
  units: Unit[];
  keys: Unit[];
  layers: number;
  heads: number;
  layer: number;
  head: number | null;
  head_names: string[];
  chosen: number[];
  queries: number[];
  first: Record<Side, number>;
  side: Side;
  toward: number | null;
  is_pair: boolean;
  marks: MarkedPair[] | null;
  mark_colours: Record<Scheme, string[]>;
  least: number;
  signed: boolean;
  scale: "root" | "linear" | "largest" | "row" | "log";
  csv: { content: string; url: string } | null;
  layer_url: string;
  model_url: string | null;
  neuron_url: string | null;
  title: string;
  source: string;
  stem: string;
  colours: Record<Scheme, string[]>;
  roles: HeadRoles | null;
  palette: Record<Scheme, Palette>;
}

/** A query and a key that a reader marks (dashboard/sentence/marks.py): by position, and by index where they are shown. */
interface MarkedPair {
  positions: Pair;
  names: [string, string];
  query: number | null;
  key: number | null;
}

/** What heads do (dashboard/sentence/picture.py). */
interface HeadRoles {
  kinds: Kind[];
  of: number[][];
  does: Record<string, string[]>;
}

/** A kind of clearest roles; its lines have a colour by scheme. */
interface Kind {
  name: string;
  colour: string;
  lines: Record<string, string>;
}

/** How the weights of one query come about, channel by channel. */
interface Neuron {
  query: number[];
  /** Whether a score is more than q · k / √(number of channels). */
  biased: boolean;
  keys: NeuronKey[];
}

interface NeuronKey {
  key: number[];
  product: number[];
  dot: number;
  logit: number | null;
  weight: number;
}

// -- notes (dashboard/notes/listing.py) -----------------------------------------------------------

/** A note, with its replies unless it is a reply; in a list, with what it is about. */
interface Note {
  id: string;
  author: string;
  imported_by: string | null;
  created: string;
  edited: string | null;
  deleted: boolean;
  version: number;
  text: string;
  tree: any;
  tags: string[];
  reply: boolean;
  mine: boolean;
  replies?: Note[];
  title?: string;
  model?: string;
  href?: string | null;
  missing?: string | null;
}

interface SavedView {
  id: string;
  name: string;
  author: string;
  created: string;
  model: string;
  href: string | null;
  mine: boolean;
}

/** The answers of dashboard/notes/page.py. */
interface NotesAnswer {
  notes: Note[];
  target?: string;
  writes: boolean;
  off?: string;
  leaf?: number;
  leaves?: number;
  total?: number;
}

// -- a page (dashboard/pages.py) ------------------------------------------------------------------

/** What the page shows: the value of every field of its link, and what else dashboard/shell.py says. */
interface Shown {
  [field: string]: unknown;
  defaults: Record<string, unknown>;
  path: string;
  link: string;
  written?: string;
  snapshot: string;
  model: string;
  writes: boolean;
}

/** A Dash component as JSON. */
interface Component {
  type: string;
  namespace: string;
  props: Record<string, unknown> & { id?: ComponentId; children?: unknown };
}
type ComponentId = string | ({ is?: string; place?: string } & Record<string, unknown>);

/** The answer of `/data/page`. */
interface Page {
  picture: Picture | null;
  sentence: SentencePicture | null;
  message: Component | null;
  above: unknown[];
  beside: unknown[];
  below: unknown[];
  navigation: unknown[];
  drawer: unknown[];
  header: unknown[];
  title?: string;
  shown?: Shown;
}

// What passes between Python and the widget of a notebook (dashboard/notebook/), and the model that anywidget hands over.

interface WidgetModel {
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(name: string, act: () => void): void;
  off(name: string, act: () => void): void;
}

/** Shape of the weights; `first`: position of the first token, in a long sentence. */
interface PackedShape {
  layers: number;
  first?: number;
  heads: number;
  tokens: number;
  levels: number;
}

/** Weights in 65535 levels: [layer, head, key, query]. */
interface StoredWeights {
  layers: number;
  first: number;
  heads: number;
  tokens: number;
  codes: Uint16Array;
}

interface SentenceContent {
  kind: "sentence";
  name: string;
  units: Unit[];
  weights: PackedShape;
  colours: Record<Scheme, string[]>;
  palette: Record<Scheme, Palette>;
  source: string;
  stem: string;
}

/** Choices of a reader; tokens, and the key `toward`, are positions. */
interface SentenceState {
  show: SentencePicture["show"];
  layer: number;
  head: number;
  heads: number[];
  pair: string;
  special: boolean;
  hidden: number[];
  least: number;
  scale: ScaleKind;
  side: Side;
  tokens: number[];
  toward: number | null;
}

interface DrawnTokens {
  ids: number[];
  pieces: string[];
  texts: string[];
  positions: number[];
  sentences: number[];
}

interface PointsContent {
  kind: "points";
  picture: Picture;
  heads: number;
  tokens: DrawnTokens | null;
}

interface PointsState {
  layer: number | null;
  head: number | null;
  lasso: string | null;
  token: number | null;
  role: string;
  at: string | null;
}

/** What Python computed, and for which state. */
interface PointsAnswer {
  of: { lasso?: string | null; token?: number | null; role?: string };
  mask?: DataView;
  focus?: Focus;
}

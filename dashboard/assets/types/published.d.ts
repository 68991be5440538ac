// What a published page has of its picture (dashboard/published/).

interface PublishedColour {
  codes: string | null;
  kind: "number" | "category";
}

interface PublishedPicture {
  /** The beginning of the addresses of its data, and the folder of their files. */
  base: string;
  data: string;
  picture: Picture;
  points: string;
  /** The file of its lines, and the beginning of the addresses of a point's lines; empty for all heads. */
  lines: string;
  focus: string;
  colours: PublishedColour[];
  ramps: Record<string, Ramp>;
  /** The page of each panel; the page of all heads, to which zooming out leads. */
  pages: string[];
  every: string;
  /** The pages of the neighbouring heads by the keys that lead there. */
  steps: Record<string, string>;
}

interface PublishedLines {
  lines: number;
  received: Float32Array;
  entropy: Float32Array;
  weights: Uint16Array;
  partners: Uint8Array | Uint16Array;
}

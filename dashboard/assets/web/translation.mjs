// What a browser that translates the page leaves as it is: what comes from the data, such as wordpieces, sentences,
// numbers and the names of heads. It is known by its element, its class or its letters.

/** Elements around a word, a name, a sentence, a key of the keyboard or a command. */
const TAGS = new Set(["bdi", "mark", "code", "kbd", "pre", "q", "svg"]);
const CLASSES = new Set([
  "example-sentence",
  "formula",
  "head-name",
  "mini-lines",
  "model-name",
  "number",
  "one-model",
  "sentence",
  "sentence-pieces",
  "sentence-text",
  "snapshot",
  "token",
  "word",
]);
const WORD = /\p{Letter}{2}/u;
/**
 * A word with a digit or an underline, without the punctuation around it: `0.43`, `95%`, `L3`, a checksum,
 * `en_core_web_sm`.
 */
const NUMBER = String.raw`[^\s“”(]*[\d_][^\s“”]*?(?=[.,;:)]*(?:[\s“”]|$))`;
/** What a sentence of a page has of the data: a quotation, a special token, a number, or several such as `L3 H7`. */
const DATA = new RegExp(String.raw`(“[^”]*”|\[\p{Lu}+\]|${NUMBER}(?:\s${NUMBER})*)`, "u");

/** A text in the parts that may be translated and those that may not. */
export const partsOf = (text) => text.split(DATA).filter(Boolean);

/** Whether an element with this text, if it has nothing else, is data. The title of a column of numbers is none. */
export function isData(tag, { className, dir }, text) {
  if (TAGS.has(tag) || dir) return true;
  if (tag !== "th" && className?.split(" ").some((name) => CLASSES.has(name))) return true;
  return Boolean(text?.trim()) && (!WORD.test(text) || !text.replace(DATA, "").trim());
}

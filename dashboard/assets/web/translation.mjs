// What a browser that translates the page leaves as it is: what comes from the data, such as wordpieces, sentences,
// numbers and the names of heads. It is known by its element, its class or its letters.

/** Elements around a word, a sentence, a key of the keyboard or a command. */
const TAGS = new Set(["bdi", "mark", "code", "kbd", "q", "svg"]);
const CLASSES = new Set([
  "example-sentence",
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
/** What a sentence of a page quotes from the data. */
const QUOTATION = /^“[^”]*”$/;
const WORD = /\p{Letter}{2}/u;

/** Whether an element with this text, if it has nothing else, is data. The title of a column of numbers is none. */
export function isData(tag, { className, dir }, text) {
  if (TAGS.has(tag) || dir) return true;
  if (tag !== "th" && className?.split(" ").some((name) => CLASSES.has(name))) return true;
  return Boolean(text?.trim()) && (!WORD.test(text) || QUOTATION.test(text));
}

// Words about notes that the page and the pictures share.

/** "1 note", "2 notes". @param {number} count */
export const counted = (count) => `${count.toLocaleString("en")} ${count === 1 ? "note" : "notes"}`;

/** @type {Intl.DateTimeFormatOptions} */
const WHEN = { day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" };

/** A time of the server, such as "12 Nov 2026, 10:03 UTC". @param {string} time */
export const momentOf = (time) => `${new Intl.DateTimeFormat("en-GB", WHEN).format(new Date(time))} UTC`;

/** Tags of a text, each once: "sink, [SEP]". @param {string} text */
export const tagsOf = (text) => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];

/** As the end of what is said of something: "; 2 notes", or nothing. @param {number} count */
export const ending = (count, mark = "; ") => (count ? mark + counted(count) : "");

// Words about notes that the page and the pictures share.

/** "1 note", "2 notes". */
export const counted = (count) => `${count.toLocaleString("en")} ${count === 1 ? "note" : "notes"}`;

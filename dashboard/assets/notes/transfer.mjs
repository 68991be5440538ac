// The button of page Notes that imports a file of notes and saved views.
import { importNotes } from "./api.mjs";
import { recount } from "./marks.mjs";
import { make } from "../web/elements.mjs";

/** Largest file that a request can hold, in bytes (BODY in dashboard/web/connections.py). */
const MOST = 1 << 20;
const TOO_LARGE = "The file is larger than 1 MiB. Ask who runs the server to run `headscape notes import FILE`.";

async function sendFile(file, line) {
  line.textContent = file.size > MOST ? TOO_LARGE : `Importing ${file.name} ...`;
  if (file.size > MOST) return;
  try {
    line.textContent = (await importNotes(file)).summary;
    recount();
  } catch (error) {
    line.textContent = error.message;
  }
}

function chooseFile() {
  const input = make("input", { type: "file", accept: ".json,application/json" });
  input.addEventListener("change", () => sendFile(input.files[0], document.getElementById("imported")));
  input.click();
}

/** Follows the button. */
export function followImport() {
  document.addEventListener("click", (event) => event.target.closest?.("#import-notes") && chooseFile());
}

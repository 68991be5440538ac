// What the dashboard is to Dash: components by their names, and the modules whose functions its callbacks call.
import * as address from "./web/address.mjs";
import { PointPanels } from "./canvas/panels.mjs";
import { followMarks } from "./notes/note.mjs";
import { NotePanel, SavedViews, followImport, followNotes } from "./notes/component.mjs";
import { TokenRuler } from "./web/ruler.mjs";
import { SentenceViews } from "./sentence/views.mjs";
import { Chart, followCharts } from "./web/chart.mjs";
import { followHelp, followShortcuts, keepFocus } from "./web/keyboard.mjs";
import * as follow from "./web/follow.mjs";
import { explainButtons } from "./web/popover.mjs";
import { Markup } from "./web/markup.mjs";
import * as room from "./web/room.mjs";
import { printLight } from "./web/elements.mjs";
import { watchSession } from "./web/session.mjs";
import { followUndo } from "./web/undo.mjs";

printLight();
watchSession();
keepFocus();
room.keepRoom();
explainButtons();
room.showExampleOnce();
room.sizeInspector();
room.openControls();
followShortcuts();
followUndo();
followHelp();
followCharts();
room.scrollToParts();
followNotes();
followImport();

window.headscape = {
  PointPanels,
  SentenceViews,
  TokenRuler,
  NotePanel,
  SavedViews,
  Markup,
  Chart,
  address,
  follow,
  room,
  notes: { follow: followMarks },
};

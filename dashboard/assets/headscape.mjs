// What the dashboard is to Dash: components by their names, and the modules whose functions its callbacks call.
import * as address from "./web/address.mjs";
import { PointPanels } from "./canvas/component.mjs";
import { followMarks } from "./notes/api.mjs";
import { NotePanel, SavedViews, followImport } from "./notes/component.mjs";
import { followNotes } from "./notes/menu.mjs";
import { TokenRuler } from "./web/ruler.mjs";
import { SentenceViews } from "./sentence/views.mjs";
import { Chart, followCharts } from "./web/chart.mjs";
import { followHelp } from "./web/help.mjs";
import { followShortcuts, keepFocus } from "./web/keyboard.mjs";
import * as follow from "./web/follow.mjs";
import { explainButtons } from "./web/popover.mjs";
import { Markup } from "./web/markup.mjs";
import * as room from "./web/room.mjs";
import { printLight } from "./web/drawing.mjs";
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

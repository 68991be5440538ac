// What the dashboard's modules are to Dash: components by their names, and the functions that its callbacks call.
import { PointPanels } from "./canvas/component.mjs";
import { followNotes } from "./notes/header.mjs";
import { followMarks } from "./notes/marks.mjs";
import { NotePanel } from "./notes/panel.mjs";
import { followImport } from "./notes/transfer.mjs";
import { SavedViews } from "./notes/saved_views.mjs";
import { SentenceViews } from "./sentence/views.mjs";
import * as address from "./web/address.mjs";
import { Chart, saveChart } from "./web/chart.mjs";
import { keepFocus } from "./web/focus.mjs";
import { dropInvalid, followPage, scrollToParts, showDone, toggleDrawer } from "./web/follow.mjs";
import { explainButtons } from "./web/info.mjs";
import { sizeInspector } from "./web/inspector.mjs";
import { Markup } from "./web/markup.mjs";
import { printLight } from "./web/print.mjs";
import { keepRoom } from "./web/room.mjs";
import { watchSession } from "./web/session.mjs";
import { followShortcuts } from "./web/shortcuts.mjs";
import { showExampleOnce } from "./web/worked_example.mjs";

printLight();
watchSession();
keepFocus();
keepRoom();
explainButtons();
showExampleOnce();
sizeInspector();
followShortcuts();
scrollToParts();
followNotes();
followImport();

window.headscape = {
  PointPanels,
  SentenceViews,
  NotePanel,
  SavedViews,
  Markup,
  Chart,
  address,
  follow: { page: followPage, done: showDone, dropInvalid },
  drawer: toggleDrawer,
  notes: { follow: followMarks },
  chart: { save: saveChart },
};

// What the dashboard is to Dash: components by their names, and the modules whose functions its callbacks call.
import * as address from "./web/address.mjs";
import { PointPanels } from "./canvas/component.mjs";
import { followImport, followNotes } from "./notes/header.mjs";
import { followMarks } from "./notes/api.mjs";
import { NotePanel } from "./notes/panel.mjs";
import { SavedViews } from "./notes/saved_views.mjs";
import { SentenceViews } from "./sentence/views.mjs";
import { Chart, saveChart } from "./web/chart.mjs";
import { followShortcuts, keepFocus } from "./web/keyboard.mjs";
import * as follow from "./web/follow.mjs";
import { explainButtons } from "./web/info.mjs";
import { showExampleOnce, sizeInspector } from "./web/remembered.mjs";
import { Markup } from "./web/markup.mjs";
import { keepRoom, printLight } from "./web/window.mjs";
import { watchSession } from "./web/session.mjs";

printLight();
watchSession();
keepFocus();
keepRoom();
explainButtons();
showExampleOnce();
sizeInspector();
followShortcuts();
follow.scrollToParts();
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
  follow,
  notes: { follow: followMarks },
  chart: { save: saveChart },
};

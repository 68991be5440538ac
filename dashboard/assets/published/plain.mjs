// The script of a published page without a picture of points.
import { startPage } from "./page.mjs";

startPage();

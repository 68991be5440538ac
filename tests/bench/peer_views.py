"""Views of all heads by peers: the function that draws each, and the condition under which it is complete."""

from collections.abc import Callable
from typing import NamedTuple

LAYERS, HEADS = 12, 12


class View(NamedTuple):
    """A view in peer_pages.py, and the condition in JavaScript under which a reader can use it, with COUNT elements."""

    name: str
    draws: str
    ready: str
    count: Callable[[int], int]

    @property
    def peer(self) -> str:
        """The package that draws the view."""
        return self.draws.partition("_")[0]

    def condition(self, tokens: int) -> str:
        """The condition, in JavaScript, for a sentence of `tokens` tokens."""
        return self.ready.replace("COUNT", str(self.count(tokens)))


LINES = "document.querySelectorAll('#vis line').length >= COUNT"
CELLS = "document.querySelectorAll('.matrix .cell').length >= COUNT"

#: Inspectus shows all heads once both of its dimensions are chosen; here they are chosen at once.
CHOSEN_LINES = """(() => {
  const menus = [...document.querySelectorAll(".line-grid select")];
  if (menus.length === 2 && menus[0].value === "null")
    ["layer", "head"].forEach((name, turn) => {
      menus[turn].value = name;
      menus[turn].dispatchEvent(new Event("change"));
    });
  return document.querySelectorAll(".line-grid line").length >= COUNT;
})()"""

#: The last canvas is drawn last; a drawn canvas has a colour in its middle.
CANVASES = """(() => {
  const all = document.querySelectorAll("canvas");
  const last = all[all.length - 1];
  return all.length >= COUNT && last.getContext("2d").getImageData(last.width / 2, last.height / 2, 1, 1).data[3] > 0;
})()"""

VIEWS = [
    View("BertViz, model view", "bertviz_model_view", LINES, lambda tokens: LAYERS * HEADS * tokens**2),
    View("BertViz, head view: the heads of one layer", "bertviz_head_view", LINES, lambda tokens: HEADS * tokens**2),
    View("Inspectus, line grid", "inspectus_line_grid", CHOSEN_LINES, lambda tokens: LAYERS * HEADS * tokens**2),
    View("Inspectus, default: the sum of all heads", "inspectus_default", CELLS, lambda tokens: tokens**2),
    View("CircuitsVis, attention heads", "circuitsvis_attention_heads", CANVASES, lambda _: LAYERS * HEADS + 1),
]

"""The drawn points of a link: which are selected, and how they are coloured."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dashboard.points.colours import Legend, legend
from dashboard.points.columns import Column, columns
from dashboard.points.drawn import Drawn
from dashboard.points.search import Hits, hits
from dashboard.points.selection import FIELDS, Selection, mask, parse_selection
from dashboard.web.context import Context
from dashboard.web.state import encode_fields

#: Sentences that the results of a search list.
LISTED = 50


@dataclass(frozen=True)
class ShownPoints:
    """The selection and the colour of a picture."""

    drawn: Drawn
    selection: Selection
    colour: Column
    notices: tuple[str, ...]

    @classmethod
    def of(cls, context: Context, tokens: int, *, layer: int | None = None, head: int | None = None) -> "ShownPoints":
        """Those of a link, of one head or of all."""
        state, known = context.state, columns(context.corpus)
        fields = {name: state.fields[name] or "" for name in FIELDS}
        selection, notices = parse_selection(fields, context.corpus)
        if state.colour not in known:
            notices += (f"Ignored an invalid parameter: colour={state.colour}. Points are coloured by query and key.",)
        colour = known.get(state.colour, known["role"])
        return cls(Drawn(context.corpus, tokens, layer, head), selection, colour, notices)

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{encode_fields(self.selection.fields)}" if self.selection else ""

    @property
    def coloured(self) -> bool:
        """Whether points are coloured by a column."""
        return self.colour.name != "role"

    @cached_property
    def legend(self) -> Legend:
        """The legend of the colours."""
        return legend(self.colour, self.drawn)

    @cached_property
    def count(self) -> tuple[int, int]:
        """Selected and drawn points; in a picture of all heads, of one head on average."""
        return round(int(self.selected.sum()) / len(self.selected)), 2 * len(self.drawn.rows)

    @cached_property
    def selected(self) -> NDArray[np.bool_]:
        """Which of the drawn points are selected: (panel, token, role)."""
        return mask(self.drawn, self.selection)

    @cached_property
    def hits(self) -> Hits:
        """The matches of the search in the whole corpus, and the first sentences."""
        return hits(self.drawn.corpus, self.selection.q, self.selection.within, limit=LISTED)

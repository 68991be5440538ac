"""The drawn points as a link shows them: which are selected, and how they are coloured."""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from dashboard.points.colours import Legend, legend
from dashboard.points.columns import Column, columns
from dashboard.points.drawn import Drawn
from dashboard.points.search import Hits, hits
from dashboard.points.selection import FIELDS, Selection, mask, parse_selection
from dashboard.web.view import Place

#: Sentences of a search that are listed.
LISTED = 50


@dataclass(frozen=True)
class ShownPoints:
    """The selection and the colour of a picture."""

    drawn: Drawn
    selection: Selection
    colour: Column
    notices: tuple[str, ...]

    @classmethod
    def of(cls, place: Place, tokens: int, *, layer: int | None = None, head: int | None = None) -> "ShownPoints":
        """What the address says, of one head or of all."""
        address, known = place.address, columns(place.corpus)
        given = {name: address.fields[name] or "" for name in FIELDS}
        selection, notices = parse_selection(given, place.corpus)
        if address.colour not in known:
            notices += (f"There is no column “{address.colour}” to colour by. Coloured is by query and key.",)
        colour = known.get(address.colour, known["role"])
        return cls(Drawn(place.corpus, tokens, layer, head), selection, colour, notices)

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{urlencode(self.selection.fields, safe=',:;|')}" if self.selection else ""

    @property
    def coloured(self) -> bool:
        """Whether colours say more than query and key."""
        return self.colour.name != "role"

    @cached_property
    def legend(self) -> Legend:
        """What the colours mean."""
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
        """What the search finds in the whole corpus, and the first sentences of it."""
        return hits(self.drawn.corpus, self.selection.q, self.selection.within, limit=LISTED)

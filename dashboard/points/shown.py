"""What a link shows of a set of points: which points, which of them are selected, and by what they are coloured."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dashboard.points.colours import Legend, legend
from dashboard.points.head_tokens import HeadTokens, columns
from dashboard.points.point_set import Column, PointSet
from dashboard.points.search import Hits, hits
from dashboard.points.selection import FIELDS, Condition, Selection, mask, parse_selection
from dashboard.ui.files import provenance_of
from dashboard.web.context import Context
from dashboard.web.state import LinkState, encode_fields
from store import Corpus
from store.repository.ingest_status import IngestProgress
from store.schema.pictures import ViewName

#: Sentences that the results of a search list.
LISTED = 50
P = TypeVar("P", bound=PointSet)


@dataclass(frozen=True)
class Shown(Generic[P]):
    """What a link shows of a set of points.

    Attributes
    ----------
    state
        The link.
    points
        The drawn points.
    view
        The name of their picture; empty before the first one.
    colour
        By which column they are coloured.
    notices
        On what of the link is ignored.
    origin
        Models, corpus and snapshot, as a saved picture names them.
    """

    state: LinkState
    points: P
    view: str
    selection: Selection
    colour: Column
    notices: tuple[str, ...]
    origin: Mapping[str, str]
    ingest: IngestProgress | None

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{encode_fields(self.selection.fields)}" if self.selection else ""

    @property
    def components(self) -> int:
        """Dimensions of the picture: those of feature points have two."""
        return 2

    @cached_property
    def legend(self) -> Legend:
        """The legend of the colours."""
        return legend(self.colour, self.points)

    @cached_property
    def selected(self) -> NDArray[np.bool_]:
        """Which of the points are selected: (panel, token, role)."""
        return mask(self.points, self.selection)


@dataclass(frozen=True)
class ShownPoints(Shown[HeadTokens]):
    """Queries and keys of one head or of all; `filters` are the conditions of the selection without the isolated category."""

    filters: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, context: Context, points: HeadTokens) -> "ShownPoints":
        """Those of a link, of one head or of all."""
        state, corpus, known = context.state, context.corpus, columns(context.corpus)
        fields = {name: state.fields[name] or "" for name in FIELDS}
        selection, notices = parse_selection(fields, corpus)
        if state.colour not in known:
            notices += (f"Ignored an invalid parameter: colour={state.colour}. Points are coloured by query and key.",)
        colour = known.get(state.colour, known["role"])
        filters = selection.where
        if state.only is not None and colour.code(state.only) is None:
            notices += (f"Ignored an invalid parameter: only={state.only}. Click an entry of the legend.",)
        elif state.only is not None:
            selection = replace(selection, where=(*filters, Condition(colour.name, (state.only,))))
        origin = provenance_of(context.snapshot, corpus, state)
        view = context.view if corpus.views else ""
        return cls(state, points, view, selection, colour, notices, origin, context.ingest, filters)

    @property
    def components(self) -> int:
        """Dimensions of the picture."""
        return ViewName.parse(self.view).components

    @property
    def corpus(self) -> Corpus:
        """The model's."""
        return self.points.corpus

    @property
    def tokens(self) -> int:
        """Tokens in every panel."""
        return self.points.tokens

    @property
    def coloured(self) -> bool:
        """Whether points are coloured by a column."""
        return self.colour.name != "role"

    @cached_property
    def count(self) -> tuple[int, int]:
        """Selected and drawn points; in a picture of all heads, of one head on average."""
        return round(int(self.selected.sum()) / len(self.selected)), 2 * self.tokens

    @cached_property
    def hits(self) -> Hits | None:
        """The matches of the search in the whole corpus, and the first sentences; None without a search."""
        selection = self.selection
        return hits(self.corpus, selection.q, selection.within, limit=LISTED) if selection.q else None

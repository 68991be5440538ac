"""What of a picture is selected: by a search, by conditions and by a lasso. A point is selected if it meets all of them."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.points.conditions import Condition, parse_conditions, points_that_meet, write_conditions
from dashboard.points.drawn import Drawn
from dashboard.points.lasso import Lasso
from dashboard.points.search import WITHIN, Within, found
from dashboard.points.texts import spaced
from store import Corpus

MAGIC = b"HSM2"
#: Characters of a search.
MOST_SOUGHT = 200
#: Fields of a link that say what is selected.
FIELDS = ("q", "within", "where", "lasso")


@dataclass(frozen=True)
class Selection:
    """A search `q` for a token, a prefix or a phrase, conditions on columns, and a lasso; empty by default."""

    q: str = ""
    within: Within = "token"
    where: tuple[Condition, ...] = ()
    lasso: Lasso | None = None

    def __bool__(self) -> bool:
        return bool(self.q or self.where or self.lasso)

    @property
    def fields(self) -> dict[str, str]:
        """As in a link: those of `FIELDS` that are not empty."""
        within = self.within if self.q and self.within != "token" else ""
        lasso = str(self.lasso) if self.lasso else ""
        every = dict(zip(FIELDS, (self.q, within, write_conditions(self.where), lasso), strict=True))
        return {name: text for name, text in every.items() if text}


def parse_selection(given: Mapping[str, str], corpus: Corpus) -> tuple[Selection, tuple[str, ...]]:
    """The selection of a link, and a sentence on everything in it that cannot be."""
    q = spaced(given.get("q", ""))
    where, notices = parse_conditions(given.get("where", ""), corpus)
    if len(q) > MOST_SOUGHT:
        notices.append(f"A search may have {MOST_SOUGHT} characters. The first of them are searched for.")
        q = spaced(q[:MOST_SOUGHT])
    within = _within(given.get("within", ""), notices) if q else WITHIN[0]
    return Selection(q, within, where, _lasso(given.get("lasso", ""), corpus, notices)), tuple(notices)


def mask(drawn: Drawn, selection: Selection) -> NDArray[np.bool_]:
    """Which drawn points are selected: (panel, token, role), one panel where it is the same in all.

    A search finds a token, that is its query and its key. A lasso selects the same queries and keys in every head. An
    empty selection selects everything.
    """
    selected = np.ones((1, len(drawn.rows), 2), bool)
    if selection.q:
        selected = selected & found(drawn.corpus, selection.q, selection.within)[None, : len(drawn.rows), None]
    if selection.lasso:
        lasso = selection.lasso
        places = drawn.corpus.places(lasso.view, drawn.rows, layer=lasso.layer, head=lasso.head)
        selected = selected & lasso.holds(places)[None]
    for condition in selection.where:
        selected = selected & points_that_meet(condition, drawn)
    return selected


def encode(selected: NDArray[np.bool_]) -> bytes:
    """`HSM2`, u32 panels, tokens, roles, then a bit for each [panel, token, role], the first in the highest bit."""
    return MAGIC + struct.pack("<3I", *selected.shape) + np.packbits(selected).tobytes()


def _within(asked: str, notices: list[str]) -> Within:
    for within in WITHIN:
        if asked in (within, ""):
            return within
    notices.append(f"A search matches a token, prefix or phrase, not “{asked[:40]}”. Tokens are searched.")
    return WITHIN[0]


def _lasso(asked: str, corpus: Corpus, notices: list[str]) -> Lasso | None:
    lasso = Lasso.parse(asked) if asked else None
    if (
        lasso
        and lasso.view in corpus.views
        and lasso.layer in range(corpus.layers)
        and lasso.head in range(corpus.heads)
    ):
        return lasso
    if asked:
        notices.append("The lasso is not one of this store's pictures. It is left out.")
    return None

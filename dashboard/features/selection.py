"""Which tokens of a material are selected: by a search and by a region drawn in a panel; in all panels the same."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.features.data import Series
from dashboard.features.pieces import pieces_of
from dashboard.features.review_text import phrase_in_review
from dashboard.points.search import folded, matches, matching_tokens, spaced
from dashboard.points.selection import Outline
from dashboard.web.state import MOST_SOUGHT, WITHIN, Within
from store import Corpus, StoreError
from store.features import Features
from store.schema.features import SAMPLE

#: Fields of a link that say what is selected.
FIELDS = ("q", "within", "flasso")

Tokens = NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """A polygon drawn in a panel: of which series and view, in which panel."""

    series: str
    view: str
    panel: str
    outline: Outline

    @classmethod
    def parse(cls, text: str) -> "Region | None":
        """From `series,view,panel,yaw,pitch,x1,y1,...`; None where that is none."""
        series, view, panel, *numbers = [*text.split(",", 3), "", "", ""][:4]
        outline = Outline.parse(numbers[0])
        return cls(series, view, panel, outline) if outline else None

    def __str__(self) -> str:
        return f"{self.series},{self.view},{self.panel},{self.outline}"

    def holds(self, corpus: Corpus, features: Features, tokens: int) -> Tokens:
        """Which of the first tokens it is drawn round: (token,). Raises StoreError where there is no such panel."""
        series = Series.parse(corpus, features, self.series)
        return self.outline.holds(series.places(self.view, tokens, self.panel)[0, :, 0])


@dataclass(frozen=True)
class TokenSelection:
    """A search `q` for a token, a prefix or a phrase, and a region; empty by default."""

    q: str = ""
    within: Within = "token"
    region: Region | None = None

    def __bool__(self) -> bool:
        return bool(self.q or self.region)

    @property
    def fields(self) -> dict[str, str]:
        """As in a link: those of `FIELDS` that are not empty."""
        within = self.within if self.q and self.within != "token" else ""
        every = dict(zip(FIELDS, (self.q, within, str(self.region or "")), strict=True))
        return {name: text for name, text in every.items() if text}


def parse_token_selection(
    given: Mapping[str, str], corpus: Corpus, features: Features
) -> tuple[TokenSelection, tuple[str, ...]]:
    """The selection of a link, and a sentence on everything in it that cannot be."""
    notices: list[str] = []
    q = spaced(given.get("q", ""))[:MOST_SOUGHT]
    within: Within = next((one for one in WITHIN if one == given.get("within")), "token")
    region = _region(given.get("flasso", ""), corpus, features, notices)
    return TokenSelection(q, within, region), tuple(notices)


def token_mask(corpus: Corpus, features: Features, selection: TokenSelection, tokens: int) -> Tokens:
    """Which of the first tokens are selected: (token,). An empty selection selects everything."""
    selected = np.ones(tokens, bool)
    if selection.q:
        selected &= _found(corpus, features, selection)[:tokens]
    if selection.region:
        selected &= selection.region.holds(corpus, features, tokens)
    return selected


def _found(corpus: Corpus, features: Features, selection: TokenSelection) -> Tokens:
    if features.name == SAMPLE:
        rows = np.searchsorted(corpus.rows, features.tokens.row.values)
        return matching_tokens(corpus, selection.q, selection.within)[rows]
    sought = folded(spaced(selection.q))
    if selection.within == "phrase":
        return phrase_in_review(features, sought)
    return np.fromiter((matches(folded(piece), sought, selection.within) for piece in pieces_of(features)), bool)


def _region(asked: str, corpus: Corpus, features: Features, notices: list[str]) -> Region | None:
    region = Region.parse(asked) if asked else None
    if region:
        try:
            region.holds(corpus, features, 1)
            return region
        except StoreError:
            pass
    if asked:
        notices.append("The region is not one of a picture of these tokens. It is left out.")
    return None

"""What a link shows of the feature points: which panels of which tokens, in what colours, what of them selected."""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from dashboard.features.columns import TokenColumn, token_columns
from dashboard.features.data import Series
from dashboard.features.materials import is_drawn
from dashboard.features.selection import FIELDS, TokenSelection, parse_token_selection, token_mask
from dashboard.points.colours import Legend, legend_of
from dashboard.web.http import data_link
from dashboard.web.view import Place


@dataclass(frozen=True)
class ShownFeatures:
    """The panels, one of them or all; the colour; the selection."""

    place: Place
    series: Series
    view: str
    selection: TokenSelection
    notices: tuple[str, ...]
    drawn: int | None = None

    @classmethod
    def of(cls, place: Place, drawn: int | None = None) -> "ShownFeatures":
        """What the address says; of the first `drawn` tokens where that is given. Only where its material `is_drawn`."""
        address, corpus = place.address, place.corpus
        features = corpus.features(address.material or corpus.materials[0])
        series = Series(corpus, features, address.vectors)
        given = {name: address.fields[name] or "" for name in FIELDS}
        selection, notices = parse_token_selection(given, corpus, features)
        view = address.fview if address.fview in series.views else series.views[0]
        return cls(place, series, view, selection, notices, drawn)

    @property
    def panel(self) -> str | None:
        """The one that is large, None for all."""
        return self.place.address.point

    @property
    def tokens(self) -> int:
        """Tokens drawn in every panel that is shown."""
        if self.drawn is not None:
            return self.drawn
        return self.series.grid_tokens if self.panel is None else self.series.features.n_tokens

    @property
    def base(self) -> str:
        """Where the URLs of the material begin."""
        return f"{data_link(self.place.corpus)}/features/{self.series.features.name}"

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{urlencode(self.selection.fields, safe=',:;|')}" if self.selection else ""

    @cached_property
    def columns(self) -> dict[str, TokenColumn]:
        """Everything to colour by."""
        return token_columns(self.series.features, self.place.address.ftoken)

    @property
    def colour(self) -> TokenColumn:
        """What the tokens are coloured by."""
        return self.columns.get(self.place.address.fcolour) or next(iter(self.columns.values()))

    @property
    def colours(self) -> str:
        """URL of the colour codes."""
        name, token = self.colour.column.name, self.place.address.ftoken
        chosen = f"&token={token}" if name == "sentence" and token is not None else ""
        return f"{self.base}/colours/{name}.bin?tokens={self.tokens}{chosen}"

    @cached_property
    def legend(self) -> Legend:
        """What the colours mean among the drawn tokens."""
        return legend_of(self.colour.column, self.colour.values()[None, : self.tokens, None])

    @cached_property
    def selected(self) -> NDArray[np.bool_]:
        """Which of the drawn tokens are selected: (token,)."""
        return token_mask(self.place.corpus, self.series.features, self.selection, self.tokens)


def choices(place: Place) -> tuple[dict[str, object], dict[str, object]]:
    """What the controls stand at, and where they stand by default; nothing where there is no picture."""
    if not is_drawn(place):
        return {}, {}
    shown = ShownFeatures.of(place)
    features = shown.series.features
    stand: dict[str, object] = {"material": features.name, "fview": shown.view, "fcolour": shown.colour.column.name}
    return stand, {"material": place.corpus.materials[0], "fview": shown.series.views[0]}

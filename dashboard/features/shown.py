"""The feature points that a link shows: panels, tokens, colours and selection.

Tokens are selected by a search, a region drawn in a panel and a category of their colours; the same in all panels.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dashboard.features.data import Series, TokenColumn, is_drawn, token_columns
from dashboard.features.trial import Trial
from dashboard.features.trials import Trials
from dashboard.points.colours import Legend, legend_of
from dashboard.points.piece_search import folded, matching_pieces
from dashboard.points.search import (
    BETWEEN,
    Texts,
    matching_tokens,
    parted,
    spaced,
    tokens_of_phrase,
)
from dashboard.points.selection import Outline
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.state import MOST_SOUGHT, OF_WORDS, TRIAL, TRIED, WITHIN, Within, encode_fields
from store import Corpus, StoreError
from store.features import Features
from store.schema.features import SAMPLE

#: Fields of a link with the selection.
FIELDS = ("q", "within", "flasso", "fcolour", "fonly", "ftoken")

Tokens = NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """A polygon drawn in a panel of a series and view."""

    series: str
    view: str
    panel: str
    outline: Outline

    @classmethod
    def parse(cls, text: str) -> "Region | None":
        """From `series,view,panel,yaw,pitch,x1,y1,...`; None where it is invalid."""
        series, view, panel, *numbers = [*text.split(",", 3), "", "", ""][:4]
        outline = Outline.parse(numbers[0])
        return cls(series, view, panel, outline) if outline else None

    def __str__(self) -> str:
        return f"{self.series},{self.view},{self.panel},{self.outline}"

    def holds(self, corpus: Corpus, features: Features, tokens: int, trials: Trials | None = None) -> Tokens:
        """Which of the first tokens are inside: (token,), none that the view lacks. Raises StoreError for an unknown panel."""
        series = Series.parse(corpus, features, self.series, trials)
        places = series.places(self.view, tokens, self.panel)[0, :, 0]
        return np.pad(self.outline.holds(places), (0, tokens - len(places)))


@dataclass(frozen=True)
class Isolated:
    """The category of a column that is shown alone; it may be the sentence of the clicked token."""

    column: str
    category: str
    token: int | None = None

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a link that name it."""
        clicked = {} if self.token is None or self.column != "sentence" else {"ftoken": str(self.token)}
        return {"fcolour": self.column, "fonly": self.category} | clicked

    def holds(self, features: Features, tokens: int) -> Tokens:
        """Which of the first tokens are of the category: (token,)."""
        known = token_columns(features, self.token)[self.column]
        return known.values()[:tokens] == known.column.code(self.category)


@dataclass(frozen=True)
class TokenSelection:
    """A search `q` for a token, a prefix, a phrase or a lemma, a region, and the category shown alone; empty by default."""

    q: str = ""
    within: Within = "token"
    region: Region | None = None
    isolated: Isolated | None = None

    def __bool__(self) -> bool:
        return bool(self.q or self.region or self.isolated)

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a link that are not empty."""
        within = self.within if self.q and self.within != "token" else ""
        every = {"q": self.q, "within": within, "flasso": str(self.region or "")}
        return {name: text for name, text in every.items() if text} | (self.isolated.fields if self.isolated else {})


def parse_token_selection(
    fields: Mapping[str, str], corpus: Corpus, features: Features, trials: Trials | None = None
) -> tuple[TokenSelection, tuple[str, ...]]:
    """The selection of a link, and a notice on every part of it that is ignored."""
    notices: list[str] = []
    q = spaced(fields.get("q", ""))[:MOST_SOUGHT]
    within: Within = next((match for match in WITHIN if match == fields.get("within")), "token")
    if within in OF_WORDS and features.name != SAMPLE:
        notices.append(f"Ignored an invalid parameter: within={within}. A whole review has no words with grammar.")
        within = "token"
    region = _region(fields.get("flasso", ""), corpus, features, notices, trials)
    return TokenSelection(q, within, region, _isolated(fields, features, notices)), tuple(notices)


def token_mask(
    corpus: Corpus, features: Features, selection: TokenSelection, tokens: int, trials: Trials | None = None
) -> Tokens:
    """Which of the first tokens are selected: (token,). An empty selection selects everything."""
    selected = np.ones(tokens, bool)
    if selection.q:
        selected &= _matching(corpus, features, selection)[:tokens]
    if selection.region:
        selected &= selection.region.holds(corpus, features, tokens, trials)
    if selection.isolated:
        selected &= selection.isolated.holds(features, tokens)
    return selected


def _matching(corpus: Corpus, features: Features, selection: TokenSelection) -> Tokens:
    if features.name == SAMPLE:
        rows = np.searchsorted(corpus.rows, features.tokens.row.values)
        return matching_tokens(corpus, selection.q, selection.within)[rows]
    sought = folded(spaced(selection.q))
    if selection.within == "phrase":
        return phrase_in_review(features, parted(sought, at_marks=corpus.splits_at_marks))
    return matching_pieces(features.pieces, sought, selection.within)


def _region(text: str, corpus: Corpus, features: Features, notices: list[str], trials: Trials | None) -> Region | None:
    region = Region.parse(text) if text else None
    if region:
        try:
            region.holds(corpus, features, 1, trials)
            return region
        except StoreError:
            pass
    if text:
        notices.append("Ignored a region: it is not in a picture of these tokens.")
    return None


def _isolated(fields: Mapping[str, str], features: Features, notices: list[str]) -> Isolated | None:
    category, written = fields.get("fonly", ""), fields.get("ftoken", "")
    if not category:
        return None
    clicked = int(written) if written.isascii() and written.isdigit() and len(written) < 10 else None
    token = clicked if clicked is not None and clicked < features.n_tokens else None
    known = token_columns(features, token)
    column = coloured_by(known, fields.get("fcolour", "")).column
    if column.kind != "category" or column.code(category) is None:
        notices.append(f"Ignored an invalid parameter: fonly={category}. Click an entry of the legend.")
        return None
    return Isolated(column.name, category, token)


def coloured_by(known: Mapping[str, TokenColumn], name: str) -> TokenColumn:
    """The column of the colours, the first one where the token set has none of that name."""
    return known.get(name) or next(iter(known.values()))


def phrase_in_review(features: Features, sought: str) -> NDArray[np.bool_]:
    """Which tokens belong to a word of the phrase, in lower case with its words apart: (token,); a review is one sentence."""
    word_index = features.tokens.word_index.values
    own = review_text(features)
    return tokens_of_phrase(own, np.zeros(len(word_index), np.int64), word_index, _plain(sought))


@cached
def review_text(features: Features) -> Texts:
    """The text of a review, joined from its wordpieces without capitals and accents, as some tokenizers drop them."""
    words = [_plain(word) for word in _words(features)]
    word = np.repeat(np.arange(len(words), dtype=np.int32), [len(word) + 1 for word in words])
    first = np.zeros(1, np.int64)
    return Texts(folded(" ".join(words) + BETWEEN), first, word, first, np.ones(1, bool))


def _plain(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter) != "Mn")


def _words(features: Features) -> list[str]:
    """The words of a review; one that is not in the vocabulary is [UNK]."""
    word_index = features.tokens.word_index.values
    words = [""] * (int(word_index.max()) + 1)
    for piece, word in zip(features.pieces, word_index, strict=True):
        if word >= 0:
            words[word] += piece.text
    return words


@dataclass(frozen=True)
class ShownFeatures:
    """The panels, one of them or all; the colour; the selection."""

    context: Context
    series: Series
    view: str
    selection: TokenSelection
    notices: tuple[str, ...]
    drawn: int | None = None

    @classmethod
    def of(cls, context: Context, drawn: int | None = None) -> "ShownFeatures":
        """From a link whose token set `is_drawn`; `drawn` limits the tokens."""
        state, corpus = context.state, context.corpus
        features = corpus.features(state.material or corpus.token_sets[0])
        trials = context.library.get(Trials)
        series = Series(corpus, features, state.vectors, state.vectors is None and state.fscale == "each", trials)
        written = {name: str(value) for name in FIELDS if (value := state.fields[name]) is not None}
        selection, notices = parse_token_selection(written, corpus, features, trials)
        stored = state.fview if state.fview in series.views else series.views[0]
        view = _trial_view(context, features, trials) or stored
        return cls(context, series, view, selection, notices, drawn)

    @property
    def panel(self) -> str | None:
        """The large panel, None where all are small."""
        return self.context.state.point

    @property
    def tokens(self) -> int:
        """Tokens drawn in every panel."""
        if self.drawn is not None:
            return self.drawn
        held = self.series.tokens(self.view)
        return min(self.series.grid_tokens, held) if self.panel is None else held

    @property
    def trial(self) -> Trial | None:
        """The trial that is shown; None where the picture is the store's."""
        return Trial.parse(self.view, self.series.features)

    @property
    def tried(self) -> Trial:
        """The trial of the link, fitted or not."""
        return Trial.of(self.context.state, self.series.features)

    @property
    def base(self) -> str:
        """The start of the URLs of the token set."""
        return f"{data_link(self.context.corpus)}/features/{self.series.features.name}"

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{encode_fields(self.selection.fields)}" if self.selection else ""

    @cached_property
    def columns(self) -> dict[str, TokenColumn]:
        """All columns to colour by."""
        return token_columns(self.series.features, self.context.state.ftoken)

    @property
    def colour(self) -> TokenColumn:
        """The column of the colours."""
        return coloured_by(self.columns, self.context.state.fcolour)

    @property
    def colours(self) -> str:
        """URL of the colour codes."""
        name, token = self.colour.column.name, self.context.state.ftoken
        chosen = f"&token={token}" if name == "sentence" and token is not None else ""
        return f"{self.base}/colours/{name}.bin?tokens={self.tokens}{chosen}"

    @cached_property
    def legend(self) -> Legend:
        """The legend of the drawn tokens."""
        return legend_of(self.colour.column, self.colour.values()[None, : self.tokens, None])

    @cached_property
    def selected(self) -> NDArray[np.bool_]:
        """Which of the drawn tokens are selected: (token,)."""
        return token_mask(self.context.corpus, self.series.features, self.selection, self.tokens, self.series.trials)


def _trial_view(context: Context, features: Features, trials: Trials) -> str | None:
    """The view of the link's trial, where the link shows it and it has been fitted."""
    if context.state.fview != TRIAL:
        return None
    trial = Trial.of(context.state, features)
    return str(trial) if trials.find(context.corpus, features, trial) else None


def choices(context: Context) -> tuple[dict[str, object], dict[str, object]]:
    """Values of the controls and their defaults; empty where there is no picture."""
    if not is_drawn(context):
        return {}, {}
    shown = ShownFeatures.of(context)
    features = shown.series.features
    values: dict[str, object] = {
        "material": features.name,
        "fview": shown.view if shown.trial is None else TRIAL,
        "fcolour": shown.colour.column.name,
        "fit": shown.tried.fitted,
        "trial": shown.tried.tokens,
    }
    unsaid = Trial.of(context.state.with_(fit=None, trial=TRIED), features)
    defaults = {"material": context.corpus.token_sets[0], "fview": shown.series.views[0]}
    return values, defaults | {"fit": unsaid.fitted, "trial": unsaid.tokens}

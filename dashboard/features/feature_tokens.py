"""Tokens at feature points as a set of points: their columns, how they are searched, and the selection of a link.

A column has one value per token, the same in every panel. Tokens are selected by a search, filters, a region drawn in a panel and a
category of their colours; the same in all panels.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.features.data import ROLES, FeaturePanels, pieces_of
from dashboard.points.head_tokens import KINDS, REACHES, kinds_of
from dashboard.points.lasso import Outline, Region
from dashboard.points.point_set import (
    MOST_CONDITIONS,
    Column,
    Condition,
    Selection,
    Values,
    parse_conditions,
    write_conditions,
)
from dashboard.points.search import (
    BETWEEN,
    Texts,
    folded,
    matching_pieces,
    matching_tokens,
    parted,
    spaced,
    tokens_of_phrase,
)
from dashboard.ui.theme import COLOURED
from dashboard.web.bounds import predicts_labels
from dashboard.web.results import cached
from dashboard.web.state import MOST_SOUGHT, OF_WORDS, WITHIN, Within
from store import Corpus, StoreError
from store.features import Features
from store.phrases import whole_number
from store.schema.features import SAMPLE

#: Codes of wordpieces, one for each colour; the other wordpieces have no code.
WORDPIECES = tuple(range(COLOURED))
#: Columns of a model's predictions; the others are the same for every model.
PREDICTED = ("prediction", "correct")
NO_PREDICTION = (
    "This model predicts no label, so tokens cannot be coloured by prediction. Run `headscape finetune`, then "
    "`headscape ingest --model=data/finetuned`."
)
#: Text of the legend for tokens without a value.
NONE = "tokens have none"
#: Fields of a link that hold the selection.
FIELDS = ("q", "within", "where", "flasso", "fcolour", "fonly", "ftoken")

Tokens = NDArray[np.bool_]


@dataclass(frozen=True)
class PanelRegion(Region):
    """A polygon drawn in a panel of a series and view."""

    series: str
    view: str
    panel: str
    outline: Outline

    @classmethod
    def parse(cls, text: str) -> "PanelRegion | None":
        """The region of a text `series,view,panel,yaw,pitch,x1,y1,...`; None where the text is invalid."""
        series, view, panel, *numbers = [*text.split(",", 3), "", "", ""][:4]
        outline = Outline.parse(numbers[0])
        return cls(series, view, panel, outline) if outline else None

    def __str__(self) -> str:
        return f"{self.series},{self.view},{self.panel},{self.outline}"


@dataclass(frozen=True)
class FeatureTokens:
    """The first `tokens` tokens of a token set in all panels of a series, or in one.

    A reader may have `chosen` a token: its sentence is a category.
    """

    series: FeaturePanels
    tokens: int
    panel: str | None = None
    chosen: int | None = None

    @property
    def roles(self) -> tuple[str, ...]:
        """The only role: a token is one point."""
        return ROLES

    @cached_property
    def columns(self) -> dict[str, Column]:
        """All columns of the token set."""
        return token_columns(self.series.features, self.chosen)

    def places(self, view: str) -> NDArray[np.float32]:
        """Positions in a view, 0 to 1: (panel, token, role, component)."""
        return self.series.places(view, self.tokens, self.panel)

    def read(self, column: Column) -> Values:
        """The values of a column: (1, token, 1)."""
        return column.read(self)

    def coloured_like(self, _column: Column) -> "FeatureTokens":
        """The tokens themselves: all panels have the same colours."""
        return self

    def matching(self, q: str, within: Within) -> Tokens:
        """Which tokens a search finds: (token,)."""
        return _matching(self.series.corpus, self.series.features, q, within)[: self.tokens]

    def inside(self, region: PanelRegion) -> Tokens:
        """Whether each token is inside a region: (token, 1); False where its view lacks the token. StoreError for an unknown panel."""
        drawn_in = FeaturePanels.parse(self.series.corpus, self.series.features, region.series, self.series.trials)
        inside = region.outline.holds(drawn_in.places(region.view, self.tokens, region.panel)[0])
        return np.pad(inside, ((0, self.tokens - len(inside)), (0, 0)))


@dataclass(frozen=True)
class TokenSelection(Selection):
    """The selection of a link of page Features; the category that is shown alone is the last of its conditions."""

    chosen: int | None = None

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a link that are not empty; a filter by the sentence of the clicked token needs that token."""
        within = self.within if self.q and self.within != "token" else ""
        of_sentence = any(condition.column == "sentence" for condition in self.where)
        clicked = "" if self.chosen is None or not of_sentence else str(self.chosen)
        where, region = write_conditions(self.where), str(self.lasso or "")
        every = {"q": self.q, "within": within, "where": where, "flasso": region, "ftoken": clicked}
        return {name: text for name, text in every.items() if text}


def parse_token_selection(
    fields: Mapping[str, str], series: FeaturePanels, *, most: int = MOST_CONDITIONS
) -> tuple[TokenSelection, tuple[str, ...]]:
    """The selection of a link, and a notice on every part of it that is ignored."""
    features, notices = series.features, list[str]()
    q = spaced(fields.get("q", ""))[:MOST_SOUGHT]
    within: Within = next((match for match in WITHIN if match == fields.get("within")), "token")
    if within in OF_WORDS and features.name != SAMPLE:
        notices.append(f"Ignored an invalid parameter: within={within}. A whole review has no words with grammar.")
        within = "token"
    region = _region(fields.get("flasso", ""), series, notices)
    chosen = _chosen(fields.get("ftoken", ""), features)
    known = token_columns(features, chosen)
    filters, ignored = parse_conditions(fields.get("where", ""), known, most=most)
    where = (*filters, *_isolated(fields, known, notices))
    return TokenSelection(q, within, where, region, chosen), (*notices, *ignored)


def _region(text: str, series: FeaturePanels, notices: list[str]) -> PanelRegion | None:
    region = PanelRegion.parse(text) if text else None
    if region:
        try:
            FeatureTokens(series, 1).inside(region)
            return region
        except StoreError:
            pass
    if text:
        notices.append("Ignored a region: it is not in a picture of these tokens.")
    return None


def _chosen(written: str, features: Features) -> int | None:
    """The clicked token, where the token set has it."""
    clicked = whole_number(written)
    return clicked if clicked is not None and clicked < features.n_tokens else None


def _isolated(fields: Mapping[str, str], known: Mapping[str, Column], notices: list[str]) -> tuple[Condition, ...]:
    """The category that is shown alone, as a condition; it may be the sentence of the clicked token."""
    category = fields.get("fonly", "")
    if not category:
        return ()
    column = coloured_by(known, fields.get("fcolour", ""))
    if column.kind != "category" or column.code(category) is None:
        notices.append(f"Ignored an invalid parameter: fonly={category}. Click an entry of the legend.")
        return ()
    return (Condition(column.name, (category,)),)


def coloured_by(known: Mapping[str, Column], name: str) -> Column:
    """The column of the colours: the column `name`, or the first one where the token set lacks it."""
    return known.get(name) or next(iter(known.values()))


def _matching(corpus: Corpus, features: Features, q: str, within: Within) -> Tokens:
    if features.name == SAMPLE:
        rows = np.searchsorted(corpus.rows, features.tokens.row.values)
        return matching_tokens(corpus, q, within)[rows]
    sought = folded(spaced(q))
    if within == "phrase":
        return phrase_in_review(features, parted(sought, at_marks=corpus.splits_at_marks))
    return matching_pieces(features.pieces, sought, within)


def phrase_in_review(features: Features, sought: str) -> NDArray[np.bool_]:
    """Which tokens belong to the phrase: (token,). `sought` is in lower case, its words apart; a review is one sentence."""
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
    """The words of a review; a word outside the vocabulary is [UNK]."""
    word_index = features.tokens.word_index.values
    words = [""] * (int(word_index.max()) + 1)
    for piece, word in zip(features.pieces, word_index, strict=True):
        if word >= 0:
            words[word] += piece.text
    return words


def token_columns(features: Features, chosen: int | None) -> dict[str, Column]:
    """Every column of a token set by its name, in the order of the menu; `chosen` is the clicked token."""
    every = [
        _kind(features),
        _wordpiece(features),
        _position(features),
        *([_label(features)] if features.label_names else []),
        _sentence(features, chosen) if features.name == SAMPLE else _order(features),
        *_reaches(features),
        *_predictions(features),
    ]
    return {column.name: column for column in every}


def _category(name: str, title: str, names: Sequence[str], read: Callable[[], Values], rest: str = NONE) -> Column:
    """A column of categories, read for all tokens: (token,), -1 for none."""
    return Column(name, title, "category", names=tuple(names), rest=rest, read=_read_first(read))


def _read_first(read: Callable[[], Values]) -> Callable[[FeatureTokens], Values]:
    return lambda points: read()[None, : points.tokens, None]


def _kind(features: Features) -> Column:
    return _category("kind", "token type", KINDS, lambda: kinds_of(features.tokens.token_flags.values))


def _position(features: Features) -> Column:
    of = "sentence" if features.name == SAMPLE else "review"
    read = _read_first(lambda: features.tokens.position.values.astype(np.float64))
    return Column("position", f"position in the {of}", unit="tokens", rest=NONE, read=read)


def _label(features: Features) -> Column:
    return _category("label", "review label", features.label_names, lambda: features.label)


def _wordpiece(features: Features) -> Column:
    """The most frequent wordpieces, a colour each."""
    ids = features.tokens.token_id.values
    different, first, counts = np.unique(ids, return_index=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[: len(WORDPIECES)]
    pieces = pieces_of(features)
    names = [""] * (max(WORDPIECES) + 1)
    for code, index in zip(WORDPIECES, frequent, strict=False):
        names[code] = pieces[first[index]]

    def read() -> NDArray[np.int64]:
        codes = np.full(len(ids), -1, np.int64)
        for code, index in zip(WORDPIECES, frequent, strict=False):
            codes[ids == different[index]] = code
        return codes

    return _category("wordpiece", "most frequent tokens", names, read, "other wordpieces")


def _sentence(features: Features, chosen: int | None) -> Column:
    """The sentence of the clicked token: a sample has far more sentences than colours."""
    index = features.tokens.sentence_index.values
    own = None if chosen is None else index[chosen]
    rest = "other sentences" if chosen is not None else "no sentence chosen: open a point and click a token there"
    return _category(
        "sentence",
        "sentence of the chosen token",
        ("this sentence",),
        lambda: np.where(index == own, 0, -1).astype(np.int64),
        rest,
    )


def _order(features: Features) -> Column:
    """The sentences of a review in order."""
    read = _read_first(lambda: features.tokens.sentence_index.values.astype(np.float64))
    return Column("sentence", "sentence of the review, in order", rest=NONE, read=read)


def _reaches(features: Features) -> list[Column]:
    """Columns of how much of a token reaches [CLS] and the mean of its sentence; none where the store lacks these numbers."""
    reach = features.reach
    return [] if reach is None else [_reach(reach.sel(target=target)) for target in reach.target.values]


def _reach(reach: xr.DataArray) -> Column:
    target = str(reach.target.item())
    read = _read_first(lambda: reach.values.astype(np.float64))
    return Column(f"reach_{target}", REACHES[target], unit="× even share", rest=NONE, read=read)


def _predictions(features: Features) -> list[Column]:
    """The model's prediction for each token's sentence, where it is a classifier."""
    probability = features.class_probability
    if probability is None:
        return []
    names = tuple(map(str, probability["class"].values))
    predicted = probability.values.argmax(axis=1)[sentence_order(features)]
    judged = [_correct(features, predicted, names)] if predicts_labels(features) else []
    return [_category("prediction", "label predicted of the sentence", names, lambda: predicted), *judged]


def _correct(features: Features, predicted: NDArray[np.int64], names: tuple[str, ...]) -> Column:
    labels = np.array([*(names.index(name) for name in features.label_names), -1])[features.label]
    codes = np.where(labels < 0, -1, (predicted != labels).astype(np.int64))
    return _category("correct", "whether the prediction is right", ("right", "wrong"), lambda: codes)


def sentence_order(features: Features) -> NDArray[np.int64]:
    """Index of each token's sentence within the token set; a review is one text: (token,)."""
    index = features.tokens.sentence_index.values
    probability = features.class_probability
    if probability is not None and len(probability) == 1:
        return np.zeros(len(index), np.int64)
    return np.unique(index, return_inverse=True)[1].astype(np.int64)

"""A sentence's attention as it is shown: weighed, filtered, between words, or rolled out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from dashboard.sentence.sentence import Floats, Sentence
from store.kernels.words import merge_words
from store.schema import CLS, SEP

Pair = Literal["all", "aa", "ab", "ba", "bb"]
PAIRS: tuple[Pair, ...] = ("all", "aa", "ab", "ba", "bb")
#: Fields of a link that say what is shown.
FIELDS = ("weights", "pair", "hide", "special", "renormalize", "words", "rollout")
#: Positions that a link hides at most.
MOST_HIDDEN = 1_024

_POSITION = re.compile(r"[0-9]{1,4}")


@dataclass(frozen=True)
class Showing:
    """What of a sentence's patterns is shown; the defaults are the patterns themselves.

    Attributes
    ----------
    weights
        `norm`: ||a f(x)|| = a ||f(x)||, what is handed on of a key (Kobayashi et al. 2020). Not of a rollout, whose
        weights are of the input and not of what the layer's heads hand on.
    pair
        Queries and keys of one sentence of two: `ab` queries of the first, keys of the second (BertViz). Without effect
        where there is one sentence.
    hide
        Positions left out as queries and as keys; a word with all its wordpieces.
    special
        Whether [CLS] and [SEP] are shown.
    renormalize
        Rows sum to 1 again; a row with nothing left stays 0.
    words
        Wordpieces merged (Clark et al. 2019, section 4.1).
    rollout
        Attention rollout up to the layer instead of its pattern (Abnar & Zuidema 2020); one head, the mean.
    """

    weights: Literal["attention", "norm"] = "attention"
    pair: Pair = "all"
    hide: tuple[int, ...] = ()
    special: bool = True
    renormalize: bool = False
    words: bool = False
    rollout: bool = False

    @property
    def shares(self) -> bool:
        """Whether weights are shares of a row, none above 1."""
        return self.weights == "attention" or self.renormalize or self.rollout

    @property
    def fields(self) -> dict[str, str]:
        """As in a link: those of `FIELDS` that are not as by default."""
        flags = {name: "1" for name in ("renormalize", "words", "rollout") if getattr(self, name)}
        texts = {"weights": self.weights, "pair": self.pair, "hide": ".".join(map(str, self.hide))}
        changed = {name: text for name, text in texts.items() if text not in ("", "attention", "all")}
        every = changed | ({} if self.special else {"special": "0"}) | flags
        return {name: every[name] for name in FIELDS if name in every}


def parse_showing(given: Mapping[str, str]) -> Showing:
    """What a link shows; what cannot be read is as by default."""
    asked = given.get("pair", "")
    return Showing(
        weights="norm" if given.get("weights") == "norm" else "attention",
        pair=next((pair for pair in PAIRS if pair == asked), "all"),
        hide=positions(given.get("hide", "")),
        special=given.get("special") != "0",
        renormalize=given.get("renormalize") == "1",
        words=given.get("words") == "1",
        rollout=given.get("rollout") == "1",
    )


def positions(text: str) -> tuple[int, ...]:
    """Whole numbers of a text like `0.5.7`, ascending; what is none is left out."""
    parts = text[: 5 * MOST_HIDDEN].split(".")[:MOST_HIDDEN]
    return tuple(sorted({int(part) for part in parts if _POSITION.fullmatch(part)}))


@dataclass(frozen=True)
class Unit:
    """A wordpiece, or a word with all its wordpieces' positions."""

    name: str
    positions: tuple[int, ...]
    segment: int
    special: bool


@dataclass(frozen=True, eq=False)
class Shown:
    """Weights (layer, head, query, key) between units; one layer if one was asked for, one head of a rollout."""

    units: tuple[Unit, ...]
    keys: tuple[Unit, ...]
    weights: Floats


def shown_pattern(sentence: Sentence, showing: Showing, *, layer: int | None = None) -> Shown:
    """What is shown of one layer, or of all."""
    queries, keys = shown_units(sentence, showing)
    weights = _weights(sentence, showing, layer)
    between = merge_words(weights, *([unit.positions for unit in units] for units in (queries, keys)))
    return Shown(queries, keys, renormalized(between) if showing.renormalize else between)


def renormalized(weights: Floats) -> Floats:
    """Rows (..., key) that sum to 1; a row of zeros stays as it is."""
    total = weights.sum(axis=-1, keepdims=True)
    shares: Floats = weights / (total + (total == 0))
    return shares


def shown_units(sentence: Sentence, showing: Showing) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Queries and keys that are not left out."""
    hidden = frozenset(showing.hide)
    shown = [
        unit
        for unit in _units(sentence, words=showing.words)
        if hidden.isdisjoint(unit.positions) and (showing.special or not unit.special)
    ]
    if showing.pair == "all" or not sentence.segment.any():
        return tuple(shown), tuple(shown)
    of_query, of_key = ("ab".index(letter) for letter in showing.pair)
    queries, keys = (tuple(unit for unit in shown if unit.segment == part) for part in (of_query, of_key))
    return queries, keys


def _units(sentence: Sentence, *, words: bool) -> list[Unit]:
    """Every wordpiece or every word, in their order; a special token is a word of its own."""
    positions = range(len(sentence.wordpieces))
    grouped = groupby(positions, lambda place: _word(sentence, place) if words else (place, place))
    return [_unit(sentence, tuple(group)) for _, group in grouped]


def _word(sentence: Sentence, position: int) -> tuple[int, int]:
    """The same for wordpieces of one word only."""
    index = int(sentence.word_index[position])
    return index, position if index < 0 else -1


def _unit(sentence: Sentence, positions: tuple[int, ...]) -> Unit:
    first, *others = (sentence.wordpieces[position] for position in positions)
    return Unit(
        name="".join([first, *(piece.removeprefix("##") for piece in others)]),
        positions=positions,
        segment=int(sentence.segment[positions[0]]),
        special=bool(sentence.flags[positions[0]] & (CLS | SEP)),
    )


def _weights(sentence: Sentence, showing: Showing, layer: int | None) -> Floats:
    """Between all wordpieces: (layer, head, query_token, key_token)."""
    if showing.rollout:
        return sentence.rollout[_part(layer), None]
    pattern = sentence.pattern if layer is None else sentence.layer_pattern(layer)[None]
    if showing.weights == "attention":
        return pattern
    return pattern * sentence.value_norm[_part(layer), :, None, :]


def _part(layer: int | None) -> slice:
    return slice(None) if layer is None else slice(layer, layer + 1)

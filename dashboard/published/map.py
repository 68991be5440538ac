"""Heads as dots of a drawing, each a link to its page: the map of heads, and all heads of several models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.models.page import EveryHead
from dashboard.roles.shares import RoleShares, kind_number, known_shares, summary
from dashboard.statistics.scatter import ACROSS, UP, Score
from dashboard.web.special_names import Names, in_names, special_names
from store import Corpus
from store.kernels.rules import RULES
from store.repository.errors import NotIngested
from store.schema.model import head_name

#: Units of a drawing in each direction, and of its margin and of a dot.
SIDE, MARGIN, RADIUS = 1_000, 40, 11
#: Units of a letter across, and of a line of text.
LETTER, LINE = 10, 22
#: Outlines of dots around their middle: no kind is told by colour alone. The last, a small circle, is for heads without a kind.
SHAPES = (
    "M-11 0a11 11 0 1 0 22 0a11 11 0 1 0-22 0z",
    "M0-14L14 0L0 14L-14 0z",
    "M-10-10h20v20h-20z",
    "M0-15L4-5L14-4L6 3L9 13L0 7L-9 13L-6 3L-14-4L-4-5z",
    "M0-13L13 10h-26z",
    "M0 13L13-10h-26z",
    "M-4-12h8v8h8v8h-8v8h-8v-8h-8v-8h8z",
    "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0-14 0z",
)
NO_KIND = len(SHAPES) - 1
#: Names of the tokens before and after a text, where models name them differently.
BY_PLACE: Names = ("the first token", "the last token")


@dataclass(frozen=True)
class Dot:
    """A head as a dot: its place from the upper left, its text, its model, layer and number, and the number of its kind.

    `name` is written below the dot, where there is room.
    """

    x: float
    y: float
    title: str
    model: str
    layer: int
    head: int
    kind: int
    name: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis of a drawing: its title, and some numbers with their places."""

    title: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Drawing:
    """Dots of heads in a square; without axes only their distances mean something."""

    dots: tuple[Dot, ...]
    across: Axis | None = None
    up: Axis | None = None


def map_of_heads(corpus: Corpus) -> Drawing | None:
    """The map of page Head map, coloured by the kind of the clearest role; None where the store has no map."""
    try:
        places = np.asarray(corpus.divergence["place"].values, np.float64)
    except NotIngested:
        return None
    if corpus.layers * corpus.heads < 2:
        return None
    shares, names = known_shares(corpus), special_names(corpus)
    flat = places.reshape(-1, places.shape[-1])[:, :2]
    low, size = flat.min(axis=0), float(np.ptp(flat, axis=0).max()) or 1.0
    middle = (1 - np.ptp(flat, axis=0) / size) / 2
    at = MARGIN + (SIDE - 2 * MARGIN) * ((flat - low) / size + middle)
    heads = list(np.ndindex(corpus.layers, corpus.heads))
    dots = (
        Dot(
            round(float(x), 1),
            round(SIDE - float(y), 1),
            in_names(_described(shares, layer, head), names),
            corpus.name,
            layer,
            head,
            _kind(shares, layer, head),
        )
        for (layer, head), (x, y) in zip(heads, at, strict=True)
    )
    return Drawing(tuple(_named(list(dots))))


def _named(dots: list[Dot]) -> list[Dot]:
    """The dots with their names, where a name covers neither another name nor a dot."""
    taken = [(dot.x - RADIUS, dot.y - RADIUS, dot.x + RADIUS, dot.y + RADIUS) for dot in dots]
    named = []
    for dot in dots:
        name = head_name(dot.layer, dot.head)
        half = LETTER * len(name) / 2
        box = (dot.x - half, dot.y + RADIUS, dot.x + half, dot.y + RADIUS + LINE)
        is_free = not any(
            box[0] < right and left < box[2] and box[1] < low and high < box[3] for left, high, right, low in taken
        )
        if is_free:
            taken.append(box)
        named.append(replace(dot, name=name) if is_free else dot)
    return named


def _described(shares: RoleShares | None, layer: int, head: int) -> str:
    name = head_name(layer, head)
    return f"{name}: {summary(shares, layer, head)}" if shares else name


def _kind(shares: RoleShares | None, layer: int, head: int) -> int:
    place = int(shares.clearest[layer, head]) if shares else -1
    return kind_number(RULES[shares.tested[place]].kind) if shares and place >= 0 else NO_KIND


def scatter_of_models(every: EveryHead, named: Mapping[str, Callable[[str], str]]) -> Drawing:
    """The heads of all models by the two numbers that page Models shows at first.

    `named` has a function for each model: it puts the model's names of special tokens into a text. An axis has these names where
    all models share them.
    """
    across, up = (next(name for name in names if name in every.scores) for names in (ACROSS, UP))
    x, y = every.scores[across], every.scores[up]
    models = list(every.models)
    place_x, axis_x = _axis(x, named.values())
    place_y, axis_y = _axis(y, named.values())
    dots = (
        Dot(
            round(float(at_x), 1),
            round(SIDE - float(at_y), 1),
            f"{head_name(layer, head)} of {every.models[model]}: "
            + named[model](f"{x.written((number,))}, {y.written((number,))}"),
            model,
            int(layer),
            int(head),
            models.index(model) % NO_KIND,
        )
        for number, (at_x, at_y, model, layer, head) in enumerate(
            zip(place_x, place_y, every.model, every.layer, every.head, strict=True)
        )
        if np.isfinite(at_x) and np.isfinite(at_y)
    )
    return Drawing(tuple(dots), axis_x, axis_y)


def _axis(score: Score, named: Iterable[Callable[[str], str]]) -> tuple[NDArray[np.float64], Axis]:
    """Places of values along an axis, and the axis with five numbers; its title has names of all models, or says where a token stands."""
    values = score.drawn
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    size = high - low or 1.0
    ends: Sequence[float] = np.linspace(low, high, 5).tolist()
    room = SIDE - 2 * MARGIN
    ticks = tuple((round(MARGIN + room * (end - low) / size, 1), f"{end:.3g}") for end in ends)
    names = {name(score.axis) for name in named}
    title = names.pop() if len(names) == 1 else in_names(score.axis, BY_PLACE)
    return MARGIN + room * (values - low) / size, Axis(title, ticks)

"""A polygon drawn round points on the screen, and which points are inside."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from dashboard.points.columns import Column, column_of, columns, values
from dashboard.points.drawn import Drawn
from dashboard.points.search import WITHIN, Within, matching_tokens, spaced
from store import Corpus

#: Corners of a polygon, and how far outside the picture they may be, in thousandths of its side.
MOST_CORNERS, FARTHEST = 200, 2_000
FEWEST_CORNERS = 3
Floats = NDArray[np.floating]
MOST_CONDITIONS = 12
MOST_CATEGORIES = 100
MAGIC = b"HSM2"
#: Characters of a search.
MOST_SOUGHT = 200
#: Fields of a link that say what is selected.
FIELDS = ("q", "within", "where", "lasso")


@dataclass(frozen=True)
class Outline:
    """A polygon on the screen.

    `yaw` and `pitch` are the degrees a 3D picture was turned by, `corners` thousandths of the square on the screen, y up.
    """

    yaw: int
    pitch: int
    corners: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> "Outline | None":
        """From `yaw,pitch,x1,y1,x2,y2,...`; None where that is none."""
        numbers = text.split(",")
        if len(numbers) > 2 + 2 * MOST_CORNERS or not all(_is_whole(number) for number in numbers):
            return None
        whole = [int(number) for number in numbers]
        corners = tuple(zip(whole[2::2], whole[3::2], strict=False))
        if len(whole) % 2 or len(corners) < FEWEST_CORNERS:
            return None
        near = tuple((_near(x), _near(y)) for x, y in corners)
        return cls(whole[0] % 360, whole[1] % 360, near)

    def __str__(self) -> str:
        return ",".join([f"{self.yaw},{self.pitch}", *(f"{x},{y}" for x, y in self.corners)])

    def holds(self, places: Floats) -> NDArray[np.bool_]:
        """Which of the places (..., component), 0 to 1 in the view's cube, it is drawn round: (...,)."""
        shown = on_screen(places, yaw=self.yaw, pitch=self.pitch)
        return inside(shown, np.array(self.corners) / 1000)


@dataclass(frozen=True)
class Lasso:
    """A polygon in the picture of one head."""

    view: str
    layer: int
    head: int
    outline: Outline

    @classmethod
    def parse(cls, text: str) -> "Lasso | None":
        """From `view,layer,head,yaw,pitch,x1,y1,x2,y2,...`; None where that is none."""
        view, layer, head, *rest = [*text.split(",", 3), "", ""]
        outline = Outline.parse(rest[0]) if _is_whole(layer) and _is_whole(head) else None
        return cls(view, int(layer), int(head), outline) if outline else None

    def __str__(self) -> str:
        return f"{self.view},{self.layer},{self.head},{self.outline}"

    def holds(self, places: Floats) -> NDArray[np.bool_]:
        """Which of the places (..., component), 0 to 1 in the view's cube, it is drawn round: (...,)."""
        return self.outline.holds(places)


def on_screen(places: Floats, *, yaw: float, pitch: float) -> Floats:
    """Where places (..., component) are seen, x and y in the square: (..., 2). The canvas turns 3D pictures the same way."""
    if places.shape[-1] == 2:
        return places
    x, y, z = np.moveaxis(places - 0.5, -1, 0)
    turn, tilt = np.float32(np.radians(yaw)), np.float32(np.radians(pitch))
    across = np.cos(turn) * x + np.sin(turn) * z
    depth = np.cos(turn) * z - np.sin(turn) * x
    up = np.cos(tilt) * y - np.sin(tilt) * depth
    return np.stack([across, up], axis=-1) + np.float32(0.5)


def inside(points: Floats, polygon: Floats) -> NDArray[np.bool_]:
    """Which points (..., 2) are inside a polygon (corner, 2), by the even-odd rule: (...,)."""
    flat = points.reshape(-1, 2)
    found = ((flat >= polygon.min(axis=0)) & (flat <= polygon.max(axis=0))).all(axis=1)
    near = np.flatnonzero(found)
    found[near] = _crossings_are_odd(flat[near, 0], flat[near, 1], polygon.astype(flat.dtype))
    return found.reshape(points.shape[:-1])


def _crossings_are_odd(x: Floats, y: Floats, polygon: Floats) -> NDArray[np.bool_]:
    """Whether a ray to the right of each point meets an odd number of edges."""
    odd = np.zeros(len(x), bool)
    for (x1, y1), (x2, y2) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        between = (y1 > y) != (y2 > y)
        # Where the edge is level nothing is between, so that the division by 1 is not used.
        odd ^= between & (x < x1 + (y - y1) * ((x2 - x1) / (y2 - y1 if y2 != y1 else 1)))
    return odd


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 8


def _near(corner: int) -> int:
    return max(-FARTHEST, min(corner, 1000 + FARTHEST))


@dataclass(frozen=True)
class Condition:
    """One column, and its categories (any of them) or the range its number is in, ends included; None is no end.

    Without categories or ends it is one that a reader is about to make: every point meets it.
    """

    column: str
    categories: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.categories:
            return f"{_quoted(self.column)}:{'|'.join(map(_quoted, self.categories))}"
        if self.low is None and self.high is None:
            return f"{_quoted(self.column)}:"
        return f"{_quoted(self.column)}:{_spelled(self.low)}..{_spelled(self.high)}"


def write_conditions(conditions: tuple[Condition, ...]) -> str:
    """As in a link: `column:a|b;column:low..high`."""
    return ";".join(map(str, conditions))


def parse_conditions(text: str, corpus: Corpus) -> tuple[tuple[Condition, ...], list[str]]:
    """The conditions of a link, and a sentence on everything in it that cannot be met."""
    notices: list[str] = []
    asked = [part for part in text.split(";") if part]
    read = [_parse(part, corpus, notices) for part in asked[:MOST_CONDITIONS]]
    conditions = tuple(one for one in read if one is not None)
    if len(asked) > MOST_CONDITIONS:
        notices.append(f"There are more than {MOST_CONDITIONS} conditions. The first of them are applied.")
    return conditions, notices


def points_that_meet(condition: Condition, drawn: Drawn) -> NDArray[np.bool_]:
    """Which drawn points meet a condition: (panel, token, role), one panel where it is the same in all."""
    column = column_of(drawn.corpus, condition.column)
    found = values(column, drawn)
    if column.kind == "category":
        if not condition.categories:
            return np.ones((1, 1, 1), bool)
        codes = [column.code(category) for category in condition.categories]
        return np.isin(found, [code for code in codes if code is not None])
    low, high = (
        end if end is not None else limit for end, limit in ((condition.low, -np.inf), (condition.high, np.inf))
    )
    return (found >= low) & (found <= high)


def _parse(text: str, corpus: Corpus, notices: list[str]) -> Condition | None:
    """A condition, None where nothing is left of it."""
    name, colon, asked = text.partition(":")
    column = columns(corpus).get(unquote(name))
    if column is None or not colon:
        notices.append(f"There is no column “{unquote(name)[:60]}” to filter by. The condition is left out.")
        return None
    if not asked:
        return Condition(column.name)
    return (_categories if column.kind == "category" else _range)(column, asked, notices)


def _categories(column: Column, asked: str, notices: list[str]) -> Condition | None:
    names = list(dict.fromkeys(map(unquote, asked.split("|"))))
    read = names[:MOST_CATEGORIES]
    if len(names) > len(read):
        notices.append(f"There are more than {MOST_CATEGORIES} categories of {column.title}. The others are left out.")
    known = tuple(name for name in read if column.code(name) is not None)
    if len(known) < len(read):
        left_out = "|".join(name for name in read if name not in known)[:60]
        what = "These are" if known else "The condition is"
        notices.append(f"{column.title} is never “{left_out}”. {what} left out.")
    return Condition(column.name, known) if known else None


def _range(column: Column, asked: str, notices: list[str]) -> Condition | None:
    low, dots, high = (unquote(part) for part in asked.partition(".."))
    if dots and (low or high) and _is_end(low) and _is_end(high):
        return Condition(column.name, (), *(float(end) if end else None for end in (low, high)))
    notices.append(f"“{unquote(asked)[:60]}” is no range of {column.title}, such as 1..5. The condition is left out.")
    return None


def _is_end(text: str) -> bool:
    """Whether this is a finite number, or nothing at all."""
    try:
        return not text or (len(text) < 40 and isfinite(float(text)))
    except ValueError:
        return False


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _spelled(end: float | None) -> str:
    return "" if end is None else f"{end!r}".removesuffix(".0")


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
        selected = (
            selected & matching_tokens(drawn.corpus, selection.q, selection.within)[None, : len(drawn.rows), None]
        )
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

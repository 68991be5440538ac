"""The selection of a picture: the points that match a search, all conditions on columns, and a lasso."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from dashboard.points.columns import Column, column_of, columns, values
from dashboard.points.drawn import Drawn
from dashboard.points.search import matching_tokens, spaced
from dashboard.web.bounds import matches_of
from dashboard.web.state import MOST_SOUGHT, WITHIN, Within
from store import Corpus

#: Corners of a polygon, and how far outside the picture they may be, in thousandths of its side.
MOST_CORNERS, FARTHEST = 200, 2_000
FEWEST_CORNERS = 3
Floats = NDArray[np.floating]
MOST_CONDITIONS = 12
MOST_CATEGORIES = 100
MAGIC = b"HSM2"
#: Fields of a link that select points.
FIELDS = ("q", "within", "where", "lasso")


@dataclass(frozen=True)
class Outline:
    """A polygon on the screen.

    `yaw` and `pitch` are the rotation of a 3D picture in degrees; `corners` are in thousandths of the square on screen, y up.
    """

    yaw: int
    pitch: int
    corners: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> "Outline | None":
        """From `yaw,pitch,x1,y1,x2,y2,...`; None where it is invalid."""
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
        """Which positions (..., component), 0 to 1 in the view's cube, are inside: (...,)."""
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
        """From `view,layer,head,yaw,pitch,x1,y1,x2,y2,...`; None where it is invalid."""
        view, layer, head, *rest = [*text.split(",", 3), "", ""]
        outline = Outline.parse(rest[0]) if _is_whole(layer) and _is_whole(head) else None
        return cls(view, int(layer), int(head), outline) if outline else None

    def __str__(self) -> str:
        return f"{self.view},{self.layer},{self.head},{self.outline}"

    def holds(self, places: Floats) -> NDArray[np.bool_]:
        """Which positions (..., component), 0 to 1 in the view's cube, are inside: (...,)."""
        return self.outline.holds(places)


def on_screen(places: Floats, *, yaw: float, pitch: float) -> Floats:
    """Positions (..., component) projected to the screen: x and y in the square (..., 2). The canvas turns 3D pictures the same way."""
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
    within = ((flat >= polygon.min(axis=0)) & (flat <= polygon.max(axis=0))).all(axis=1)
    near = np.flatnonzero(within)
    within[near] = _crossings_are_odd(flat[near, 0], flat[near, 1], polygon.astype(flat.dtype))
    return within.reshape(points.shape[:-1])


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
    """A column with categories, of which any may match, or with a range, ends included; None is an open end.

    Without either, every point matches: a reader has just added it.
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
    """The conditions of a link, and a notice on each part that is ignored."""
    notices: list[str] = []
    parts = [part for part in text.split(";") if part]
    parsed = [_parse(part, corpus, notices) for part in parts[:MOST_CONDITIONS]]
    conditions = tuple(condition for condition in parsed if condition is not None)
    if len(parts) > MOST_CONDITIONS:
        notices.append(f"A link has at most {MOST_CONDITIONS} filters; the others are ignored.")
    return conditions, notices


def matching_points(condition: Condition, drawn: Drawn) -> NDArray[np.bool_]:
    """Which drawn points match a condition: (panel, token, role), one panel where all heads agree."""
    column = column_of(drawn.corpus, condition.column)
    known = values(column, drawn)
    if column.kind == "category":
        if not condition.categories:
            return np.ones((1, 1, 1), bool)
        codes = [column.code(category) for category in condition.categories]
        return np.isin(known, [code for code in codes if code is not None])
    low, high = (
        end if end is not None else limit for end, limit in ((condition.low, -np.inf), (condition.high, np.inf))
    )
    return (known >= low) & (known <= high)


def _parse(text: str, corpus: Corpus, notices: list[str]) -> Condition | None:
    """A condition; None where it is invalid."""
    name, colon, text = text.partition(":")
    column = columns(corpus).get(unquote(name))
    if column is None or not colon:
        notices.append(f"Ignored a filter: there is no column “{unquote(name)[:60]}”.")
        return None
    if not text:
        return Condition(column.name)
    return (_categories if column.kind == "category" else _range)(column, text, notices)


def _categories(column: Column, text: str, notices: list[str]) -> Condition | None:
    names = list(dict.fromkeys(map(unquote, text.split("|"))))
    read = names[:MOST_CATEGORIES]
    if len(names) > len(read):
        notices.append(f"A filter has at most {MOST_CATEGORIES} categories of {column.title}; the others are ignored.")
    known = tuple(name for name in read if column.code(name) is not None)
    if len(known) < len(read):
        left_out = "|".join(name for name in read if name not in known)[:60]
        ignored = "categories" if known else "a filter"
        notices.append(f"Ignored {ignored}: {column.title} has no “{left_out}”.")
    return Condition(column.name, known) if known else None


def _range(column: Column, text: str, notices: list[str]) -> Condition | None:
    low, dots, high = (unquote(part) for part in text.partition(".."))
    if dots and (low or high) and _is_end(low) and _is_end(high):
        return Condition(column.name, (), *(float(end) if end else None for end in (low, high)))
    notices.append(f"Ignored a filter: “{unquote(text)[:60]}” is no range of {column.title}. Write one as 1..5.")
    return None


def _is_end(text: str) -> bool:
    """Whether the text is empty or a finite number."""
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
    """A search `q` for a token, a prefix, a phrase or a lemma, conditions on columns, and a lasso; empty by default."""

    q: str = ""
    within: Within = "token"
    where: tuple[Condition, ...] = ()
    lasso: Lasso | None = None

    def __bool__(self) -> bool:
        return bool(self.q or self.where or self.lasso)

    @property
    def fields(self) -> dict[str, str]:
        """The parameters of a link, without empty ones."""
        within = self.within if self.q and self.within != "token" else ""
        lasso = str(self.lasso) if self.lasso else ""
        every = dict(zip(FIELDS, (self.q, within, write_conditions(self.where), lasso), strict=True))
        return {name: text for name, text in every.items() if text}


def parse_selection(fields: Mapping[str, str], corpus: Corpus) -> tuple[Selection, tuple[str, ...]]:
    """The selection of a link, and a notice on each part that is ignored."""
    q = spaced(fields.get("q", ""))
    where, notices = parse_conditions(fields.get("where", ""), corpus)
    if len(q) > MOST_SOUGHT:
        notices.append(f"A search has at most {MOST_SOUGHT} characters; the rest is ignored.")
        q = spaced(q[:MOST_SOUGHT])
    within = _within(fields.get("within", ""), corpus, notices) if q else WITHIN[0]
    return Selection(q, within, where, _lasso(fields.get("lasso", ""), corpus, notices)), tuple(notices)


def mask(drawn: Drawn, selection: Selection) -> NDArray[np.bool_]:
    """Which drawn points are selected: (panel, token, role), one panel where all heads agree.

    A search selects a token's query and key. A lasso selects the same queries and keys in every head. An empty selection
    selects everything.
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
        selected = selected & matching_points(condition, drawn)
    return selected


def encode(selected: NDArray[np.bool_]) -> bytes:
    """`HSM2`, u32 panels, tokens, roles, then a bit for each [panel, token, role], the first in the highest bit."""
    return MAGIC + struct.pack("<3I", *selected.shape) + np.packbits(selected).tobytes()


def _within(text: str, corpus: Corpus, notices: list[str]) -> Within:
    for within in matches_of(corpus):
        if text in (within, ""):
            return within
    notices.append(f"Ignored an invalid parameter: within={text[:40]}. Choose one of {', '.join(matches_of(corpus))}.")
    return WITHIN[0]


def _lasso(text: str, corpus: Corpus, notices: list[str]) -> Lasso | None:
    lasso = Lasso.parse(text) if text else None
    if (
        lasso
        and lasso.view in corpus.views
        and lasso.layer in range(corpus.layers)
        and lasso.head in range(corpus.heads)
    ):
        return lasso
    if text:
        notices.append("Ignored the lasso: this store has no such picture.")
    return None

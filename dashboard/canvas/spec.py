"""The canvas: its Dash component, the typed structure that a page sends as its prop `picture`, and the points that it fetches.

Each picture is built by one function of its topic and sent as `Picture.json()`. The modules in assets/canvas/ read these
fields and no others (tests/test_spec.py). The browser fetches a part of a picture again only when its URL changes.

Points are quantised, in the order of the corpus, so that a prefix is a fair sample: as bytes, or as an image for a browser without WebGL2.
Format of the bytes, little-endian: `HSP3`, then u32 panels, tokens a panel, roles of a token (2: query, key; 1: the token itself),
components (2 or 3), bytes a number (1 or 2), then for every panel, token and role its components, 0 to the largest number
across the view's square or cube. It has one scale for all components, so that distance means the same in every direction.
"""

import io
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from math import isqrt
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dashboard.ui.markup import BrowserComponent
from dashboard.ui.theme import PALETTE, Scheme, rgb
from store import Corpus
from store.schema.model import ROLES

#: Colours of the codes 0 to 255 by scheme, then by role.
Ramp = Mapping[str, Mapping[str, Sequence[str]]]
#: Words in a saved picture for a search that is not for whole tokens.
MATCH = {"prefix": " as the beginning of a token", "phrase": " as a phrase", "lemma": " as a lemma"}
SIZES = "The larger a point, the larger the norm of its vector."
#: The first bytes of points that are sent.
MAGIC = b"HSP3"
#: Most points of a grid of heads: they keep the first screen below 3 MB for any number of heads.
GRID_POINTS = 600_000
GRID_TOKENS = 2_000
#: Most pixels of an image: a little more than a screen of 5120 x 2880 has.
MOST_PIXELS = 16_000_000


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A square of points."""

    name: str
    #: A line about the panel, shown on hover after its name.
    summary: str = ""
    #: A word in the panel's corner.
    tag: str = ""
    #: A number after the panel's name, where the name stands above the panel.
    value: str = ""
    #: Fields of the link that opens the panel, where the panel is not a head.
    fields: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class RowHeading:
    """A line above the panels of a row, from a place of the grid to the next heading or the end of the row."""

    slot: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Headings:
    """Names above the columns, joined by arrows from left to right, and above the panels of each row."""

    above: Sequence[str]
    rows: Sequence[RowHeading]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A picture in a sequence of pictures of the same tokens, through which a reader moves."""

    name: str
    #: URL of the picture's points.
    points: str
    #: Text of the picture for a screen reader.
    label: str
    #: Fields of the picture's link.
    fields: Mapping[str, str]
    #: Texts of the page that follow the points, by the name of their place.
    texts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ChosenPoint:
    """The clicked point."""

    token: int
    role: str


@dataclass(frozen=True, kw_only=True)
class SecondHead:
    """Fields of the second of two heads."""

    #: As `Picture.focus`.
    focus: str | None
    #: As `Picture.region`.
    region: str


@dataclass(frozen=True, kw_only=True)
class LinkFields:
    """The fields of a link that hold the clicked token and the region, where they are not `token` and `lasso`."""

    token: str
    lasso: str


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """Text of a saved picture beside the captions of the page; the header and controls of the page are left out."""

    source: str
    stem: str
    notes: Sequence[str]

    @classmethod
    def of(cls, origin: Mapping[str, str], selection: Mapping[str, str], *, sized: bool = False) -> "FileSource":
        """Models, corpus and snapshot (`provenance_of`), with notes on a link's `selection` and, where `sized`, on sizes."""
        notes = [*_selection_note(selection), *([SIZES] if sized else [])]
        return cls(source=origin["source"], stem=origin["stem"], notes=notes)


def _selection_note(selection: Mapping[str, str]) -> list[str]:
    search = f"“{selection['q']}”{MATCH.get(selection.get('within', ''), '')}" if "q" in selection else ""
    conditions = [unquote(condition) for condition in selection.get("where", "").split(";")]
    region = "a region" if selection.keys() & {"lasso", "flasso"} else ""
    selectors = [part for part in (search, *conditions, region) if part]
    return [f"What stands out is selected by {', '.join(selectors)}."] if selectors else []


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Panels of points and what is drawn with them. None: the picture has no such part."""

    # What the panels are
    panels: Sequence[Panel]
    #: Panels in a row.
    columns: int
    #: Text of the picture for a screen reader; the title of a saved picture.
    label: str
    #: Roles of a token's points: query and key, or one point for the token itself.
    roles: Sequence[str]
    #: 2 or 3.
    dimensions: int
    #: Layers and heads of the model, where the first panel is one of its heads.
    shape: tuple[int, int] | None = None
    #: Place of each panel in the grid, where it differs from the panel's number; -1 for a panel that is left out.
    slots: Sequence[int] | None = None
    #: Whether the window decides how many panels stand in a row.
    flows: bool = False
    #: Whether each panel has its name above it.
    titled: bool = False
    #: Names of columns and rows, instead of names above the panels.
    headings: Headings | None = None
    #: Smallest side of a panel in pixels.
    min_side: int | None = None
    #: Width of a panel in pixels below which the panels stand below each other.
    narrowest: int | None = None

    # What is drawn, by URL
    points: str
    #: The points as an image, for a browser without WebGL2.
    raster: str
    #: A code for the colour of each point; without it points have the colours of their roles.
    colours: str | None = None
    ramp: Ramp | None = None
    #: Whether the shape of a key is an outline, so that a category keeps its colour.
    outlined: bool = False
    #: A bit for each point: whether it is selected.
    mask: str | None = None
    sizes: str | None = None
    #: Wordpieces of the tokens.
    labels: str | None = None
    #: Density contours of the points of each role, for each panel.
    contours: str | None = None
    #: Named clusters, for each panel.
    clusters: str | None = None
    #: Beginning of the URL of a point's hover card, up to the role; `cards` has one for each of two linked panels.
    card: str | None = None
    cards: Sequence[str] | None = None

    # The clicked point and the region
    chosen: ChosenPoint | None = None
    #: Places and lines of the sentence of the clicked point.
    focus: str | None = None
    #: Caption of `focus` in a saved picture.
    focus_caption: str | None = None
    #: Pairs of positions (query, key) in that sentence whose lines are marked.
    marks: Sequence[Sequence[int]] = ()
    #: Fields of the second of two heads, where a reader works with both as with a single head.
    second: SecondHead | None = None
    #: The selected region as in a link, and the beginning of the regions that belong to this picture.
    lasso: str | None = None
    region: str | None = None
    #: The camera of the link.
    at: str | None = None

    # Ways to other pictures
    sequence: Sequence[Step] | None = None
    #: The page that a panel opens, where it is not the page of a head, and the fields that its link drops.
    page: str | None = None
    dropped_fields: Sequence[str] = ()
    link_fields: LinkFields | None = None

    # The page around it
    #: Name of what the page adds below once the picture is painted; the browser asks for each name once.
    after: str | None = None
    file: FileSource
    #: Colours by scheme.
    palette: Mapping[Scheme, Mapping[str, str]] = field(default_factory=lambda: PALETTE)

    def json(self) -> dict[str, Any]:
        """The picture as the browser gets it: every field by its name."""
        return _plain(self)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def grid_tokens(corpus: Corpus) -> int:
    """Tokens drawn in every panel of the grid."""
    return min(GRID_TOKENS, max(1, GRID_POINTS // (2 * corpus.layers * corpus.heads)), corpus.n_tokens)


def encode_points(points: NDArray[np.float32], *, width: int) -> bytes:
    """The bytes of (panel, token, role, component) points in 0..1; `width` bytes a number."""
    most, dtype = (255, "<u1") if width == 1 else (65535, "<u2")
    panels, tokens, roles, components = points.shape
    places = np.clip(np.rint(points * most), 0, most).astype(dtype)
    return MAGIC + struct.pack("<5I", panels, tokens, roles, components, width) + places.tobytes()


def draw_panels(
    points: NDArray[np.float32],
    *,
    columns: int,
    side: int,
    gap: int,
    scheme: Scheme,
    slots: Sequence[int] | None = None,
    title: int = 0,
) -> bytes:
    """A PNG of square panels, `side` pixels each with `gap` between: (panel, token, role, component) in 0..1.

    `slots` are the panels' places in the grid where some stay empty, `title` the pixels left above each. Sides are shorter
    where the picture would have more than `MOST_PIXELS`.
    """
    slots = range(len(points)) if slots is None else slots
    rows = -(-(max(slots) + 1) // columns)
    side = max(1, min(side, isqrt(MOST_PIXELS // (rows * columns)) - gap - title))
    image = np.zeros((rows * (side + gap + title) - gap, columns * (side + gap) - gap, 4), np.uint8)
    for slot, places in zip(slots, points, strict=True):
        row, column = divmod(slot, columns)
        top, left = row * (side + gap + title) + title, column * (side + gap)
        image[top : top + side, left : left + side] = draw_panel(places, side=side, scheme=scheme)
    buffer = io.BytesIO()
    Image.fromarray(image, "RGBA").save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def draw_panel(places: NDArray[np.float32], *, side: int, scheme: Scheme) -> NDArray[np.uint8]:
    """Pixels (y, x, RGBA) of one panel: hue by the share of queries and keys in the pixel, opacity by their number.

    A 3D picture is seen from its front: its third component is left out.
    """
    pixel = np.clip((places * (side - 1)).round().astype(np.int64), 0, side - 1)
    index = (side - 1 - pixel[..., 1]) * side + pixel[..., 0]
    counts = np.stack([np.bincount(index[:, role], minlength=side * side) for role in range(places.shape[1])], axis=-1)
    total = counts.sum(axis=-1, keepdims=True)
    drawn = np.flatnonzero(total)
    colours = np.array([rgb(PALETTE[scheme][role]) for role in ROLES[: places.shape[1]]], np.float64)
    mixed = counts[drawn] / total[drawn] @ colours
    opacity = 255 * (1 - 0.45 ** np.sqrt(total[drawn]))
    panel = np.zeros((side * side, 4), np.uint8)
    panel[drawn] = np.concatenate([mixed, opacity], axis=-1).round()
    return panel.reshape(side, side, 4)


class PointPanels(BrowserComponent):
    """Square panels of points, row by row; one panel is the page of a head. One instance serves all pages.

    Parameters
    ----------
    id
        Dash id.
    picture
        What is drawn, `Picture` as JSON; None for nothing.
    noted
        Counts of notes: of panels by their names, of tokens by their numbers, and the beginning of the data URLs that they
        are for: `{"base": "/data/1/...", "panels": {"L3 H7": 2}, "tokens": {"17": 1}}`.
    opened
        Out: index of the panel a reader opened, with a counter: `{"panel": 43, "count": 1}`.
    left
        Out: a reader went back from a head to all heads: `{"panel": 43, "count": 1}`, -1 where it is not known.
    picked
        Out: a point was chosen, token -1 for none: `{"token": 5, "role": "key", "count": 1}`.
    painted
        Out: the picture is painted, and `after` may follow below it: `{"after": "...", "count": 1}`.
    step
        Out: the step of the sequence that is shown, or that the points move to: `{"panel": 7, "count": 1}`.
    arrived
        Out: the step at which a reader stopped: `{"panel": 7, "count": 1}`.
    lassoed
        Out: a region was drawn, "" for none: `{"lasso": "attention-exact-2d,3,7,0,0,100,100,...", "count": 1}`.
    """

    properties = ("id", "picture", "noted", "opened", "left", "picked", "lassoed", "step", "arrived", "painted")

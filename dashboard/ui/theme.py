"""Colours, shared by Mantine, the canvas and the raster. Queries and keys differ in lightness as well as in hue."""

from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from typing import Literal

Scheme = Literal["light", "dark"]
#: Okabe-Ito blue and vermillion; lighter on dark, so that both have a contrast of 3:1 to their background. A contour has 3:1 to the points.
PALETTE: Mapping[Scheme, Mapping[str, str]] = {
    "light": {
        "query": "#0072B2",
        "key": "#D55E00",
        "token": "#0072B2",
        "query_contour": "#00223D",
        "key_contour": "#4A1D00",
        "background": "#FFFFFF",
        "panel": "#F6F7F9",
        "ink": "#1A1B1E",
    },
    "dark": {
        "query": "#56B4E9",
        "key": "#FF9E64",
        "token": "#56B4E9",
        "query_contour": "#DFF3FF",
        "key_contour": "#FFEBDD",
        "background": "#242424",
        "panel": "#2C2E33",
        "ink": "#F1F3F5",
    },
}
MANTINE = {
    "fontFamily": "Roboto, system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', sans-serif",
    "primaryColor": "blue",
    "primaryShade": {"light": 8, "dark": 5},
    "defaultRadius": "md",
    "respectReducedMotion": True,
    "headings": {"fontWeight": "600"},
}
#: Colours of a number from the lowest to the highest: lightness shows the amount, hue stays with query or key.
_STOPS: Mapping[Scheme, Mapping[str, tuple[str, ...]]] = {
    "light": {"query": ("#A9CCE8", "#0072B2", "#00223D"), "key": ("#F6C59B", "#D55E00", "#4A1D00")},
    "dark": {"query": ("#1F4C6B", "#56B4E9", "#DFF3FF"), "key": ("#6B3A14", "#FF9E64", "#FFEBDD")},
}
#: Colours of categories: colours of Okabe and Ito that are visible on the background, and others as far from them as possible in
#: every kind of colour vision. Each stands for one category; all further categories are grey.
CATEGORIES: Mapping[Scheme, tuple[str, ...]] = {
    "light": ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6611CC", "#1A1B1E"),
    "dark": ("#56B4E9", "#FF9E64", "#2EC4A0", "#E6A0C8", "#F0C24B", "#7884F0", "#BB4433", "#F1F3F5"),
}
OTHER: Mapping[Scheme, str] = {"light": "#757A82", "dark": "#7B8088"}
#: Number of categories with a colour of their own.
COLOURED = len(CATEGORIES["light"])
#: Colour of each label of heads, in the order of `store.kernels.heads.LABELS`; no label has the colour of queries or keys.
LABEL_COLOURS = ("#56B4E9", "#009E73", "#5A6067", "#E69F00", "#CC79A7", "#7E57C2", "#998000")
#: Colour of each kind of role, in the order of `dashboard.roles.shares.KINDS`; the last is for attention that is not explained.
KIND_COLOURS = ("#7E57C2", "#56B4E9", "#009E73", "#E69F00", "#CC3311", "#998000", "#B4B8BE")
#: Colour of a fill -> colour of its lines, by scheme: on white, light fills have a contrast below 3:1.
KIND_LINES: Mapping[Scheme, Mapping[str, str]] = {
    "light": {"#56B4E9": "#2A8FD6", "#E69F00": "#C77700", "#998000": "#7A6600"},
    "dark": {},
}
#: Symbols of dots with these colours, in the same order.
DOT_SYMBOLS = ("circle", "diamond", "square", "star", "triangle-up", "triangle-down", "cross")
#: Lightness (of HLS) of the colours of heads, taken in turn: heads of neighbouring hues differ in lightness too.
_LIGHTNESS: Mapping[Scheme, tuple[float, ...]] = {"light": (0.42, 0.3, 0.54), "dark": (0.62, 0.76, 0.52)}
#: Number of colour codes of a point; the next code means no value.
CODES = 255
_MISSING: Mapping[Scheme, str] = {"light": "#B4B8BE", "dark": "#5A5E66"}


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of `#RRGGBB`."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


def head_colours(heads: int) -> dict[str, list[str]]:
    """A colour for every head by scheme, no two alike. Pages name heads by number too, as nobody tells twelve colours apart surely."""
    return {
        scheme: [_head_colour(head / max(heads, 1), levels[head % len(levels)]) for head in range(heads)]
        for scheme, levels in _LIGHTNESS.items()
    }


def _head_colour(hue: float, lightness: float) -> str:
    red, green, blue = (round(255 * part) for part in hls_to_rgb((hue + 0.58) % 1, lightness, 0.7))
    return f"#{red:02X}{green:02X}{blue:02X}"


def ramp(kind: str, roles: Sequence[str] = ("query", "key")) -> dict[str, dict[str, list[str]]]:
    """The colour of every code by scheme and role, for a `number` or a `category`; the last is the colour of no value."""
    return {scheme: {role: [*_codes(kind, scheme, role), _MISSING[scheme]] for role in roles} for scheme in _STOPS}


def _codes(kind: str, scheme: Scheme, role: str) -> list[str]:
    if kind == "category":
        return [*CATEGORIES[scheme], *[OTHER[scheme]] * (CODES - COLOURED)]
    stops = _STOPS[scheme]["key" if role == "key" else "query"]
    return [between(stops, code / (CODES - 1)) for code in range(CODES)]


def between(stops: Sequence[str], share: float) -> str:
    """The colour at a share, 0 to 1, of the way along the stops."""
    first = min(int(share * (len(stops) - 1)), len(stops) - 2)
    part = share * (len(stops) - 1) - first
    mixed = (
        round(low + (high - low) * part) for low, high in zip(rgb(stops[first]), rgb(stops[first + 1]), strict=True)
    )
    return "#{:02X}{:02X}{:02X}".format(*mixed)

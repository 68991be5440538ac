"""Colours, once for Mantine, the canvas and the raster. Queries and keys differ in lightness as well as in hue."""

from collections.abc import Mapping
from typing import Literal

Scheme = Literal["light", "dark"]

#: Okabe-Ito blue and vermillion; lighter on dark, so that both keep 3:1 against their background.
PALETTE: Mapping[Scheme, Mapping[str, str]] = {
    "light": {"query": "#0072B2", "key": "#D55E00", "background": "#FFFFFF", "panel": "#F6F7F9", "ink": "#1A1B1E"},
    "dark": {"query": "#56B4E9", "key": "#FF9E64", "background": "#1A1B1E", "panel": "#222327", "ink": "#F1F3F5"},
}

MANTINE = {
    "fontFamily": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
    "primaryColor": "blue",
    "primaryShade": {"light": 8, "dark": 5},
    "defaultRadius": "md",
    "headings": {"fontWeight": "600"},
}


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of `#RRGGBB`."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue

"""Colours as readers with a colour vision deficiency see them, and how far two colours are apart for them.

Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency", Table 1:
matrices of linear RGB for the full deficiency.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dashboard.ui.theme import rgb

Floats = NDArray[np.float64]
VISION: Mapping[str, Floats] = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
#: Linear sRGB to CIE XYZ, and the white point D65 (IEC 61966-2-1).
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def seen(colour: str, vision: str) -> Floats:
    """CIELAB of `#RRGGBB` as seen with a kind of vision."""
    return _lab(np.clip(VISION[vision] @ _linear(colour), 0, 1))


def least_difference(colours: Sequence[str], vision: str) -> float:
    """The smallest distance of two of the colours in CIELAB (CIE 1976)."""
    places = [seen(colour, vision) for colour in colours]
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(places, 2))


def contrast(colour: str, ground: str) -> float:
    """Ratio of the light of two colours, 1 to 21 (WCAG 2)."""
    darker, lighter = sorted(float(XYZ[1] @ _linear(each)) for each in (colour, ground))
    return (lighter + 0.05) / (darker + 0.05)


def _linear(colour: str) -> Floats:
    share = np.array(rgb(colour)) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def _lab(linear: Floats) -> Floats:
    share = XYZ @ linear / WHITE
    x, y, z = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

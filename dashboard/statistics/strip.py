"""All heads as small lines from the lowest number to the highest, and one of them marked: a picture in a row of a table."""

from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 96, 16
#: Both are seen on white and on black.
OTHERS, MARKED = "rgb(134,142,150)", "#D55E00"


def strip(values: NDArray[np.float64], value: float) -> str:
    """An SVG picture as a data URL; NaN is left out."""
    real = values[np.isfinite(values)]
    low, high = (float(real.min()), float(real.max())) if real.size else (0.0, 1.0)
    places = sorted({round(_place(one, low, high), 1) for one in real.tolist()})
    lines = "".join(f"M{x:g} 4v{HEIGHT - 8}" for x in places)
    own = f"M{_place(value, low, high):.1f} 0v{HEIGHT}" if np.isfinite(value) else ""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f'<path d="{lines}" stroke="{OTHERS}" stroke-opacity=".55"/><path d="{own}" stroke="{MARKED}" stroke-width="3"/></svg>'
    )
    return f"data:image/svg+xml,{quote(svg)}"


def _place(value: float, low: float, high: float) -> float:
    return 2 + (WIDTH - 4) * ((value - low) / (high - low) if high > low else 0.5)

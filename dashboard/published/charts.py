"""Charts of a published head by position, drawn without a script: the figures of tab Statistics, number by number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.statistics.figures import KEY, OFFSET, offset_ticks, spell_offset
from dashboard.statistics.head_panel import received_heading, received_shares
from dashboard.statistics.sections import profile_shares, relative_position_heading
from dashboard.ui.text import all_of
from store import Corpus
from store.schema.model import head_name

#: Units of a drawing in each direction, and of its borders.
WIDE, HIGH = 400, 200
LEFT, RIGHT, TOP, BOTTOM = 40, 396, 10, 160
#: Steps between the numbers of an axis, and how many numbers there are at most.
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
POSITIONS = (1, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
MOST_TICKS = 5
#: Positions at most of which each says its number: in drawings of more of them they are too narrow, and the page is too large.
MOST_SAID = 128


@dataclass(frozen=True)
class Said:
    """A position in words, the share of the head and the mean of its layer there, and where it is drawn."""

    name: str
    share: float
    mean: float
    x: float
    y: float
    width: float

    @property
    def text(self) -> str:
        """Both numbers in words."""
        return f"{self.name}: {100 * self.share:.1f}%, mean of its layer {100 * self.mean:.1f}%"


@dataclass(frozen=True)
class PositionChart:
    """Shares of attention by position, of a head as bars or a line, and the mean of its layer as a line.

    Attributes
    ----------
    heading
        A component.
    label, across
        What is drawn, and what a place across means.
    said
        Every position, none where there are more than `MOST_SAID`.
    own, mean
        Paths of the two lines.
    columns, rows
        Numbers of the axes with their places.
    """

    heading: object
    label: str
    across: str
    is_of_bars: bool
    said: tuple[Said, ...]
    own: str
    mean: str
    columns: tuple[tuple[float, str], ...]
    rows: tuple[tuple[float, str], ...]


def position_charts(corpus: Corpus, layer: int, head: int, *, most_said: int = MOST_SAID) -> list[PositionChart]:
    """Attention of a head by relative position, and attention received by position; each of at most so many positions says its number."""
    offsets, *shares = profile_shares(corpus, layer, head)
    *received, count = received_shares(corpus, layer, head)
    name, positions = head_name(layer, head), range(len(count))
    round_positions = {round(position) for position in _ticks(POSITIONS, len(count) - 1)}
    return [
        PositionChart(
            heading=relative_position_heading(all_of(corpus, "sentence")),
            label=f"Attention of {name} by relative position",
            across=OFFSET,
            is_of_bars=True,
            **_drawn(shares, [spell_offset(offset, offsets) for offset in offsets], offset_ticks(offsets), most_said),
        ),
        PositionChart(
            heading=received_heading(),
            label=f"Attention received by position in {name}",
            across=KEY,
            is_of_bars=False,
            **_drawn(
                received,
                [f"position {position}" for position in positions],
                [f"{position:,}" if position in round_positions else "" for position in positions],
                most_said,
            ),
        ),
    ]


def _drawn(
    shares: Sequence[NDArray[np.float64]], names: Sequence[str], ticks: Sequence[str], most_said: int
) -> dict[str, Any]:
    """The drawing of shares of a head and means of its layer, (position,) each, with the names and ticks of positions."""
    own, mean = (of.tolist() for of in shares)
    levels = _ticks(STEPS, max(*own, *mean))
    scale, width = (BOTTOM - TOP) / max(*own, *mean, STEPS[0]), (RIGHT - LEFT) / len(own)
    middles = [LEFT + width * (place + 0.5) for place in range(len(own))]
    said = (
        Said(name, share, of_layer, round(x - width / 2, 2), round(BOTTOM - scale * share, 2), round(width, 2))
        for name, share, of_layer, x in zip(names, own, mean, middles, strict=True)
    )
    return {
        "said": tuple(said) if len(own) <= most_said else (),
        "own": _path(middles, [BOTTOM - scale * share for share in own]),
        "mean": _path(middles, [BOTTOM - scale * share for share in mean]),
        "columns": tuple((round(x, 1), text) for x, text in zip(middles, ticks, strict=True) if text),
        "rows": tuple((round(BOTTOM - scale * level, 1), f"{100 * level:.0f}%") for level in levels),
    }


def _ticks(steps: Sequence[float], largest: float) -> list[float]:
    """Multiples of one of the steps from 0 to the largest number, a few of them."""
    step = next((step for step in steps if largest / step < MOST_TICKS), steps[-1])
    return [step * count for count in range(int(largest / step) + 1)]


def _path(across: Sequence[float], down: Sequence[float]) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in zip(across, down, strict=True)]
    return f"M{'L'.join(points)}"

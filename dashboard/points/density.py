"""How densely the queries and the keys of a head lie in a 2D picture: contours, and named clusters.

The density is a smoothed histogram on a grid. A contour encloses the smallest region with a share of the points. A cluster is a
connected region. Its name has the wordpieces, token type or positions that are more frequent in it than outside, by the log-odds
ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008, section 3.3.2).
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from contourpy import LineType, contour_generator
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, label

from dashboard.points.head_tokens import KINDS, HeadTokens, kinds_of
from dashboard.web.results import cached
from store import Corpus

#: Cells along a side of the picture.
CELLS = 256
#: The share of Scott's bandwidth that is used: Scott's rule is for one bell-shaped cloud, a picture has several.
BANDWIDTH = 0.6
#: Bounds of the bandwidth, in cells.
NARROWEST, WIDEST = 1.5, 6.0
Places = NDArray[np.floating]
#: Shares of the points that the lines enclose.
ENCLOSED = (0.25, 0.5, 0.75)
#: Decimals of a place: a thousandth of a cell.
DECIMALS = 5
#: Shares of the points that the levels enclose, from low to high.
SHARES = tuple(share / 100 for share in range(95, 0, -5))
#: Least and largest share of the points in a cluster; a larger region is the cloud itself.
LEAST_SHARE, MOST_SHARE = 0.015, 0.5
Region = NDArray[np.bool_]
#: Weight of the prior in points; its frequencies are those of all points.
PRIOR = 500.0
#: Thresholds of a name: standard deviations of the log-odds ratio above 0, and the ratio of the odds.
CERTAIN, TIMES = 5.0, 2.0
#: Most wordpieces of a name, and the share of the points at which the named wordpieces suffice.
PIECES, ENOUGH = 3, 0.8
#: Least share of the points at which a name has the token type or the positions.
MOST_NAMED = 0.5
#: First positions of the bands of positions.
BANDS = (0, 1, 2, 4, 8, 16, 32, 64)
#: Token types that a name can have: they say more than their wordpieces.
NAMED_KINDS = ("full stop or comma", "symbol", "continuation")
#: Marks -> the names that readers know; Unicode calls them otherwise.
MARKS = {"'": "apostrophe", "-": "hyphen", "/": "slash", "(": "(", ")": ")"}
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Density:
    """The density of some points.

    Attributes
    ----------
    grid
        Smoothed number of points in every cell of the picture: (row, column), rows upwards.
    cell
        The flat number of the cell of each point: (point,).
    """

    grid: NDArray[np.float64]
    cell: NDArray[np.int64]

    @property
    def at_points(self) -> NDArray[np.float64]:
        """The density at each point: (point,)."""
        return self.grid.ravel()[self.cell]

    def level(self, share: float) -> float:
        """The density above which `share` of the points lies: it bounds the smallest such region (Hyndman 1996)."""
        return float(np.quantile(self.at_points, 1 - share))


def density_of(places: Places) -> Density:
    """The density of points (point, component) at x and y, 0 to 1."""
    column, row = np.minimum((places * CELLS).astype(np.int64), CELLS - 1).clip(0).T
    cell = row * CELLS + column
    counts = np.bincount(cell, minlength=CELLS * CELLS).reshape(CELLS, CELLS).astype(np.float64)
    return Density(gaussian_filter(counts, bandwidth(places), mode="constant"), cell)


def bandwidth(places: Places) -> float:
    """Standard deviation of the smoothing in cells, by Scott's rule for two components, narrowed."""
    spread = float(np.sqrt(np.var(places, axis=0).mean())) * CELLS
    return float(np.clip(BANDWIDTH * spread * max(len(places), 1) ** (-1 / 6), NARROWEST, WIDEST))


@dataclass(frozen=True)
class Contour:
    """The outline of the smallest region with a share of a role's points: lines of places x, y, x, y, ... in 0..1."""

    role: int
    share: float
    lines: list[list[float]]


@cached
def contours_of_head(corpus: Corpus, view: str, tokens: int, layer: int, head: int) -> list[Contour]:
    """The contours of the drawn queries and keys of a head."""
    places = HeadTokens(corpus, tokens, layer, head).places(view)[0]
    return [contour for role in range(places.shape[1]) for contour in contours(places[:, role], role)]


def contours(places: NDArray[np.floating], role: int) -> list[Contour]:
    """A contour for each share, the largest region first."""
    density = density_of(places)
    # Around the grid lies an empty cell, so that a region at the border is closed.
    generator = contour_generator(z=np.pad(density.grid, 1), line_type=LineType.Separate)
    return [
        Contour(role, share, [_flat(line) for line in generator.lines(density.level(share))])
        for share in sorted(ENCLOSED, reverse=True)
    ]


def _flat(line: Any) -> list[float]:
    """Places in 0..1 of a line (vertex, xy) in cells of the padded grid, whose centres are whole numbers."""
    flat: list[float] = np.round(((np.asarray(line, np.float64) - 0.5) / CELLS).ravel(), DECIMALS).tolist()
    return flat


@dataclass(frozen=True)
class Cluster:
    """A named cluster: the role and number of its points, all points of the role, and its densest place, 0 to 1."""

    role: int
    name: str
    points: int
    of: int
    place: tuple[float, float]


@cached
def clusters_of_head(corpus: Corpus, view: str, tokens: int, layer: int, head: int) -> list[Cluster]:
    """The named clusters of the drawn queries and keys of a head, the largest first."""
    drawn = HeadTokens(corpus, tokens, layer, head)
    places = drawn.places(view)[0]
    found = [cluster for role in range(places.shape[1]) for cluster in _clusters_of_role(drawn, places[:, role], role)]
    return sorted(found, key=lambda cluster: -cluster.points)


def _clusters_of_role(drawn: HeadTokens, places: NDArray[np.float32], role: int) -> list[Cluster]:
    density = density_of(places)
    clusters = []
    for region in regions(density):
        member = region.ravel()[density.cell]
        name = name_of(drawn, member) if member.mean() <= MOST_SHARE else ""
        if name:
            clusters.append(Cluster(role, name, int(member.sum()), len(member), _peak(density, region)))
    return clusters


def regions(density: Density) -> list[Region]:
    """Regions that no higher level divides into two or more with `LEAST_SHARE` of the points each: (row, column) each."""
    found = [np.ones(density.grid.shape, bool)]
    for share in SHARES:
        level = density.level(share)
        found = [part for region in found for part in _parts(density, region, level)]
    return found


def _parts(density: Density, region: Region, level: float) -> list[Region]:
    """The connected parts of a region above a level that hold enough points; the region itself where it is not divided."""
    numbers, count = label(region & (density.grid > level))
    sizes = np.bincount(numbers.ravel()[density.cell], minlength=count + 1)
    large = [number for number in range(1, count + 1) if sizes[number] >= LEAST_SHARE * len(density.cell)]
    return [numbers == number for number in large] if len(large) > 1 else [region]


def _peak(density: Density, region: Region) -> tuple[float, float]:
    row, column = divmod(int(np.argmax(np.where(region, density.grid, -1.0))), CELLS)
    return round((column + 0.5) / CELLS, 5), round((row + 0.5) / CELLS, 5)


def log_odds(inside: NDArray[np.integer], outside: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """Log-odds ratios of terms in a group against the rest, and the same ratios in standard deviations: (term,) each.

    `inside` and `outside` count the terms in the group and in the rest. There are two terms or more, and each occurs.
    """
    total = (inside + outside).astype(np.float64)
    prior = PRIOR * total / total.sum()
    logits = [_logit(counts + prior) for counts in (inside, outside)]
    ratio = logits[0] - logits[1]
    return ratio, ratio / np.sqrt(1 / (inside + prior) + 1 / (outside + prior))


def _logit(counts: Floats) -> Floats:
    return np.log(counts) - np.log(counts.sum() - counts)


def over_represented(codes: Codes, member: NDArray[np.bool_]) -> list[tuple[int, float]]:
    """Codes that are more frequent in a group than in the rest, with their shares of the group; the most certain first.

    `codes` are (point,), `member` tells which points are in the group: (point,).
    """
    counts = np.bincount(codes)
    terms = np.flatnonzero(counts)
    if len(terms) < 2:
        return []
    inside = np.bincount(codes[member], minlength=len(counts))[terms]
    ratio, deviations = log_odds(inside, counts[terms] - inside)
    order = np.argsort(-deviations, kind="stable")
    found = [term for term in order if deviations[term] >= CERTAIN and ratio[term] >= np.log(TIMES)]
    return [(int(terms[term]), float(inside[term] / inside.sum())) for term in found]


def name_of(drawn: HeadTokens, member: NDArray[np.bool_]) -> str:
    """The name of a group of the drawn tokens (token,); empty where nothing distinguishes it from the rest."""
    pieces = _most_certain(over_represented(drawn.of_tokens("token_id").astype(np.int64), member))
    names, texts = drawn.corpus.vocab, drawn.corpus.piece_texts
    words = [_spelled(str(names[code]), str(texts[code])) for code, _ in pieces]
    covered = sum(share for _, share in pieces)
    kinds = () if covered >= MOST_NAMED else _kinds_of(drawn, member)
    return " · ".join([*kinds, *words[: PIECES - len(kinds)]])


def _spelled(piece: str, text: str) -> str:
    """A wordpiece as a name shows it; a single mark, which is hardly seen, by its name in Unicode."""
    return piece if len(text) != 1 or text.isalnum() else MARKS.get(text, unicodedata.name(text, text).lower())


def _most_certain(found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The first wordpieces, at most `PIECES`, until they cover the share `ENOUGH` of the group."""
    named: list[tuple[int, float]] = []
    for term in found[:PIECES]:
        if sum(share for _, share in named) < ENOUGH:
            named.append(term)
    return named


def _kinds_of(drawn: HeadTokens, member: NDArray[np.bool_]) -> list[str]:
    """The token type and the positions that most of a group have."""
    kinds = over_represented(kinds_of(drawn.of_tokens("token_flags")), member)
    bands = np.searchsorted(BANDS, drawn.of_tokens("position"), side="right").astype(np.int64) - 1
    return [
        *(KINDS[code] for code, share in kinds if share >= MOST_NAMED and KINDS[code] in NAMED_KINDS),
        *(_band_name(code) for code, share in over_represented(bands, member) if share >= MOST_NAMED),
    ]


def _band_name(code: int) -> str:
    first, *rest = BANDS[code : code + 2]
    last = rest[0] - 1 if rest else None
    return f"position {first}" if first == last else f"positions {first}-{last}" if last else f"positions from {first}"

"""The page of a head: its picture with its colourings, roles with their evidence, statistics, positions, dictionary, relations, neighbours.

Charts by position are drawn without a script: the figures of tab Statistics, number by number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.canvas.spec import Picture
from dashboard.points.colours import legend, legend_line, marks_line
from dashboard.points.controls import head_fidelity_caption, sample_caption
from dashboard.points.head_tokens import HeadTokens, column_of, columns
from dashboard.points.picture import picture_with_pinned
from dashboard.points.point_set import Column, Kind
from dashboard.points.shown import ShownPoints
from dashboard.relations.data import clear_gains, direction_titles
from dashboard.roles.dictionary import dictionary_part
from dashboard.roles.evidence import evidence_part
from dashboard.roles.panel import draw_roles, read_role_panel
from dashboard.statistics.figures import KEY, OFFSET, offset_ticks, spell_offset
from dashboard.statistics.head_panel import numbers_table, read_head_statistics, received_heading, received_shares
from dashboard.statistics.heads import nearest
from dashboard.statistics.sections import profile_shares, relative_position_heading
from dashboard.ui.markup import Unmade, heading, unmade_line
from dashboard.ui.text import all_of, in_brackets
from dashboard.web.context import Context
from dashboard.web.http import data_link
from store import Corpus, StoreError
from store.kernels.relations import DIRECTIONS
from store.schema.corpus import ALL
from store.schema.model import head_name

#: Columns that can colour the points, where a corpus has them.
COLOURS = ("position", "kind", "frequency", "part_of_speech", "label", "norm", "value_norm", "received", "entropy")
#: Most relations of a head that are listed.
LISTED = 6
#: Units of a drawing in each direction, and of its borders.
WIDE, HIGH = 400, 200
LEFT, RIGHT, TOP, BOTTOM = 40, 396, 10, 160
#: Steps between the numbers of an axis, of shares and of positions, and the most numbers.
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
POSITIONS = (1, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
MOST_TICKS = 5
#: Most positions of a drawing that each say their number: with more positions each is too narrow, and the page is too large.
MOST_SAID = 128


@dataclass(frozen=True)
class PublishedColour:
    """A colouring of the points of a head: the address of its codes, its kind (number or category), and its legend.

    `codes` is None for query and key.
    """

    name: str
    title: str
    codes: str | None
    kind: Kind
    legend: object


@dataclass(frozen=True)
class Said:
    """A position in words, the share of the head and the mean of its layer there, and its place in the drawing."""

    name: str
    share: float
    mean: float
    x: float
    y: float
    width: float

    @property
    def text(self) -> str:
        """The share and the mean of the position, in words."""
        return f"{self.name}: {100 * self.share:.1f}%, mean of its layer {100 * self.mean:.1f}%"


@dataclass(frozen=True)
class PositionChart:
    """Shares of attention by position, of a head as bars or a line, and the mean of its layer as a line.

    Attributes
    ----------
    heading
        Heading of the chart, a component.
    label, across
        What is drawn, and what the horizontal axis means.
    said
        Every position with its numbers; empty for more than `MOST_SAID` positions.
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


@dataclass(frozen=True)
class HeadPage:
    """What the page of a head shows, as components; `colours` begins with query and key.

    `does` says what the head does, `role` is the role that its sentences are evidence of; both are empty for a store without roles.
    """

    name: str
    does: str
    role: str
    picture: Picture | None
    colours: list[PublishedColour]
    below: list[object]
    roles: list[object]
    evidence: list[object]
    statistics: list[object]
    positions: list[PositionChart]
    dictionary: list[object]
    relations: list[object]
    nearest: list[object]


def read_head_page(context: Context, *, text: bool) -> HeadPage:
    """Everything on the page of the head of a link; without text nothing that quotes the corpus."""
    corpus, state = context.corpus, context.state
    roles = read_role_panel(corpus, state, None)
    known = None if isinstance(roles, Unmade) else roles
    numbers = read_head_statistics(corpus, state, None)
    points = HeadTokens(corpus, min(state.tokens, corpus.n_tokens), state.layer, state.head)
    shown = ShownPoints.of(context, points) if corpus.views else None
    return HeadPage(
        name=head_name(state.layer, state.head),
        does=known.does if known else "",
        role=known.choices[known.evidence] if known else "",
        picture=_picture(shown, text=text) if shown else None,
        colours=list(_colours(shown)) if shown else [],
        below=_captions(shown) if shown else [],
        roles=[unmade_line(roles)] if isinstance(roles, Unmade) else draw_roles(roles),
        evidence=evidence_part(corpus, state) if known and text else [],
        statistics=[numbers_table(state, numbers.numbers)],
        positions=position_charts(corpus, state.layer, state.head),
        dictionary=dictionary_part(corpus, state) if known and text else [],
        relations=_relations(corpus, state.layer, state.head),
        nearest=nearest(state, numbers.nearest),
    )


def _picture(shown: ShownPoints, *, text: bool) -> Picture:
    """The picture of page Head, whose labels are words where the text is published."""
    picture = picture_with_pinned(shown)
    return replace(picture, labels=picture.labels if text else None)


def _captions(shown: ShownPoints) -> list[object]:
    state = shown.state
    return [sample_caption(shown), head_fidelity_caption(shown.corpus, shown.view, state.layer, state.head)]


def _colours(shown: ShownPoints) -> Iterator[PublishedColour]:
    yield PublishedColour("role", "query and key", None, "category", marks_line())
    known = columns(shown.corpus)
    for name in COLOURS:
        if name in known:
            yield _colour(shown, column_of(shown.corpus, name))


def _colour(shown: ShownPoints, column: Column) -> PublishedColour:
    """The colouring by a column; where all heads have the same values, the codes are those of the first head."""
    state = shown.state
    where = f"{state.layer}/{state.head}" if column.per_head else "0/0"
    return PublishedColour(
        name=column.name,
        title=column.title,
        codes=f"{data_link(shown.corpus)}/colours/{column.name}/{where}.bin?tokens={shown.tokens}",
        kind=column.kind,
        legend=legend_line(legend(column, shown.points)),
    )


def _relations(corpus: Corpus, layer: int, head: int) -> list[object]:
    """The relations that the head finds clearly more often than the offset of their words, the largest gain first."""
    try:
        rows = sorted(_found(corpus, layer, head), key=lambda row: -row[0])[:LISTED]
    except StoreError:
        return []
    if not rows:
        return [html.P("It finds no grammatical relation more often than words at a fixed distance.")]
    titles = ("relation", "direction", "linked", "95% interval", "best offset", "pairs")
    body = html.Tbody([row for _, row in rows])
    return [html.Table([heading(titles, titles[2:]), body], className="rows")]


def _found(corpus: Corpus, layer: int, head: int) -> Iterator[tuple[float, html.Tr]]:
    """Each relation with a clear gain in a direction: the gain, and its row."""
    for direction in DIRECTIONS:
        links = corpus.relations.sel(direction=direction)
        gains = clear_gains(links)[:, layer, head]
        for number, gain in enumerate(gains.tolist()):
            own = links.isel(relation=number, layer=layer, head=head)
            relation = str(own.relation.values)
            if gain > 0 and relation != ALL:
                low, high = map(float, own.interval.values)
                numbers = (
                    f"{100 * float(own.reported_accuracy):.1f}%",
                    f"{100 * low:.1f} to {100 * high:.1f}",
                    f"{100 * float(own.offset_accuracy):.1f}%",
                    f"{int(own.pairs[1]):,}",
                )
                cells: list[Any] = [
                    html.Td([html.Bdi(relation), in_brackets(relation)]),
                    html.Td(direction_titles(relation)[direction]),
                    *(html.Td(each, className="number") for each in numbers),
                ]
                yield gain, html.Tr(cells)


def neighbours(corpus: Corpus, layer: int, head: int) -> list[tuple[str, str, int, int]]:
    """The heads beside a head in its layer, and in the layers before and after: an arrow, its title, layer and head."""
    steps = (
        ("←", "previous head", layer, head - 1),
        ("→", "next head", layer, head + 1),
        ("↑", "previous layer", layer - 1, head),
        ("↓", "next layer", layer + 1, head),
    )
    return [
        (arrow, f"{title}: {head_name(other, of_layer)}", other, of_layer)
        for arrow, title, other, of_layer in steps
        if 0 <= other < corpus.layers and 0 <= of_layer < corpus.heads
    ]


def position_charts(corpus: Corpus, layer: int, head: int, *, most_said: int = MOST_SAID) -> list[PositionChart]:
    """Attention of a head by relative position, and received by position; with up to `most_said` positions, each says its share."""
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
    """A few numbers of an axis: multiples of one of the steps, from 0 to the largest number."""
    step = next((step for step in steps if largest / step < MOST_TICKS), steps[-1])
    return [step * count for count in range(int(largest / step) + 1)]


def _path(across: Sequence[float], down: Sequence[float]) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in zip(across, down, strict=True)]
    return f"M{'L'.join(points)}"

"""The page of a head: its picture with what colours it, roles with their evidence, statistics, positions, dictionary, relations, neighbours."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dash import html

from dashboard.canvas.spec import Picture
from dashboard.points.colours import legend, legend_line, marks_line
from dashboard.points.controls import head_fidelity_caption, sample_caption
from dashboard.points.head_tokens import HeadTokens, column_of, columns
from dashboard.points.picture import picture_with_pinned
from dashboard.points.point_set import Column, Kind
from dashboard.points.shown import ShownPoints
from dashboard.published.charts import PositionChart, position_charts
from dashboard.relations.data import clear_gains, direction_titles
from dashboard.roles.dictionary import dictionary_part
from dashboard.roles.evidence import evidence_part
from dashboard.roles.panel import draw_roles, read_role_panel
from dashboard.statistics.head_panel import numbers_table, read_head_statistics
from dashboard.statistics.heads import nearest
from dashboard.ui.markup import Unmade, heading, unmade_line
from dashboard.ui.text import in_brackets
from dashboard.web.context import Context
from dashboard.web.http import data_link
from store import Corpus, StoreError
from store.kernels.relations import DIRECTIONS
from store.schema.corpus import ALL
from store.schema.model import head_name

#: Columns that colour the points, of those that a corpus has.
COLOURS = ("position", "kind", "frequency", "part_of_speech", "label", "norm", "value_norm", "received", "entropy")
#: Relations of a head that are listed.
LISTED = 6


@dataclass(frozen=True)
class PublishedColour:
    """What can colour the points of a head: the address of its codes, of a number or a category, and its legend.

    `codes` is None for query and key.
    """

    name: str
    title: str
    codes: str | None
    kind: Kind
    legend: object


@dataclass(frozen=True)
class HeadPage:
    """What the page of a head shows, as components; `colours` begins with query and key.

    `does` is what the head does, in a sentence, `role` what its sentences are evidence of; both are empty of a store without roles.
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
    """A column; where all heads have the same values, the codes are those of the first."""
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
    """The heads before and after it in its layer, and above and below it: an arrow, its title, layer and head."""
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

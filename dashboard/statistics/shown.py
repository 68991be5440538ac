"""What page Statistics shows at a link: everything that it reads, before it is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.points.controls import Filter, read_filters
from dashboard.points.head_tokens import HeadTokens, columns
from dashboard.points.point_set import Column
from dashboard.points.selection import parse_conditions
from dashboard.statistics.contrast import label_contrasts
from dashboard.statistics.data import (
    HeadGrid,
    compared_with,
    grid_notices,
    is_counted,
    part_numbers,
    shown_grid,
    shown_part,
    shown_statistic,
    spread_of_statistics,
)
from dashboard.statistics.heads_table import Columns, read_columns
from dashboard.statistics.parts import Part, part_labels, part_of
from dashboard.statistics.sections import (
    CurveFigure,
    Importance,
    Profile,
    read_curves,
    read_importance,
    read_mixing,
    read_profile,
    read_profile_of_layers,
    size_of_part,
)
from dashboard.ui.charts import Layout
from dashboard.ui.job import Job
from dashboard.ui.progress import Unmade
from dashboard.ui.text import all_of, has_part, kind_of_interval, model_names
from dashboard.web.context import Context, comparable
from dashboard.web.http import data_link
from dashboard.web.state import LinkState


@dataclass(frozen=True)
class Numbers:
    """The numbers of a part of the corpus.

    Attributes
    ----------
    grid, statistic
        The heat map, and the statistic that it shows.
    of, interval
        In words, what the numbers are means over, and what their intervals are.
    spread
        How much heads differ in each statistic, the most first.
    curves, mixing
        The figures by layer, and of mixing ratios.
    columns, labels
        The table of heads, and the label of every head: (layer, head).
    files
        The beginning of the URLs of the corpus' files.
    """

    grid: HeadGrid
    statistic: str
    of: str
    interval: str
    spread: Mapping[str, float]
    curves: Sequence[CurveFigure]
    mixing: Sequence[Layout]
    columns: Columns
    labels: NDArray[np.str_]
    files: str


@dataclass(frozen=True)
class WholeCorpus:
    """What no filter changes; `sentences` says in words of how many it is, `remark` that filters do not apply."""

    sentences: str
    remark: str
    of_layers: Layout
    profile: Profile
    importance: Importance | Unmade


@dataclass(frozen=True)
class StatisticsPage:
    """What the page shows at a link.

    Attributes
    ----------
    layers, heads
        How many the model has.
    statistic, against
        The shown statistic, and the one that can be subtracted from it.
    models
        Titles of the models that can be subtracted, by their keys.
    contrasts
        Titles of links that compare labels, and the links.
    offered, filters
        The columns that are the same in all heads, and the conditions of the link on them.
    size
        In words, how much of the corpus the numbers are means over.
    numbers
        None where they were never counted: they are counted after the rest of the page is shown.
    whole
        None where no token matches: the page then ends with its filters.
    """

    state: LinkState
    layers: int
    heads: int
    statistic: str
    against: str | None
    models: Mapping[str, str]
    contrasts: Mapping[str, str]
    offered: Mapping[str, Column]
    filters: Sequence[Filter]
    size: str
    numbers: Numbers | None
    whole: WholeCorpus | None
    notices: tuple[str, ...]


def read(context: Context) -> StatisticsPage:
    """Everything that the page shows; of a part that was never counted, all but its numbers."""
    corpus, state = context.corpus, context.state
    part, titles = part_of(corpus, state.where), model_names(context.snapshot)
    statistic = shown_statistic(state, corpus)
    offered = {name: column for name, column in columns(corpus).items() if not (column.per_head or column.per_role)}
    conditions, _ = parse_conditions(state.where or "", corpus)
    where = [condition for condition in conditions if condition.column in offered]
    return StatisticsPage(
        state=state,
        layers=corpus.layers,
        heads=corpus.heads,
        statistic=statistic,
        against=compared_with(state, statistic),
        models={name: titles[name] for name in comparable(context.snapshot, corpus)},
        contrasts=label_contrasts(corpus, state),
        offered=offered,
        filters=read_filters(HeadTokens(corpus, corpus.n_tokens, 0, 0), where, roles=1),
        size=size_of_part(corpus, part),
        numbers=read_numbers(context) if part.tokens and is_counted(context, part) else None,
        whole=_read_whole(context, part) if part.tokens else None,
        notices=(*part.notices, *grid_notices(context)),
    )


def read_numbers(context: Context, counting: Job | None = None) -> Numbers:
    """All numbers of the link's part. Raises `Refusal` where the server cannot count it now."""
    corpus, state = context.corpus, context.state
    part = shown_part(corpus, state.where, first=context.first)
    counted = part_numbers(context, counting)
    return Numbers(
        grid=shown_grid(context, counted, counting),
        statistic=shown_statistic(state, corpus),
        of=size_of_part(corpus, part),
        interval=kind_of_interval(corpus, part.whole),
        spread=spread_of_statistics(corpus),
        curves=read_curves(corpus, part, counted),
        mixing=read_mixing(corpus, part, counted.mixing, state.source),
        columns=read_columns(corpus, counted.means, state.source),
        labels=part_labels(corpus, part, counted.means).values,
        files=data_link(corpus),
    )


def _read_whole(context: Context, part: Part) -> WholeCorpus:
    corpus, state = context.corpus, context.state
    sentences = all_of(corpus, "sentence")
    whole = f"the whole corpus, {sentences}" if has_part(corpus) else "the whole corpus"
    return WholeCorpus(
        sentences=sentences,
        remark="" if part.whole else f"Filters do not apply below: these figures are of {whole}.",
        of_layers=read_profile_of_layers(corpus),
        profile=read_profile(corpus, state.layer, state.head),
        importance=read_importance(corpus, context.ingest),
    )

"""Data of page Statistics at a link, read before the page is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.points.controls import Filter, read_filters
from dashboard.points.head_tokens import HeadTokens, columns
from dashboard.points.point_set import Column, Condition, parse_conditions
from dashboard.roles.shares import RoleShares, known_shares
from dashboard.statistics.data import (
    HeadGrid,
    Values,
    compared_with,
    difference_grid,
    interval_of,
    ranks_grid,
    shown_statistic,
    spread_of_statistics,
    standard_statistic,
    values_grid,
    values_of,
    written_interval,
)
from dashboard.statistics.heads import Columns, read_columns
from dashboard.statistics.parts import REST, Part, PartCounts, PartNumbers, part_labels, part_of, sides, size_of_rest
from dashboard.statistics.reach import REACH, Arrival, reach_section, read_arrival
from dashboard.statistics.scatter import HeadScatter, heads_inside, read_scatter
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
from dashboard.ui.deferred import deferred
from dashboard.ui.markup import Unmade
from dashboard.ui.text import (
    all_of,
    first_of,
    has_part,
    kind_of_interval,
    model_names,
    searched_tokens,
)
from dashboard.ui.work import Job
from dashboard.web.bounds import comparable
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus, Snapshot
from store.schema.model import Statistic, ratios_of

NO_PART = "No filter is set, so there is no part to compare: showing values. Add a filter."
KEPT_ALL = "The filters keep all tokens, so there is no part to compare: showing values. Change a filter."
#: Kinds of values that compare a part: with the corpus, and with the rest.
OF_PART = ("part", "rest")
#: Largest number of labels with a link each; two labels share one link.
MOST_LABELS = 5


@dataclass(frozen=True)
class LinkCounts:
    """Model, link and parts that the numbers of a link are counted for.

    Attributes
    ----------
    other, other_title
        The model whose numbers the heat map subtracts; None where it subtracts no other model.
    first
        Whether a part of a large corpus is counted among its first tokens alone.
    """

    of_parts: PartCounts
    corpus: Corpus
    state: LinkState
    other: Corpus | None
    other_title: str
    first: bool = False

    @classmethod
    def of(cls, context: Context) -> "LinkCounts":
        """Counts of all tokens of a link's part."""
        corpus, state = context.corpus, context.state
        other = subtracted_model(context.snapshot, corpus, state)
        title = model_names(context.snapshot)[other.name] if other else ""
        return cls(context.served_store.service(PartCounts), corpus, state, other, title)

    def part(self, corpus: Corpus) -> Part:
        """The part of the link in the corpus of one of the models."""
        part = part_of(corpus, self.state.where)
        return (self.of_parts.first_part(corpus, part) or part) if self.first else part

    @property
    def is_known(self) -> bool:
        """Whether everything that the link shows is known without counting."""
        part = part_of(self.corpus, self.state.where)
        if self.of_parts.find(self.corpus, part) is None:
            return False
        if _is_minus_rest(self.state, part):
            return self.of_parts.find(self.corpus, replace(part, minus_rest=True)) is not None
        return self.other is None or self.of_parts.find(self.other, part_of(self.other, self.state.where)) is not None


def subtracted_model(snapshot: Snapshot, _corpus: Corpus, state: LinkState) -> Corpus | None:
    """The model whose numbers the heat map subtracts; None where there is none. Only the heat map shows two models."""
    return snapshot.corpus(state.other) if state.values == "difference" and state.other else None


@dataclass(frozen=True)
class Numbers:
    """The numbers of a part of the corpus.

    Attributes
    ----------
    grid, statistic
        The heat map, and the statistic that it shows.
    of, interval
        Tokens that the numbers are means over, and kind of their intervals, in words.
    spread
        How much heads differ in each statistic, the most first.
    curves, mixing, ratios
        The figures by layer, the figures of mixing ratios, and the definitions of these ratios in the model.
    columns, labels, shares
        Columns of the table of heads; label of every head: (layer, head); roles of heads, None for a store without roles.
    inside
        Heads in the box of the scatter: (layer, head); None without a box.
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
    ratios: Mapping[str, Statistic]
    columns: Columns
    labels: NDArray[np.str_]
    shares: RoleShares | None
    inside: NDArray[np.bool_] | None
    files: str


@dataclass(frozen=True)
class WholeCorpus:
    """Numbers that no filter changes; `sentences` names their sentences, `remark` says that filters do not apply."""

    sentences: str
    remark: str
    of_layers: Layout
    profile: Profile
    importance: Importance | Unmade
    scatter: HeadScatter
    arrival: Arrival | Unmade
    reach: Sequence[object]


@dataclass(frozen=True)
class StatisticsPage:
    """Data of the page at a link.

    Attributes
    ----------
    layers, heads
        Number of layers, and of heads per layer, of the model.
    statistic, standard, against
        The shown statistic, the default, and the statistic that can be subtracted.
    models
        Titles of the models that can be subtracted, by their keys.
    contrasts
        Links that compare labels, by their titles.
    offered, filters
        The columns that are the same in all heads, and the conditions of the link on them.
    size
        In words, how much of the corpus the numbers are means over.
    numbers
        Numbers of the part; None where they were never counted: they are counted after the rest of the page is shown.
    whole
        Numbers of the whole corpus; None where no token matches: the page then ends with its filters.
    """

    state: LinkState
    layers: int
    heads: int
    statistic: str
    standard: str
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
    """Read all data of the page, except the numbers of a part that was never counted."""
    corpus, state = context.corpus, context.state
    part, titles = part_of(corpus, state.where), model_names(context.snapshot)
    statistic = shown_statistic(state, corpus)
    known = columns(corpus)
    offered = {name: column for name, column in known.items() if not (column.per_head or column.per_role)}
    conditions, _ = parse_conditions(state.where or "", known)
    where = [condition for condition in conditions if condition.column in offered]
    counts = LinkCounts.of(context)
    return StatisticsPage(
        state=state,
        layers=corpus.layers,
        heads=corpus.heads,
        statistic=statistic,
        standard=standard_statistic(corpus),
        against=compared_with(state, statistic),
        models={name: titles[name] for name in comparable(context.snapshot, corpus)},
        contrasts=label_contrasts(corpus, state),
        offered=offered,
        filters=read_filters(HeadTokens(corpus, corpus.n_tokens, 0, 0), where, roles=1),
        size=size_of_part(corpus, part),
        numbers=read_numbers(counts) if part.tokens and counts.is_known else None,
        whole=_read_whole(context, part) if part.tokens else None,
        notices=(*part.notices, *grid_notices(context.snapshot, corpus, state)),
    )


def read_numbers(counts: LinkCounts, counting: Job | None = None) -> Numbers:
    """Read all numbers of the link's part. Raises `Refusal` where the server cannot count the part now."""
    corpus, state = counts.corpus, counts.state
    part = counts.part(corpus)
    counted = part_numbers(counts.of_parts, corpus, state, part, counting)
    return Numbers(
        grid=shown_grid(counts, counted, counting),
        statistic=shown_statistic(state, corpus),
        of=size_of_part(corpus, part),
        interval=kind_of_interval(corpus, part.whole),
        spread=spread_of_statistics(corpus),
        curves=read_curves(corpus, part, counted),
        mixing=read_mixing(corpus, part, counted.mixing, state.source),
        ratios=ratios_of(corpus.attributes),
        columns=read_columns(corpus, counted.means, state.source),
        labels=part_labels(corpus, part, counted.means).values,
        shares=known_shares(corpus),
        inside=heads_inside(corpus, state),
        files=data_link(corpus),
    )


def _read_whole(context: Context, part: Part) -> WholeCorpus:
    corpus, state, running = context.corpus, context.state, context.ingest
    sentences = all_of(corpus, "sentence")
    whole = f"the whole corpus, {sentences}" if has_part(corpus) else "the whole corpus"
    arrival = read_arrival(corpus, state.source, running)
    return WholeCorpus(
        sentences=sentences,
        remark="" if part.whole else f"Filters do not apply below: these figures are of {whole}.",
        of_layers=read_profile_of_layers(corpus),
        profile=read_profile(corpus, state.layer, state.head),
        importance=read_importance(corpus, running),
        scatter=read_scatter(corpus, state),
        arrival=arrival,
        reach=[] if isinstance(arrival, Unmade) else reach_section(corpus, state, deferred(context, REACH)),
    )


def part_numbers(
    counts: PartCounts, corpus: Corpus, state: LinkState, part: Part, counting: Job | None = None
) -> PartNumbers:
    """Numbers of the link's part. A difference from the rest is counted first, as this count also yields the part's numbers."""
    if _is_minus_rest(state, part):
        counts.numbers(corpus, replace(part, minus_rest=True), counting)
    return counts.numbers(corpus, part, counting)


def shown_grid(counts: LinkCounts, numbers: PartNumbers, counting: Job | None = None) -> HeadGrid:
    """The heat map of a link: values, ranks, or the difference from another statistic or model."""
    state, corpus, means = counts.state, counts.corpus, numbers.means
    statistic, part = shown_statistic(state, corpus), part_of(corpus, state.where)
    values = values_of(means, statistic, state.source)
    if state.values == "rank":
        return ranks_grid(values, statistic)
    if state.values == "part" and not part.whole:
        whole = values_of(corpus.head_statistic, statistic, state.source)
        note = f"Subtracted: means over all {all_of(corpus, 'sentence')}." if has_part(corpus) else ""
        return replace(difference_grid(values, whole, statistic, "that of the whole corpus"), note=note)
    if _is_minus_rest(state, part):
        own = counts.part(corpus)
        counted = counts.of_parts.numbers(corpus, replace(own, minus_rest=True), counting)
        return _minus_rest(corpus, own, values, counted, (statistic, state.source))
    if (other := counts.other) is not None:
        others = counts.part(other)
        counted = counts.of_parts.numbers(other, others, counting)
        subtracted = values_of(counted.means, statistic, state.source)
        grid = difference_grid(values, subtracted, statistic, f"that of {counts.other_title}")
        return replace(grid, note=_subtracted(other, others, counts.other_title))
    if state.values == "difference" and (against := compared_with(state, statistic)):
        title = STATISTICS[against].title
        return difference_grid(values, values_of(means, against, state.source), statistic, title)
    return values_grid(values, statistic, interval_of(numbers.interval, statistic, state.source))


def grid_notices(snapshot: Snapshot, corpus: Corpus, state: LinkState) -> tuple[str, ...]:
    """Sentences on choices of a link that the heat map cannot show."""
    shown = shown_statistic(state, corpus)
    if shown in corpus.missing_statistics:
        return (f"This store has no {STATISTICS[shown].title}: run `headscape ingest` again.",)
    if state.values in OF_PART:
        part = part_of(corpus, state.where)
        return (KEPT_ALL if part.chosen else NO_PART,) if part.whole else ()
    if state.values != "difference":
        return ()
    if state.other:
        part = part_of(snapshot.corpus(state.other), state.where)
        return _notices_on_other(part, model_names(snapshot)[state.other])
    if compared_with(state, shown):
        return ()
    models = "another model, or " if comparable(snapshot, corpus) else ""
    unit = STATISTICS[shown].unit
    return (f"No other statistic is measured in {unit}: showing values. Choose {models}another statistic.",)


def _is_minus_rest(state: LinkState, part: Part) -> bool:
    """Whether the link shows differences between a part and all other tokens, and the part leaves tokens out."""
    return state.values == "rest" and not part.whole


def _minus_rest(corpus: Corpus, part: Part, values: Values, counted: PartNumbers, of: tuple[str, str]) -> HeadGrid:
    """The heat map of a part minus all other tokens of the corpus, with intervals; `of` are the statistic and the source."""
    statistic, source = of
    unit = STATISTICS[statistic].unit
    interval = interval_of(counted.interval, statistic, source).values
    own, rest = sides(corpus, part)
    grid = difference_grid(values, values - values_of(counted.means, statistic, source), statistic, rest)
    hover = [
        [
            f"{text} (95%: {between})" if (between := written_interval(interval, (layer, head), unit)) else text
            for head, text in enumerate(row)
        ]
        for layer, row in enumerate(grid.hover)
    ]
    title = f"{STATISTICS[statistic].title}, {own} minus {rest}"
    return replace(grid, kind="rest", hover=hover, title=title, note=size_of_rest(corpus, part), interval=interval)


def _subtracted(corpus: Corpus, part: Part, name: str) -> str:
    """Sentence on the tokens of the other model's corpus that are subtracted."""
    of = first_of(corpus, "token") if part.first is None else searched_tokens(corpus, part.first)
    some = f"{part.tokens:,} of {of} ({100 * part.tokens / (part.first or corpus.n_tokens):.1f}%)"
    share = f"all {all_of(corpus, 'token')}" if part.whole and has_part(corpus) else some
    return f"Subtracted: means over {share} of {name}."


def _notices_on_other(part: Part, name: str) -> tuple[str, ...]:
    """Sentences on conditions of the link that do not apply to the other model's corpus."""
    empty = f"No tokens of {name} match, so there is nothing to subtract. Remove a filter."
    return (*(f"{name}: {notice}" for notice in part.notices), *([] if part.tokens else [empty]))


def label_contrasts(corpus: Corpus, state: LinkState) -> dict[str, str]:
    """Titles and links of page Statistics that compare a label's sentences with all others; empty where all have one label."""
    return {f"{label} minus {other}": _contrast_href(state, label) for label, other in _labels(corpus).items()}


@cached
def _labels(corpus: Corpus) -> dict[str, str]:
    """Labels of the corpus's sentences, each with the name of all other sentences."""
    codes = np.unique(corpus.sentences.label.values)
    names = [corpus.label_names[code] for code in codes if code >= 0]
    if len(codes) < 2:
        return {}
    return {names[1]: names[0]} if len(codes) == len(names) == 2 else dict.fromkeys(names[:MOST_LABELS], REST)


def _contrast_href(state: LinkState, label: str) -> str:
    where = str(Condition("label", (label,)))
    return state.on("statistics").with_(where=where, values="rest").href

"""How the heads of two models differ, on the page: the heads that changed most, every statistic, the largest changes in a line, and relations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.compare.data import Changes, divergence_sample, linked_changes, ranked_heads, statistic_of
from dashboard.compare.two_models import (
    LETTERS,
    MINUS,
    SEED,
    MeanInterval,
    ModelPair,
    cached_result,
    lettered,
    marked,
    sample_caption,
)
from dashboard.relations.data import BestHead, best_of, links_of_pairs
from dashboard.roles.shares import role_cells
from dashboard.statistics.data import difference_grid, values_of
from dashboard.statistics.sections import definitions
from dashboard.ui.charts import chart, heat_map, heat_map_height
from dashboard.ui.controls import info, statistic_info
from dashboard.ui.glossary import defined
from dashboard.ui.markup import file_href, file_links, scrolling, stacked_cells, titled_row
from dashboard.ui.text import QUERIES, all_of, brief, difference_unit, in_brackets, signed, spell, unit_title
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.kernels.intervals import ShareReplicates, draw_counts
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.model import head_name, varying_statistics

CHANGES = defined(
    "divergence",
    "Every head of A is compared with the head of the same layer and number in B. Below a number: its 95% interval, by a paired "
    "bootstrap over sentences. Changed most: the statistic of all queries with the largest difference in standard deviations "
    "among the heads of A; its interval ignores this selection.",
)
#: Number of listed heads.
LISTED = 10
#: Number of changes in the line of largest changes.
LINKED = 3
_FOUR_DIGITS = "{:.4f}".format
_RELATION_ACCURACY = (
    "Accuracy of the best head of each model at a relation, each chosen on one half of the sentences, and their difference (B − A) on the "
    "other half, with a 95% interval by bootstrap over the same sentences of both."
)


def changed_heads(state: LinkState, two: ModelPair, changed: Changes) -> list[object]:
    """The table of the heads that changed most, and the heat map of divergences."""
    return [
        _table(state, two, changed),
        _caption(state, two, changed),
        file_links(data_link(two.own), "All heads", f"compare/{two.other.name}/changes", _query(state, two)),
        html.H3("Divergence of every head from its counterpart"),
        *_divergence_map(state, two, changed),
    ]


def _query(state: LinkState, two: ModelPair) -> dict[str, str]:
    return {"statistic": statistic_of(state, two), "source": state.source}


def _table(state: LinkState, two: ModelPair, changed: Changes) -> html.Div:
    heads = ranked_heads(changed, state.ranked)[:LISTED]
    body = html.Tbody([_row(state, two, changed, head) for head in heads])
    return html.Div(
        html.Table([_titles(state, two, changed), body], className="rows heads changes stacked"),
        className="scroll whole",
        tabIndex=0,
        role="region",
        **{"aria-label": "Heads that changed most"},
    )


def _titles(state: LinkState, two: ModelPair, changed: Changes) -> html.Thead:
    statistic = STATISTICS[statistic_of(state, two)]
    rows = "" if state.source == "all" else f", {QUERIES[state.source]}"
    first = [
        html.Th("head", rowSpan=2),
        html.Th("divergence, nats", rowSpan=2, className="number"),
        html.Th(f"{statistic.title}{rows}, {unit_title(statistic.unit)}", colSpan=3, scope="colgroup"),
        html.Th("changed most", rowSpan=2),
        html.Th("label" if changed.shares is None else "clearest role", colSpan=2, scope="colgroup"),
    ]
    both = [html.Th(marked(two, place), title=two.names[place], className="number") for place in (0, 1)]
    labels = [html.Th(marked(two, place), title=two.names[place]) for place in (0, 1)]
    change = html.Th(_change_title(statistic.unit), className="number")
    return html.Thead([html.Tr(first), html.Tr([*both, change, *labels])])


def _change_title(unit: str) -> str:
    return f"{MINUS}, {difference_unit(unit)}"


def _row(state: LinkState, two: ModelPair, changed: Changes, head: tuple[int, int]) -> html.Tr:
    href = f"{state.on('compare').with_(layer=head[0], head=head[1], pictures='head').href}#pictures-of-both"
    divergence, difference, unit = changed.divergence, changed.difference, STATISTICS[statistic_of(state, two)].unit
    signed_value = partial(_signed, unit=unit)
    return titled_row(
        _narrow_titles(state, two, changed),
        [
            html.Td(dcc.Link(head_name(*head), href=href, title="Show this head in both models")),
            _number(f"{divergence.mean[head]:.4f}", _between(divergence, head, _FOUR_DIGITS)),
            _number(brief(float(difference.own[head]), unit)),
            _number(brief(float(difference.other[head]), unit)),
            _number(signed_value(float(difference.change.mean[head])), _between(difference.change, head, signed_value)),
            _changed_most(changed, head),
            *_named(changed, head),
        ],
    )


def _narrow_titles(state: LinkState, two: ModelPair, changed: Changes) -> list[str]:
    """The names of the columns in one row, where a window is narrow."""
    statistic = STATISTICS[statistic_of(state, two)]
    does = "label" if changed.shares is None else "clearest role"
    values = [f"{statistic.title} in {letter}, {unit_title(statistic.unit)}" for letter in LETTERS]
    of_both = [f"{does} in {letter}" for letter in LETTERS]
    return ["head", "divergence, nats", *values, _change_title(statistic.unit), "changed most", *of_both]


def _named(changed: Changes, head: tuple[int, int]) -> list[html.Td]:
    """Cells on what the head does in both models: its clearest roles, or its labels where a store has no roles."""
    if changed.shares is None:
        return [html.Td(str(label) or "-") for label in changed.labels[:, *head]]
    return [cell for shares in changed.shares for cell in role_cells(shares, *head)]


def _number(value: str, between: str = "") -> html.Td:
    """A number, and its interval below."""
    below = [html.Div(between, className="between")] if between else []
    return html.Td([html.Div(value), *below], className="number")


def _signed(value: float, unit: str) -> str:
    """A difference as text; shares in points, with a digit more than the shares themselves."""
    return signed(100 * value if unit == "share" else value, 2)


def _between(values: MeanInterval, head: tuple[int, int], write: Callable[[float], str]) -> str:
    """The interval of a head; empty over fewer than two sentences, which have no interval."""
    low, high = float(values.low[head]), float(values.high[head])
    return f"{write(low)} to {write(high)}" if low == low else ""


def _changed_most(changed: Changes, head: tuple[int, int]) -> html.Td:
    """The statistic that changed most: its values in both models, and below the difference with its interval."""
    statistic, most = STATISTICS[str(changed.most[head])], changed.most_difference
    both = _of_both(str(changed.most[head]), float(most.own[head]), float(most.other[head]))
    change = f"{_signed(float(most.change.mean[head]), statistic.unit)} {difference_unit(statistic.unit)}"
    between = _between(most.change, head, partial(_signed, unit=statistic.unit))
    values_line = html.Div([f"{statistic.title}: ", html.Span(both, className="number")])
    return html.Td([values_line, html.Div(", ".join(filter(None, (change, between))), className="between")])


def _caption(state: LinkState, two: ModelPair, changed: Changes) -> html.P:
    difference = changed.difference
    by = "divergence" if state.ranked == "divergence" else "size of the difference"
    some = (
        ""
        if difference.sentences == difference.sample.sentences
        else f", of which {difference.sentences:,} have such queries"
    )
    about = (
        f"Divergence over {sample_caption(two, divergence_sample(two))}; statistic over "
        f"{sample_caption(two, difference.sample)}{some}. {_selection_note(two, changed)}"
    )
    first = f"The first {min(LISTED, changed.most.size)} of {changed.most.size} heads by {by}."
    return html.P([first, info("the sample", about)], className="caption")


def _selection_note(two: ModelPair, changed: Changes) -> str:
    """How the statistic that changed most is chosen, and over which sentences."""
    own, other = two.own.counted_sentences, two.other.counted_sentences
    same = own == other == changed.most_difference.sample.sentences
    by = "these means" if same else f"means over all {own:,} sentences of A and {other:,} of B"
    return f"Changed most: by {by}."


def _divergence_map(state: LinkState, two: ModelPair, changed: Changes) -> list[object]:
    values = changed.divergence
    written = [[f"{value:.3f}" for value in row] for row in values.mean]
    hover = [[_nats(values, (layer, head)) for head in range(two.own.heads)] for layer in range(two.own.layers)]
    return chart(
        heat_map(values.mean, written=written, hover=hover, unit="nats"),
        name="counterparts",
        caption="In nats, over the same sentences as the table. Click a cell to open the head. ",
        label=f"Heat map of {values.mean.shape[0]} by {values.mean.shape[1]} heads: divergence from the counterpart",
        of=f"Divergence over {sample_caption(two, divergence_sample(two))}",
        data=file_href(data_link(two.own), f"compare/{two.other.name}/changes.csv", _query(state, two)),
        height=heat_map_height(two.own.layers),
        opens=True,
        turns=True,
    )


def _nats(divergence: MeanInterval, head: tuple[int, int]) -> str:
    between = _between(divergence, head, _FOUR_DIGITS)
    return f"{divergence.mean[head]:.4f} nats" + (f" (95%: {between})" if between else "")


def differences(state: LinkState, two: ModelPair) -> list[object]:
    """The heat map of the differences, B - A."""
    title = STATISTICS[statistic_of(state, two)].title
    values, against = (
        values_of(model.head_statistic, statistic_of(state, two), state.source) for model in (two.other, two.own)
    )
    grid = difference_grid(values, against, statistic_of(state, two), LETTERS[0])
    rows = f", {QUERIES[state.source]}" if state.source != "all" else ""
    return [
        html.H3([f"{title[0].upper()}{title[1:]}{rows}: {MINUS}", statistic_info(statistic_of(state, two))]),
        *chart(
            heat_map(grid.values, written=grid.written, hover=grid.hover, unit=grid.unit, diverging=True),
            name="differences",
            caption=["Click a cell to open the head.", info("the means", _sample_note(two)), " "],
            label=f"Heat map of {two.own.layers} by {two.own.heads} heads: {title}, {MINUS}",
            of=_sample_note(two),
            data=file_href(data_link(two.own), f"compare/{two.other.name}/differences.csv", {"source": state.source}),
            height=heat_map_height(two.own.layers),
            opens=True,
            turns=True,
        ),
        definitions(),
    ]


def _sample_note(two: ModelPair) -> str:
    own, other = (f"{all_of(model, 'sentence')} ({all_of(model, 'token')})" for model in (two.own, two.other))
    return f"Means over {own} of both models." if own == other else f"Means over {own} of A and {other} of B."


def means_over_heads(state: LinkState, two: ModelPair) -> html.Details:
    """Every statistic, its mean over all heads; open where the models' heads have no counterparts."""
    names = html.Tr(
        [
            html.Th("mean over all heads"),
            *(html.Th(title, className="number") for title in (marked(two, 0), marked(two, 1), MINUS)),
        ]
    )
    body = html.Tbody([_mean_row(two, name, state.source) for name in varying_statistics(state.source)])
    return html.Details(
        [
            html.Summary("Every statistic, mean over all heads"),
            html.Table([html.Thead(names), body], className="rows"),
            html.P(
                [
                    f"Mean over {QUERIES[state.source]}. {_head_counts(two)}",
                    info("the means of both models", _sample_note(two)),
                ],
                className="caption",
            ),
        ],
        open=not two.same_heads,
        id="means-over-heads",
    )


def _head_counts(two: ModelPair) -> str:
    own, other = (many(model.layers * model.heads, "head") for model in (two.own, two.other))
    return f"{own} of each model." if own == other else f"{own} of A and {other} of B."


def _mean_row(two: ModelPair, name: str, source: str) -> html.Tr:
    unit = STATISTICS[name].unit
    own, other = (float(values_of(model.head_statistic, name, source).mean()) for model in (two.own, two.other))
    change = signed(100 * (other - own), 1) if unit == "share" else signed(other - own, 2)
    texts = ("", "", "") if own != own else (spell(own, unit), spell(other, unit), f"{change} {difference_unit(unit)}")
    return html.Tr([html.Td(STATISTICS[name].title), *(html.Td(text, className="number") for text in texts)])


def largest_changes(changes: html.Div) -> html.Div:
    """The line of largest changes; `changes` holds the links of `changed_most`."""
    title = html.Span("Largest changes", className="largest-title")
    named: Any = {"aria-label": "Largest changes"}
    return html.Div([title, changes], className="largest", role="group", **named)


def changed_most(state: LinkState, two: ModelPair) -> list[Any]:
    """Links to the heads that diverge most, or to the statistics where heads have no counterparts."""
    links = _links_to_heads(state, two) if two.same_heads else _links_to_statistics(state, two)
    return [html.Div(links, className="three")]


def _links_to_heads(state: LinkState, two: ModelPair) -> list[Any]:
    changed = linked_changes(state, two)
    links = []
    for head in ranked_heads(changed, "divergence")[:LINKED]:
        most = changed.most_difference
        name = str(changed.most[head])
        shown = state.on("compare").with_(layer=head[0], head=head[1], pictures="head")
        number = f"{changed.divergence.mean[head]:.3f} nats"
        text = f"{STATISTICS[name].title} {_of_both(name, float(most.own[head]), float(most.other[head]))}"
        links.append(_link(head_name(*head), number, text, f"{shown.href}#pictures-of-both"))
    return links


def _links_to_statistics(state: LinkState, two: ModelPair) -> list[Any]:
    source = state.source
    means = {name: _means_of_both(two, name, source) for name in varying_statistics(source)}
    ranked = sorted(means, key=lambda name: -_size_of_change(two, name, source, means[name]))
    href = f"{state.href}#means-over-heads"
    links = []
    for name in ranked[:LINKED]:
        links.append(_link(STATISTICS[name].title, _of_both(name, *means[name]), "mean over heads", href))
    return links


def _means_of_both(two: ModelPair, name: str, source: str) -> tuple[float, float]:
    """The mean over all heads in each model."""
    own, other = (float(values_of(model.head_statistic, name, source).mean()) for model in (two.own, two.other))
    return own, other


def _size_of_change(two: ModelPair, name: str, source: str, means: tuple[float, float]) -> float:
    """The difference of the means in standard deviations among the heads of A, so that units compare."""
    among = float(np.std(values_of(two.own.head_statistic, name, source)))
    change = abs(means[1] - means[0])
    return change / among if among > 0 and np.isfinite(change) else 0.0


def _of_both(statistic: str, own: float, other: float) -> str:
    unit = STATISTICS[statistic].unit
    return f"{LETTERS[0]} {spell(own, unit)}, {LETTERS[1]} {spell(other, unit)}"


def _link(name: str, number: str, detail: str, href: str) -> dcc.Link:
    change = html.Div(detail, className="change")
    where = f"{name}: {number}, {detail}, from {LETTERS[0]} to {LETTERS[1]}"
    return dcc.Link([html.Div([html.Strong(name), " ", html.Span(number)]), change], href=href, title=where)


@dataclass(frozen=True)
class RelationChange:
    """The best heads of two models at a relation, and their accuracies in the common sentences.

    `interval` is the interval of the difference, other minus own.
    """

    own: BestHead
    other: BestHead
    own_accuracy: float
    other_accuracy: float
    interval: tuple[float, float]

    @property
    def difference(self) -> float:
        """Accuracy of the other model minus accuracy of this model."""
        return self.other_accuracy - self.own_accuracy


def relations_of_both(state: LinkState, two: ModelPair) -> list[object]:
    """The table of relations, the largest change first; nothing where a model has no relations."""
    try:
        changes = changed_relations(two)
    except NotIngested:
        return []
    own, other = lettered(two)
    titles = (
        "relation",
        f"best head of {own}",
        "accuracy",
        f"best head of {other}",
        "accuracy ",
        "difference",
        "95% interval",
    )
    numbers = {"accuracy", "accuracy ", "difference", "95% interval"}
    rows = [_row_of_relation(state, two, change) for change in changes]
    return [
        html.H2(["Relations gained and lost", info("relations of both models", _RELATION_ACCURACY)]),
        html.P(
            f"{two.own.words.source.capitalize()}; {_sentences_with_relations(two)}; in %, differences in points.",
            className="caption",
        ),
        scrolling(stacked_cells(titles, rows, numbers), "Relations gained and lost"),
    ]


def _sentences_with_relations(two: ModelPair) -> str:
    if two.own.n_sentences == two.other.n_sentences:
        return many(two.sentences, "sentence")
    return f"the first {many(two.sentences, 'sentence')}, of which both models have vectors"


def changed_relations(two: ModelPair) -> list[RelationChange]:
    """The relations of two models of one corpus, the largest difference first. NotIngested where a model has none."""
    return cached_result(two, "relations", partial(_changed_relations, two))


def _changed_relations(two: ModelPair) -> list[RelationChange]:
    theirs = {best.relation: best for best in best_of(two.other)}
    counts = draw_counts(SEED, 0, two.sentences)
    changes = [
        _relation_change(two, best, theirs[best.relation], counts)
        for best in best_of(two.own)
        if best.relation in theirs
    ]
    return sorted(changes, key=lambda change: -abs(np.nan_to_num(change.difference)))


def _relation_change(two: ModelPair, best: BestHead, theirs: BestHead, counts: NDArray[np.float64]) -> RelationChange:
    (hits, sentence), (other_hits, _) = _common_links(two, two.own, best), _common_links(two, two.other, theirs)
    replicates = ShareReplicates(())
    replicates.add(other_hits.astype(np.int8) - hits.astype(np.int8), sentence, counts)
    low, high = map(float, replicates.interval())
    own, other = (float(of_model.mean()) if len(of_model) else np.nan for of_model in (hits, other_hits))
    return RelationChange(best, theirs, own, other, (low, high))


def _common_links(two: ModelPair, corpus: Corpus, best: BestHead) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """`links_of_pairs` in the sentences of which both models have vectors: the first of the corpus."""
    hits, sentence = links_of_pairs(corpus, best)
    common = sentence < two.sentences
    return hits[common], sentence[common]


def _row_of_relation(state: LinkState, two: ModelPair, change: RelationChange) -> list[html.Td]:
    low, high = change.interval
    state = state.on("relations")
    links = [
        dcc.Link(
            head_name(best.layer, best.head),
            href=state.with_(model=corpus.name, relation=best.relation, direction=best.direction, examples="best").href,
        )
        for corpus, best in ((two.own, change.own), (two.other, change.other))
    ]
    between = f"{signed(100 * low, 1)} to {signed(100 * high, 1)}" if low == low else ""
    own, other = (
        f"{100 * share:.1f}" if share == share else "" for share in (change.own_accuracy, change.other_accuracy)
    )
    return [
        html.Td([html.Bdi(change.own.relation), in_brackets(change.own.relation)]),
        html.Td(links[0]),
        html.Td(own, className="number"),
        html.Td(links[1]),
        html.Td(other, className="number"),
        html.Td(signed(100 * change.difference, 1) if between else "", className="number"),
        html.Td(between, className="number"),
    ]

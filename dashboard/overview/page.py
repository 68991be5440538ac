"""Page Overview: plain sentences on what heads do, each with its evidence and a link to it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.overview.cards import CAPTION, cards_outline, example_cards, head_link, picture_of_head
from dashboard.overview.kinds import SINK_SHARE, KindExample, examples_of, heads_on_sinks
from dashboard.overview.layers import where_attention_goes
from dashboard.points.captions import FIDELITY, shown_fidelity
from dashboard.relations.data import ENOUGH_PAIRS, BestHead, best_of, clearest_relations
from dashboard.statistics.divergence import about_divergence, divergence_info, mean_divergence
from dashboard.statistics.kinds import BEHAVIOURS, Kind, kinds_of
from dashboard.topic import Topic
from dashboard.ui.controls import info
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.markup import FOLLOWED, heading, scrolling
from dashboard.ui.page import Page, Unmade, unmade, unmade_line
from dashboard.ui.text import all_of, decimal, first_of, has_part, in_brackets, spell
from dashboard.web.bounds import short_name
from dashboard.web.context import Context
from dashboard.web.results import cached
from store import Corpus
from store.kernels.labels import LABELS
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.model import head_name

#: Relations that are listed.
LISTED = 5
#: Labels that are too long for a cell.
SHORT = {"previous": "prev", "punctuation": "punct"}
_LABELS = (
    "A head has a label where its attention passes the threshold of Clark et al. (2019): "
    + "; ".join(f"{label}: {rule}" for label, rule in LABELS.items())
    + "."
)
_SINKS = "A sink is a token to which most queries of its sentence attend strongly. A head can also have a label."
_RELATIONS_TITLE = "Grammar that heads follow"
_RELATIONS = (
    "Share of the word pairs of a relation that the head links, in sentences that did not choose it; beside it the share that the "
    "most frequent offset between the two words finds, and the best head of the network with random weights. Intervals are by bootstrap "
    f"over sentences. Relations with fewer than {ENOUGH_PAIRS} reported pairs are left out."
)


def layout(context: Context) -> Page:
    """The page of a link."""
    corpus = context.corpus
    name = str(corpus.corpus_attributes["name"])
    size = (
        f"{many(corpus.layers, 'layer')} of {many(corpus.heads, 'head')}; {all_of(corpus, 'sentence')}, "
        f"{all_of(corpus, 'token')}. {_counted(corpus)}"
    )
    return Page(
        above=[
            html.H1(["What the heads of ", html.Bdi(short_name(corpus)), " do on ", html.Bdi(name)]),
            html.P(size, className="how-to-read"),
            html.Div(
                [
                    _section([*_kinds(context)]),
                    _section([*where_attention_goes(context), *_pictures(context)]),
                    _section(_examples(context), "wide"),
                    _section(_relations(context)),
                    _section(_unusual(context)),
                ],
                className="overview",
            ),
        ]
    )


def _counted(corpus: Corpus) -> str:
    """Which figures are of which sentences."""
    if not has_part(corpus):
        return "Every figure is computed from them."
    first = first_of(corpus, "sentence")
    return f"Statistics of heads are computed from them; pictures, examples and relations from {first}, which have vectors."


def _section(content: Iterable[object], width: str = "") -> html.Section | None:
    children: list[Any] = list(content)
    return html.Section(children, className=width or None) if children else None


def _kinds(context: Context) -> list[object]:
    """How many heads have each label, and which."""
    corpus = context.corpus
    kinds, heads = kinds_of(corpus), corpus.layers * corpus.heads
    labelled = sum(len(kind.heads) for kind in kinds)
    rows: list[Any] = [_kind(context, kind) for kind in kinds]
    absent = [label for label in LABELS if label not in {kind.label for kind in kinds}]
    sinks = heads_on_sinks(corpus)
    on_sinks = context.state.on("heads").with_(arranged="to_sink", above=f"{100 * SINK_SHARE:g}").href
    return [
        html.H2(["Kinds of heads", info("the kinds of heads", _LABELS)]),
        html.P([html.Strong(f"{labelled} of {heads} heads have one clear behaviour"), "; the others mix several."]),
        html.Ul(rows, className="kinds"),
        html.P(f"No head passes the threshold of {', '.join(absent)}." if absent else None, className="caption"),
        html.P(
            [
                dcc.Link(many(sinks, "head"), href=on_sinks),
                f" {'gives' if sinks == 1 else 'give'} more than {100 * SINK_SHARE:.0f}% of attention to sinks.",
                info("sinks", _SINKS),
            ]
        ),
        _label_table(context),
    ]


def _kind(context: Context, kind: Kind) -> html.Li:
    layer, head = kind.heads[0]
    state = context.state
    count = dcc.Link(
        many(len(kind.heads), "head"), href=state.on("heads").with_(tagged=kind.label, arranged=kind.statistic).href
    )
    verb = BEHAVIOURS[kind.label].replace("attend", "attends", 1) if len(kind.heads) == 1 else BEHAVIOURS[kind.label]
    clearest = head_link(context, layer, head)
    return html.Li(
        [
            html.Span(className=f"label-mark label-{list(LABELS).index(kind.label)}"),
            html.Span([count, f" {verb}; clearest: ", clearest, f", {spell(kind.values[0], 'share')}."]),
        ]
    )


def _label_table(context: Context) -> html.Div:
    """The label of every head, layers down and heads across; each cell opens its head."""
    labels = context.corpus.head_labels.values
    heads = [html.Th(f"H{head}", scope="col") for head in range(labels.shape[1])]
    rows = [
        html.Tr(
            [
                html.Th(f"L{layer}", scope="row"),
                *(_cell(context, layer, head, str(label)) for head, label in enumerate(row)),
            ]
        )
        for layer, row in enumerate(labels)
    ]
    label: Any = {"aria-label": "Label of every head", "role": "region"}
    table = html.Table([html.Thead(html.Tr([html.Td(), *heads])), html.Tbody(rows)], className="label-table")
    return html.Div(table, className="label-table-frame", tabIndex=0, **label)


def _cell(context: Context, layer: int, head: int, label: str) -> html.Td:
    name = head_name(layer, head)
    number = list(LABELS).index(label) if label else "none"
    named: Any = {"aria-label": f"{name}: {label or 'unlabelled'}", FOLLOWED: ""}
    href = context.state.on("head").with_(layer=layer, head=head).href
    link = html.A(html.Span(SHORT.get(label, label)), href=href, title=f"{name}: {label or 'unlabelled'}", **named)
    return html.Td(link, className=f"label-{number}")


def _relations(context: Context) -> list[object]:
    """The relations that a head finds best beyond the offset of their words."""
    try:
        best = clearest_relations(best_of(context.corpus))[:LISTED]
        title = _title_of_relations(_source_of_words(context.corpus))
    except NotIngested as error:
        return [_title_of_relations(""), unmade_line(Unmade.of(error, context.ingest))]
    if not best:
        return [
            title,
            html.P(
                f"No head links the pairs of a relation more often than the offset of its words. Relations with fewer than {ENOUGH_PAIRS} pairs are left out."
            ),
        ]
    first = best[0]
    rows: list[Any] = [_relation(context, row) for row in best]
    columns = ("relation", "head", "linked", "95% interval", "best offset", "best random head", "pairs")
    return [
        title,
        html.P(
            [
                html.Strong(
                    [
                        f"{head_name(first.layer, first.head)} links {100 * first.accuracy:.0f}% of the pairs of ",
                        html.Bdi(first.relation),
                    ]
                ),
                f"{in_brackets(first.relation)}; the best offset finds {100 * first.offset_accuracy:.0f}%. ",
                dcc.Link("All relations", href=context.state.on("relations").href),
                ".",
            ]
        ),
        scrolling(html.Table([heading(columns, columns[2:]), html.Tbody(rows)], className="rows"), _RELATIONS_TITLE),
    ]


def _title_of_relations(source: str) -> html.H2:
    """With what the numbers are, and where the words come from."""
    return html.H2([_RELATIONS_TITLE, info("relations", f"{_RELATIONS}{source}")])


def _source_of_words(corpus: Corpus) -> str:
    return f" {corpus.words.source.capitalize()}."


def _relation(context: Context, row: BestHead) -> html.Tr:
    state = context.state.with_(layer=row.layer, head=row.head)
    relation = dcc.Link(
        html.Bdi(row.relation), href=state.on("relations").with_(relation=row.relation, direction=row.direction).href
    )
    head = head_link(context, row.layer, row.head)
    low, high = row.interval
    numbers = (
        f"{100 * row.accuracy:.0f}%",
        f"{100 * low:.0f} to {100 * high:.0f}%" if low == low else "",
        *(f"{100 * share:.0f}%" if share == share else "" for share in (row.offset_accuracy, row.random)),
        f"{row.pairs:,}",
    )
    return html.Tr(
        [
            html.Td([relation, in_brackets(row.relation)]),
            html.Td(head),
            *(html.Td(number, className="number") for number in numbers),
        ]
    )


def _examples(context: Context) -> list[object]:
    """The clearest heads; nothing where no head has a label."""
    if not kinds_of(context.corpus):
        return []
    return [html.H2("The clearest head of each kind"), html.P(CAPTION, className="caption"), deferred(context, CARDS)]


def _unusual(context: Context) -> list[object]:
    """Sentences in which the clearest heads do not do as usual, and the head least like any other."""
    outlier = _outlier(context)
    if not kinds_of(context.corpus) and not outlier:
        return []
    outliers = [html.Ul(outlier, className="findings")] if outlier else []
    exceptions = [deferred(context, UNUSUAL)] if kinds_of(context.corpus) else []
    return [html.H2("What is unusual in this corpus"), *outliers, *exceptions]


def _exceptions(context: Context) -> list[object]:
    """Sentences in which the clearest heads do not do as usual."""
    items: list[Any] = [_exception(context, example) for example in examples_of(context.corpus)]
    return [html.Ul(items, className="findings")]


def _exception(context: Context, example: KindExample) -> html.Li:
    layer, head = example.head
    kind = example.kind
    text = str(context.corpus.sentences.text.values[example.unusual])
    link = context.state.of_sentence(example.unusual, layer=layer, head=head, heads=str(head)).href
    return html.Li(
        [
            f"{head_name(layer, head)}: {kind.title} is ",
            html.Strong(spell(example.lowest, "share")),
            f" instead of {spell(kind.values[0], 'share')} in ",
            dcc.Link(html.Q(text if len(text) <= 90 else f"{text[:90]} ..."), href=link),
        ]
    )


CARDS = DeferredPart("cards", "a typical sentence of each kind", example_cards, (), 348, outline=cards_outline)
UNUSUAL = DeferredPart("unusual", "the least usual sentence of each kind", _exceptions, (), 208, 312, shape="lines")


def _outlier(context: Context) -> list[Any]:
    """The head whose nearest head is farthest; nothing where divergences are not computed."""
    try:
        divergence = mean_divergence(context.corpus)
    except NotIngested:
        return []
    heads = divergence.shape[0] * divergence.shape[1]
    if heads < 3:
        return []
    pairs = divergence.reshape(heads, heads) + np.diag(np.full(heads, np.inf))
    farthest = int(pairs.min(axis=1).argmax())
    layer, head = divmod(farthest, divergence.shape[1])
    link = dcc.Link(head_name(layer, head), href=context.state.on("map").with_(layer=layer, head=head).href)
    nearest = head_name(*divmod(int(pairs[farthest].argmin()), divergence.shape[1]))
    return [
        html.Li(
            [
                link,
                f" attends least like any other head: the nearest, {nearest}, diverges by {pairs[farthest].min():.2f} nats per token. ",
                divergence_info(about_divergence(context.corpus)),
            ]
        )
    ]


def _pictures(context: Context) -> list[object]:
    """The most and the least faithful picture of a head, in the default view."""
    corpus = context.corpus
    title = html.H2(["How faithful the pictures are", info("fidelity", FIDELITY)])
    if not corpus.views:
        return [title, html.P(unmade(context.ingest, "This model has no picture yet."))]
    spearman = _spearman(corpus, context.view)
    ends = [np.unravel_index(index, spearman.shape) for index in (np.nanargmin(spearman), np.nanargmax(spearman))]
    figures: list[Any] = [
        _faithful(context, which, int(layer), int(head), float(spearman[layer, head]))
        for which, (layer, head) in zip(("Most", "Least"), ends, strict=True)
    ]
    every = dcc.Link("All heads", href=context.state.on("heads").href)
    return [
        title,
        html.P(
            [
                f"Attention and distance on screen correlate by {decimal(float(np.nanmean(spearman)))} on average; −1 is perfect. ",
                every,
                ".",
            ]
        ),
        html.Div(figures, className="faithful"),
    ]


@cached
def _spearman(corpus: Corpus, view: str) -> NDArray[np.float64]:
    """Rank correlation of attention and distance in a view: (layer, head)."""
    values: NDArray[np.float64] = shown_fidelity(corpus.view(view)).sel(measure="spearman").values
    return values


def _faithful(context: Context, which: str, layer: int, head: int, spearman: float) -> html.Figure:
    caption = html.Figcaption(f"{which} faithful: {head_name(layer, head)}, {decimal(spearman)}")
    return html.Figure([picture_of_head(context, layer, head, 132), caption])


OVERVIEW = Topic(
    name="overview",
    title="Overview",
    letter="o",
    docs="statistics.md#heads-beside-heads",
    layout=layout,
    deferred=(CARDS, UNUSUAL),
)

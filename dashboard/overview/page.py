"""Page Overview: plain sentences on what heads do, each with its evidence and a link to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.overview.evidence import (
    SINK_SHARE,
    HeadPictures,
    WhereAttentionGoes,
    every_head,
    examples_of,
    exceptions,
    faithful_pictures,
    head_link,
    heads_on_sinks,
    read_attention,
    read_pictures,
    read_spearman,
    where_attention_goes,
)
from dashboard.overview.role_cards import cards, heads_of_cards, outline
from dashboard.relations.data import ENOUGH_PAIRS, BestHead, best_of, clearest_relations
from dashboard.relations.hypothesis_table import OWN
from dashboard.roles.shares import RoleShares, read_shares, what_heads_do
from dashboard.statistics.heads import (
    BEHAVIOURS,
    HeadKind,
    about_divergence,
    divergence_info,
    kinds_of,
    mean_divergence,
)
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.controls import info, tour_button
from dashboard.ui.deferred import DeferredPart, deferred, of_corpus
from dashboard.ui.glossary import TERMS, term, terms_of
from dashboard.ui.markup import FOLLOWED, Page, Unmade, further, scrolling, stacked_cells, unmade, unmade_line
from dashboard.ui.text import all_of, decimal, first_of, has_part, in_brackets, sight, spell
from dashboard.web.bounds import short_name
from dashboard.web.context import Context
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.heads import LABELS
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.model import head_name

#: Relations that are listed.
LISTED = 5
#: Short forms of labels that are too long for a cell.
SHORT = {"previous": "prev", "punctuation": "punct"}
_LABELS = (
    "A head has a label where its attention passes the threshold of Clark et al. (2019): "
    + "; ".join(f"{label}: {rule}" for label, rule in LABELS.items())
    + "."
)
_RELATIONS_TITLE = "Grammar that heads follow"
_RELATIONS = (
    "Share of the word pairs of a relation that the head links, in sentences that did not choose it; beside it the share that the "
    "most frequent offset between the two words finds, and the best head of the network with random weights. Intervals are by bootstrap "
    f"over sentences. Relations with fewer than {ENOUGH_PAIRS} reported pairs are left out."
)
CARDS = DeferredPart("cards", "a sentence of each head", of_corpus(cards), (), 348, outline=outline)
UNUSUAL = DeferredPart(
    "unusual",
    "the least usual sentence of each kind",
    of_corpus(lambda corpus, state: exceptions(corpus, state, examples_of(corpus))),
    (),
    208,
    312,
    middle=164,
    shape="lines",
)


@dataclass(frozen=True)
class Outlier:
    """The head whose nearest head is farthest: (layer, head) of both, their divergence in nats per token, and a text on what that is."""

    head: tuple[int, int]
    nearest: tuple[int, int]
    divergence: float
    about: str


@dataclass(frozen=True)
class OverviewPage:
    """What the page shows.

    Attributes
    ----------
    model, corpus, size
        Names of both; a text on the size of the corpus, and on which figures are computed from which sentences.
    marks_ends
        Whether the tokenizer puts a token before a text.
    kinds, labels, on_sinks
        The kinds of heads, the label of every head: (layer, head), and how many heads give most of their attention to sinks.
    roles
        Roles of every head.
    attention
        Where attention goes.
    pictures, spearman
        Pictures of heads, and of each the rank correlation of attention and distance on screen: (layer, head); how to get
        them where there are none.
    cards, exceptions
        A card of each role that is found, else of each kind, and the least usual sentence of each kind, which may be computed after
        the page; None without any.
    by_role
        Whether cards are of roles.
    relations, source
        The relations that a head finds best beyond the offset of their words, and where the words come from.
    outlier
        The head that is least like any other; None where divergences are not computed, or for two heads alone.
    """

    state: LinkState
    model: str
    corpus: str
    size: str
    marks_ends: bool
    kinds: Sequence[HeadKind]
    labels: NDArray[np.str_]
    roles: RoleShares | Unmade
    on_sinks: int
    attention: WhereAttentionGoes
    pictures: HeadPictures
    spearman: NDArray[np.float64] | list[Any]
    cards: html.Div | None
    by_role: bool
    exceptions: html.Div | None
    relations: Sequence[BestHead] | Unmade
    source: str
    outlier: Outlier | None


def read(context: Context) -> OverviewPage:
    """Everything that the page shows."""
    corpus = context.corpus
    kinds, (relations, source) = kinds_of(corpus), _read_relations(corpus, context.ingest)
    by_role = bool(heads_of_cards(corpus))
    no_picture = unmade(context.ingest, "This model has no picture yet.")
    return OverviewPage(
        state=context.state,
        model=short_name(corpus),
        corpus=str(corpus.corpus_attributes["name"]),
        size=f"{all_of(corpus, 'sentence')}, {all_of(corpus, 'token')}. {_counted(corpus)}{sight(corpus)}",
        marks_ends=terms_of(corpus)["special"] is TERMS["special"],
        kinds=kinds,
        labels=corpus.head_labels.values,
        roles=read_shares(corpus, context.ingest),
        on_sinks=heads_on_sinks(corpus),
        attention=read_attention(corpus, context.state),
        pictures=read_pictures(corpus, context.state),
        spearman=read_spearman(corpus, context.view) if corpus.views else no_picture,
        cards=deferred(context, CARDS) if kinds or by_role else None,
        by_role=by_role,
        exceptions=deferred(context, UNUSUAL) if kinds else None,
        relations=relations,
        source=source,
        outlier=_read_outlier(corpus),
    )


def _read_relations(corpus: Corpus, running: IngestProgress | None) -> tuple[Sequence[BestHead] | Unmade, str]:
    try:
        return clearest_relations(best_of(corpus))[:LISTED], f" {corpus.words.source.capitalize()}."
    except NotIngested as error:
        return Unmade.of(error, running), ""


def draw(shown: OverviewPage) -> Page:
    """The page."""
    return Page(
        above=[
            html.H1(["What the heads of ", html.Bdi(shown.model), " do on ", html.Bdi(shown.corpus)]),
            _what_heads_are(shown),
            html.P(shown.size, className="caption"),
            html.Div(
                [
                    _section(_examples(shown), "wide"),
                    _section(_what_heads_do(shown)),
                    _section(
                        [
                            *where_attention_goes(shown.attention),
                            *faithful_pictures(shown.state, shown.pictures, shown.spearman),
                        ]
                    ),
                    _section(_relations(shown)),
                    _section(_unusual(shown)),
                ],
                className="overview",
            ),
        ]
    )


def _what_heads_are(shown: OverviewPage) -> html.P:
    """The subject of the page, in terms that the page explains."""
    layers, heads = shown.labels.shape
    return html.P(
        [
            f"In each of {layers} ",
            term("layer", "layer" if layers == 1 else "layers"),
            f", {heads} ",
            term("head", "attention head" if heads == 1 else "attention heads"),
            f" decide{'s' if heads == 1 else ''} how much every ",
            term("token"),
            " takes from every other one. ",
            further(tour_button("New to attention? Five steps on one sentence")),
        ],
        className="how-to-read",
    )


def _counted(corpus: Corpus) -> str:
    """A text on which figures are computed from which sentences."""
    if not has_part(corpus):
        return "Every figure is computed from them."
    first = first_of(corpus, "sentence")
    return f"Statistics of heads are computed from them; pictures, examples and relations from {first}, which have vectors."


def _section(content: Iterable[object], width: str = "") -> html.Section | None:
    children: list[Any] = list(content)
    return html.Section(children, className=width or None) if children else None


def _what_heads_do(shown: OverviewPage) -> list[object]:
    """The roles of every head; for a store without roles the labels, and how to get roles."""
    if isinstance(shown.roles, Unmade):
        return [*_kinds(shown), unmade_line(shown.roles)]
    return [*what_heads_do(every_head(shown.state), shown.roles), _sinks(shown)]


def _kinds(shown: OverviewPage) -> list[object]:
    """How many heads have each label, and which."""
    kinds, heads = shown.kinds, shown.labels.size
    labelled = sum(len(kind.heads) for kind in kinds)
    rows: list[Any] = [_kind(shown.state, kind) for kind in kinds]
    absent = [label for label in LABELS if label not in {kind.label for kind in kinds}]
    return [
        html.H2(["Kinds of heads", info("the kinds of heads", _LABELS)]),
        html.P([html.Strong(f"{labelled} of {heads} heads have one clear behaviour"), "; the others mix several."]),
        html.Ul(rows, className="kinds"),
        html.P(f"No head passes the threshold of {', '.join(absent)}." if absent else None, className="caption"),
        _sinks(shown),
        _label_table(shown.state, shown.labels),
    ]


def _sinks(shown: OverviewPage) -> html.P:
    """How many heads give most of their attention to sinks."""
    state = every_head(shown.state).on("heads")
    sinks, href = shown.on_sinks, state.with_(arranged="to_sink", above=f"{100 * SINK_SHARE:g}").href
    return html.P(
        [
            dcc.Link(many(sinks, "head"), href=href),
            f" {'puts' if sinks == 1 else 'put'} more than half of {'its' if sinks == 1 else 'their'} attention on a ",
            term("sink"),
            ": one token that most others attend to.",
        ]
    )


def _kind(state: LinkState, kind: HeadKind) -> html.Li:
    layer, head = kind.heads[0]
    of_kind = every_head(state).on("heads").with_(tagged=kind.label, arranged=kind.statistic)
    count = dcc.Link(many(len(kind.heads), "head"), href=of_kind.href)
    verb = BEHAVIOURS[kind.label].replace("attend", "attends", 1) if len(kind.heads) == 1 else BEHAVIOURS[kind.label]
    clearest = head_link(state, layer, head)
    return html.Li(
        [
            html.Span(className=f"label-mark label-{list(LABELS).index(kind.label)}"),
            html.Span([count, f" {verb}; clearest: ", clearest, f", {spell(kind.values[0], 'share')}."]),
        ]
    )


def _label_table(state: LinkState, labels: NDArray[np.str_]) -> html.Div:
    """The label of every head, layers down and heads across; each cell opens its head."""
    heads = [html.Th(f"H{head}", scope="col") for head in range(labels.shape[1])]
    rows = [
        html.Tr(
            [
                html.Th(f"L{layer}", scope="row"),
                *(_cell(state, layer, head, str(label)) for head, label in enumerate(row)),
            ]
        )
        for layer, row in enumerate(labels)
    ]
    label: Any = {"aria-label": "Label of every head", "role": "region"}
    table = html.Table([html.Thead(html.Tr([html.Td(), *heads])), html.Tbody(rows)], className="label-table")
    return html.Div(table, className="label-table-frame", tabIndex=0, **label)


def _cell(state: LinkState, layer: int, head: int, label: str) -> html.Td:
    name = head_name(layer, head)
    number = list(LABELS).index(label) if label else "none"
    named: Any = {"aria-label": f"{name}: {label or 'unlabelled'}", FOLLOWED: ""}
    href = state.on("head").with_(layer=layer, head=head).href
    link = html.A(html.Span(SHORT.get(label, label)), href=href, title=f"{name}: {label or 'unlabelled'}", **named)
    return html.Td(link, className=f"label-{number}")


def _relations(shown: OverviewPage) -> list[object]:
    """The relations that a head finds best beyond the offset of their words."""
    best, title = shown.relations, html.H2([_RELATIONS_TITLE, info("relations", f"{_RELATIONS}{shown.source}")])
    own = html.P(
        further(
            dcc.Link("Test a hypothesis of your own", href=f"{shown.state.on('relations').href}#{OWN}"),
            ": which head links the words that you name.",
        )
    )
    if isinstance(best, Unmade):
        return [title, unmade_line(best), own]
    if not best:
        return [
            title,
            html.P(
                f"No head links the pairs of a relation more often than the offset of its words. Relations with fewer than {ENOUGH_PAIRS} pairs are left out."
            ),
            own,
        ]
    first = best[0]
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
                f"{in_brackets(first.relation)}; always guessing the ",
                term("offset"),
                f" {decimal(first.offset, 0, '+')} finds {100 * first.offset_accuracy:.0f}%. ",
                further(dcc.Link("All relations", href=shown.state.on("relations").href), "."),
            ]
        ),
        scrolling(stacked_cells(columns, [_relation(shown.state, row) for row in best], columns[2:]), _RELATIONS_TITLE),
        own,
    ]


def _relation(state: LinkState, row: BestHead) -> list[html.Td]:
    state = state.with_(layer=row.layer, head=row.head)
    relation = dcc.Link(
        html.Bdi(row.relation), href=state.on("relations").with_(relation=row.relation, direction=row.direction).href
    )
    head = head_link(state, row.layer, row.head)
    low, high = row.interval
    numbers = (
        f"{100 * row.accuracy:.0f}%",
        f"{100 * low:.0f} to {100 * high:.0f}%" if low == low else "",
        *(f"{100 * share:.0f}%" if share == share else "" for share in (row.offset_accuracy, row.random)),
        f"{row.pairs:,}",
    )
    cells = [html.Td(number, className="number") for number in numbers]
    return [html.Td([relation, in_brackets(row.relation)]), html.Td(head), *cells]


def _examples(shown: OverviewPage) -> list[object]:
    """The clearest heads; nothing where no head has a role or a label."""
    if shown.cards is None:
        return []
    of_role = (
        " Lines of the role are coloured, others grey; the named pair's line is black or white."
        if shown.by_role
        else ""
    )
    lines = html.P(f"Lines run from each token to those that it attends to.{of_role}", className="caption")
    dots = html.P(
        [
            term("picture", "Dots"),
            " are the head's ",
            term("query", "queries"),
            " (blue) and ",
            term("key", "keys"),
            " (orange).",
            *([" ", term("special", "[CLS] and [SEP]"), " mark the ends of a text."] if shown.marks_ends else []),
        ],
        className="caption",
    )
    return [html.H2("What single heads do"), lines, dots, shown.cards]


def _unusual(shown: OverviewPage) -> list[object]:
    """Sentences in which the clearest heads do not do as usual, and the head least like any other."""
    outliers = [html.Ul(_outlier(shown.state, shown.outlier), className="findings")] if shown.outlier else []
    unusual = [*outliers, *([shown.exceptions] if shown.exceptions is not None else [])]
    return [html.H2("Exceptions worth a look"), *unusual] if unusual else []


def _read_outlier(corpus: Corpus) -> Outlier | None:
    """The head whose nearest head is farthest; None where divergences are not computed, or for two heads alone."""
    try:
        divergence = mean_divergence(corpus)
    except NotIngested:
        return None
    heads = divergence.shape[0] * divergence.shape[1]
    if heads < 3:
        return None
    pairs = divergence.reshape(heads, heads) + np.diag(np.full(heads, np.inf))
    farthest = int(pairs.min(axis=1).argmax())
    own, nearest = (divmod(number, divergence.shape[1]) for number in (farthest, int(pairs[farthest].argmin())))
    return Outlier(own, nearest, float(pairs[farthest].min()), about_divergence(corpus))


def _outlier(state: LinkState, outlier: Outlier) -> list[Any]:
    layer, head = outlier.head
    link = dcc.Link(head_name(layer, head), href=state.on("map").with_(layer=layer, head=head).href)
    return [
        html.Li(
            [
                link,
                " behaves least like the others: its ",
                term("divergence"),
                f" from the nearest, {head_name(*outlier.nearest)}, is {outlier.divergence:.2f} nats per token. ",
                divergence_info(outlier.about),
            ]
        )
    ]


OVERVIEW = Topic(
    name="overview",
    title="Overview",
    letter="o",
    docs="statistics.md#heads-beside-heads",
    layout=read_then_draw(read, draw),
    deferred=(CARDS, UNUSUAL),
)

"""Page Relations: which head links the words of which relation, beside a baseline, and in which sentences it does."""

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.relations.coreference import antecedents
from dashboard.relations.data import (
    BestHead,
    PairExample,
    best_of,
    clear_gains,
    direction_titles,
    ends_of,
    examples,
    links_of,
    sentence_link,
    shown_head,
    shown_relation,
)
from dashboard.relations.example import MARKED, by_example
from dashboard.relations.figures import relations_by_heads, relations_of_head
from dashboard.relations.governors import governors
from dashboard.relations.ranked_heads import ranked_heads, ranking_title
from dashboard.relations.routes import register
from dashboard.topic import Topic
from dashboard.ui.charts import chart, heat_map, heat_map_height
from dashboard.ui.controls import choice, explained, head_choices, info
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.markup import file_href, file_links, heading, scrolling
from dashboard.ui.page import Page, Unmade
from dashboard.ui.text import first_of, has_part, in_brackets, naming, signed, spell
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.paths import PageLinks
from store import Corpus
from store.kernels.relations import OFFSETS
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.model import head_name
from store.schema.relations import ALL

_ACCURACY = (
    "Share of the pairs of a dependent and its governor that a head links: of all other words of the sentence, the first "
    "attends most to the second. Attention to a word is the sum over its wordpieces, from a word their mean; [CLS] and [SEP] "
    "are no words; pairs of punctuation and of the root are left out (Clark et al. 2019, section 4). Every second sentence of "
    "the corpus chooses the best head, the others are reported. The third direction compares all words that attend to the "
    "dependent, as Clark's head <- dependent."
)
_OFFSET = (
    f"The offset governor - dependent, from {OFFSETS[0]} to {OFFSETS[-1]} words, that most pairs of the choosing half have: the "
    "accuracy of a baseline that ignores the model."
)
_RANDOM = (
    "The best head of the same network with random weights but the model's word and position embeddings, chosen and reported "
    "in the same way, over the first sentences of the corpus."
)
_PATTERN = (
    "A label such as dobj, or two ends with -> between them: the pairs of words that a dependency joins in either direction. An "
    "end is a part of speech (ADJ), a tag (VBD), a kind of entity (PERSON), a lemma (not), or * for any word."
)
Values = NDArray[np.float64]


def layout(context: Context) -> Page:
    """The page for a context; where the corpus has no relations, how to get them."""
    try:
        best = best_of(context.corpus)
    except NotIngested as error:
        alert = dmc.Alert(Unmade.of(error, context.ingest).text, color="blue", variant="light")
        return Page(above=[html.H1("Relations between words"), alert])
    relation, notices = shown_relation(context)
    return Page(
        above=[
            html.H1("Relations between words"),
            html.P([_how_to_read(context.corpus), _accuracy_info(context.corpus)], className="how-to-read"),
            html.Div(_controls(context, relation), className="controls"),
            *_heads(context, relation),
            *_ranked(context, relation),
            *_pairs(context, relation),
            *by_example(context),
            *_table(context, best),
            *_all_relations(context),
            *_profile(context, relation),
            *governors(context),
            *antecedents(context),
        ],
        notices=notices,
    )


def _how_to_read(corpus: Corpus) -> str:
    return (
        "A head links a pair where a word attends most to its governor, or the governor to it. "
        f"Grammar: {corpus.words.kind}.{_counted(corpus)}"
    )


def _counted(corpus: Corpus) -> str:
    return f" Counted in {first_of(corpus, 'sentence')}." if has_part(corpus) else ""


def _over(corpus: Corpus) -> str:
    """The sentences that accuracies are of."""
    return f"Pairs in every second one of {first_of(corpus, 'sentence')}"


def _accuracy_info(corpus: Corpus) -> html.Button:
    """The (i) of the accuracy: how it is counted, from which annotation and of how many pairs."""
    pairs, reported = (int(count) for count in corpus.relations.pairs.sel(relation=ALL).values)
    counted = (
        f"{corpus.words.source.capitalize()}: {many(pairs + reported, 'pair')} in {first_of(corpus, 'sentence')}; "
        f"numbers are of the {many(reported, 'pair')} in every second sentence."
    )
    return info("accuracy", f"{_ACCURACY} {counted}")


def _controls(context: Context, relation: str) -> list[object]:
    corpus, state = context.corpus, context.state
    labels = {name: f"{name} ({count:,})" for name, count in _pair_counts(corpus).items()}
    pattern = dmc.TextInput(
        id={"choose": "relation", "by": "pattern"},
        label="or a pattern",
        placeholder="ADJ -> NOUN, then Enter",
        value="" if relation in labels else relation,
        debounce=True,
        size="xs",
        w=170,
    )
    return [
        choice(
            "relation",
            "Relation",
            labels | ({} if relation in labels else {relation: relation}),
            relation,
            200,
            of_data=True,
        ),
        explained(pattern, info("patterns", _PATTERN)),
        choice("direction", "Direction", direction_titles(relation), state.direction, 270),
    ]


def _pair_counts(corpus: Corpus) -> dict[str, int]:
    """Pairs of each relation in the reported half."""
    counts = corpus.relations.pairs.values[1]
    return {str(name): int(count) for name, count in zip(corpus.relations.relation.values, counts, strict=True)}


def _heads(context: Context, relation: str) -> list[object]:
    """The heat map of all heads for the relation of the link."""
    corpus, state = context.corpus, context.state
    cell = links_of(corpus, relation).sel(direction=state.direction)
    accuracy: Values = cell.reported_accuracy.values
    low, high = cell.interval.values
    offset = float(cell.offset_accuracy)
    beside = f"best offset {spell(offset, 'share')} ({signed(int(cell.offset), 0)})"
    hover = [
        [
            f"{spell(accuracy[head], 'share')} ({100 * low[head]:.1f} to {100 * high[head]:.1f}), {beside}"
            for head in ((layer, number) for number in range(corpus.heads))
        ]
        for layer in range(corpus.layers)
    ]
    written = [[f"{100 * value:.0f}" if value == value else "" for value in row] for row in accuracy]
    return [
        html.H2(
            [*_heading(relation), f": {direction_titles(relation)[state.direction]}", info("the best offset", _OFFSET)]
        ),
        *chart(
            heat_map(accuracy, written=written, hover=hover, unit="%"),
            name="heat-map",
            caption=f"Accuracy in %, n = {many(int(cell.pairs[1]), 'pair')}; {beside}. Click a cell to open the head. ",
            label=f"Heat map of {corpus.layers} by {corpus.heads} heads: accuracy at {relation}",
            of=_over(corpus),
            data=file_href(
                data_link(context.corpus), "relation.csv", {"relation": relation, "direction": state.direction}
            ),
            height=heat_map_height(corpus.layers),
            opens=True,
            turns=True,
        ),
    ]


def _heading(relation: str) -> list[object]:
    """A relation by its label and in words."""
    return ["All relations"] if relation == ALL else [html.Bdi(relation), in_brackets(relation)]


def _ranked(context: Context, relation: str) -> list[object]:
    """The first heads at the relation, with the sentences in which each makes most links."""
    return [html.H3(naming(ranking_title(relation), relation if relation != ALL else "")), deferred(context, RANKED)]


def _pairs(context: Context, relation: str) -> list[object]:
    """The choice of a head, and pairs that it links and does not."""
    layer, head = shown_head(context, relation)
    which = {"best": "the best head", "chosen": "a chosen head"}
    controls: list[object] = [choice("examples", "Links of", which, context.state.examples, 190)]
    controls += (
        head_choices(context.state, context.corpus.layers, context.corpus.heads)
        if context.state.examples == "chosen"
        else []
    )
    return [
        html.H2(f"Pairs that {head_name(layer, head)} links, and pairs that it does not"),
        html.Div(controls, className="controls"),
        deferred(context, EXAMPLES),
    ]


def _examples(context: Context) -> list[object]:
    """Sentences in which the head links a pair, and some in which it does not."""
    state = context.state
    relation, _ = shown_relation(context)
    layer, head = shown_head(context, relation)
    found = examples(context.corpus, relation, state.direction, layer, head)
    share = spell(found.linked / found.pairs, "share") if found.pairs else "none"
    caption = f"{found.linked:,} of {many(found.pairs, 'pair')} ({share}) are linked; the first are shown. "
    return [
        html.P([caption, *_legend(relation)], className="caption pair", role="status"),
        html.Div(
            [
                _pair_table(context, "linked", found.hits, (layer, head)),
                _pair_table(context, "not linked", found.misses, (layer, head)),
            ],
            className="figures halves",
        ),
    ]


_OF_HEAD = ("relation", "direction", "examples", "layer", "head")
RANKED = DeferredPart(
    "ranked",
    "the sentences in which these heads make most links",
    lambda context: ranked_heads(context, shown_relation(context)[0]),
    _OF_HEAD,
    812,
)
EXAMPLES = DeferredPart("examples", "the pairs that the head links", _examples, _OF_HEAD, 380, 720)


def _legend(relation: str) -> list[object]:
    source, target = ends_of(relation)
    marks = {"dependent": source, "governor": target, "attended": "word attended to instead"}
    parts: list[object] = [html.Mark(title, className=name) for name, title in marks.items()]
    return [part for each in parts for part in (", ", each)][1:]


def _pair_table(context: Context, title: str, pairs: tuple[PairExample, ...], head: tuple[int, int]) -> html.Div:
    if not pairs:
        return html.Div(html.P(f"No pair is {title}.", className="caption"))
    rows = [html.Tr(_pair_row(context, pair, *head)) for pair in pairs]
    return html.Div(html.Table([heading(("sentence", title)), html.Tbody(rows)], className="rows pair"))


def _pair_row(context: Context, pair: PairExample, layer: int, head: int) -> list[html.Td]:
    """The sentence with the dependent and the governor marked, and where it is another, the word attended to."""
    href = sentence_link(context, pair.sentence, pair.source, layer, head)
    marks = {pair.attended: "attended", pair.source: "dependent", pair.target: "governor"}
    words = [
        html.Span([html.Mark(word, className=marks[place]) if place in marks else word, " "])
        for place, word in _around(pair)
    ]
    return [html.Td(dcc.Link(str(pair.sentence), href=href), className="number"), html.Td(words, dir="auto")]


def _around(pair: PairExample, beside: int = 6) -> list[tuple[int, str]]:
    """The words from a few before the marked ones to a few after them; an ellipsis where others are left out."""
    first = max(0, min(pair.source, pair.target, pair.attended) - beside)
    last = min(len(pair.words), max(pair.source, pair.target, pair.attended) + beside + 1)
    shown = list(enumerate(pair.words))[first:last]
    before, after = ([(-1, "...")] if cut else [] for cut in (first > 0, last < len(pair.words)))
    return [*before, *shown, *after]


def _table(context: Context, best: tuple[BestHead, ...]) -> list[object]:
    titles = ("relation", "head", "direction", "accuracy", "95% interval", "best offset", "best random head", "pairs")
    numbers = {"accuracy", "95% interval", "best offset", "best random head", "pairs"}
    rows = [html.Tr(_best_row(context, row)) for row in best]
    table = html.Table([heading(titles, numbers), html.Tbody(rows)], className="rows")
    return [
        html.H2(["The best head of each relation", info("the best random head", _RANDOM)]),
        html.P("Chosen on one half of the sentences; shares, in %, and pairs are of the other.", className="caption"),
        scrolling(table, "The best head of each relation"),
        file_links(data_link(context.corpus), "Best heads", "best-heads"),
    ]


def _best_row(context: Context, row: BestHead) -> list[html.Td]:
    state = context.state.with_(relation=row.relation, direction=row.direction, examples="best")
    head = context.state.on("head").with_(layer=row.layer, head=row.head)
    low, high = row.interval
    numbers = [
        f"{100 * row.accuracy:.1f}",
        f"{100 * low:.1f} to {100 * high:.1f}" if low == low else "",
        f"{100 * row.offset_accuracy:.1f} ({signed(row.offset, 0)})",
        f"{100 * row.random:.1f}" if row.random == row.random else "",
        f"{row.pairs:,}",
    ]
    return [
        html.Td([dcc.Link(html.Bdi(row.relation), href=state.href), in_brackets(row.relation)]),
        html.Td(dcc.Link(head_name(row.layer, row.head), href=head.href)),
        html.Td(direction_titles(row.relation)[row.direction]),
        *(html.Td(number, className="number") for number in numbers),
    ]


def _all_relations(context: Context) -> list[object]:
    """Every relation by every head, in the direction of the link."""
    corpus, state = context.corpus, context.state
    cells = corpus.relations.sel(direction=state.direction)
    names = list(map(str, cells.relation.values))
    accuracy: Values = cells.reported_accuracy.values.reshape(len(names), -1)
    above = accuracy - cells.offset_accuracy.values[:, None]
    low, high = cells.interval.transpose("bound", "relation", "layer", "head").values.reshape(2, len(names), -1)
    hover = [
        [
            f"{100 * accuracy[cell]:.1f}% ({100 * low[cell]:.1f} to {100 * high[cell]:.1f}), {signed(100 * above[cell], 1)} points"
            for cell in ((row, column) for column in range(accuracy.shape[1]))
        ]
        for row in range(len(names))
    ]
    return [
        html.H2(f"All relations by all heads: {direction_titles()[state.direction]}"),
        *chart(
            relations_by_heads(names, clear_gains(cells).reshape(above.shape), hover, corpus.heads),
            name="relations",
            caption="Accuracy above the best offset, in points, where all of its interval is above. Click a cell to open the head. ",
            label=f"Accuracy of {accuracy.shape[1]} heads at {len(names)} relations above the best offset",
            of=_over(corpus),
            data=file_href(data_link(context.corpus), "relations.csv"),
            height=70 + 18 * len(names),
            opens=True,
            turns=True,
        ),
    ]


def _profile(context: Context, relation: str) -> list[object]:
    """The shown head at every relation."""
    layer, head = shown_head(context, relation)
    cells = context.corpus.relations.sel(direction=context.state.direction, layer=layer, head=head)
    name = head_name(layer, head)
    figure = relations_of_head(
        list(map(str, cells.relation.values)),
        cells.reported_accuracy.values,
        cells.interval.values,
        cells.offset_accuracy.values,
        cells.random_accuracy.values,
        name,
    )
    return [
        html.H2(f"{name} at every relation"),
        *chart(
            figure,
            name="profile",
            caption=f"{direction_titles()[context.state.direction].capitalize()}; a bar has its 95% interval; circles are the same head with random weights. ",
            label=f"Accuracy of {name} at every relation",
            of=_over(context.corpus),
            height=320,
        ),
    ]


RELATIONS = Topic(
    name="relations",
    title="Relations",
    letter="r",
    docs="statistics.md#relations",
    layout=layout,
    links=PageLinks(stored_sentences=True),
    deferred=(RANKED, EXAMPLES, MARKED),
    routes=(register,),
)

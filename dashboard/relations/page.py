"""Page Relations: heads that link the words of a relation, beside baselines, the sentences in which they do, and the page's files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from flask import Flask, Response, abort, request
from numpy.typing import NDArray

from dashboard.relations.accuracies import (
    NO_PAIR,
    Accuracies,
    all_relations,
    best_of_relations,
    head_at_relations,
    heads_at_relation,
    ranked_heads,
    ranking_title,
    read_accuracies,
    read_ranked,
)
from dashboard.relations.data import (
    NO_OTHER,
    Examples,
    PairExample,
    best_of,
    direction_titles,
    ends_of,
    examples,
    links_of,
    shown_head,
    shown_relation,
)
from dashboard.relations.example import MARKED, Marking, by_example, read_marking
from dashboard.relations.found_words import (
    ANTECEDENTS,
    GOVERNORS,
    Antecedents,
    Governors,
    antecedents,
    coreference_table,
    governors,
    read_antecedents,
    read_governors,
)
from dashboard.relations.hypothesis_table import HYPOTHESIS, OWN, OwnHypothesis, own_hypothesis, read_own
from dashboard.relations.hypothesis_table import register as register_hypothesis
from dashboard.statistics.data import head_columns
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.controls import choice, explained, head_choices, info
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.glossary import term
from dashboard.ui.markup import Page, Unmade, heading
from dashboard.ui.text import first_of, has_part, in_brackets, naming, sight, spell
from dashboard.web.context import Context
from dashboard.web.http import BASE, corpus_of
from dashboard.web.paths import PageLinks
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, StoreError
from store.kernels.relations import DIRECTIONS
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.corpus import ALL
from store.schema.model import head_name

_ACCURACY = (
    "Share of the pairs of a dependent and its governor that a head links: of all other words of the sentence, the first "
    "attends most to the second. Attention to a word is the sum over its wordpieces, from a word their mean; [CLS] and [SEP] "
    "are no words; pairs of punctuation and of the root are left out (Clark et al. 2019, section 4). Every second sentence of "
    "the corpus chooses the best head, the others are reported. The third direction compares all words that attend to the "
    "dependent, as Clark's head <- dependent."
)
_PATTERN = (
    "A label such as dobj, or two ends with -> between them: the pairs of words that a dependency joins in either direction. An "
    "end is a part of speech (ADJ), a tag (VBD), a kind of entity (PERSON), a lemma (not), or * for any word."
)


@dataclass(frozen=True)
class RelationsPage:
    """What the page shows of a corpus with relations.

    Attributes
    ----------
    layers, heads
        Numbers of layers and heads of the model.
    how, about
        In words: what a link is and where the grammar comes from; and how accuracies are counted.
    pairs
        Relation -> its number of reported pairs.
    marking
        The words that a reader can mark, and the marked pairs.
    ranked, examples, marked
        Parts that may be computed after the page; `marked` is None where no pair is marked.
    governors, antecedents
        Governors and antecedents found from attention alone.
    """

    state: LinkState
    layers: int
    heads: int
    how: list[object]
    about: str
    pairs: dict[str, int]
    accuracies: Accuracies
    marking: Marking
    ranked: html.Div
    examples: html.Div
    marked: html.Div | None
    governors: Governors | Unmade | None
    antecedents: Antecedents | Unmade
    own: OwnHypothesis
    notices: tuple[str, ...]


@dataclass(frozen=True)
class WithoutRelations:
    """What the page shows of a corpus without relations: how to get relations, and a reader's own hypothesis."""

    missing: Unmade
    own: OwnHypothesis


def read(context: Context) -> RelationsPage | WithoutRelations:
    """What the page shows at a link; where the corpus has no relations, how to get relations."""
    corpus, state = context.corpus, context.state
    try:
        relation, notices = shown_relation(corpus, state.relation)
        accuracies = read_accuracies(corpus, state, relation)
    except NotIngested as error:
        return WithoutRelations(Unmade.of(error, context.ingest), read_own(context))
    marking, counted = read_marking(corpus, state), corpus.relations
    return RelationsPage(
        state=state,
        layers=corpus.layers,
        heads=corpus.heads,
        how=_how_to_read(corpus),
        about=f"{_ACCURACY} {_counted(corpus)}",
        pairs=dict(zip(map(str, counted.relation.values), map(int, counted.pairs.values[1]), strict=True)),
        accuracies=accuracies,
        marking=marking,
        ranked=deferred(context, RANKED),
        examples=deferred(context, EXAMPLES),
        marked=deferred(context, MARKED) if marking.pairs else None,
        governors=read_governors(corpus, context.ingest),
        antecedents=read_antecedents(corpus, context.ingest),
        own=read_own(context),
        notices=notices,
    )


def draw(shown: RelationsPage | WithoutRelations) -> Page:
    """The page; where the corpus has no relations, how to get relations."""
    title = html.H1("Relations between words")
    if isinstance(shown, WithoutRelations):
        alert = dmc.Alert(shown.missing.text, color="blue", variant="light")
        return Page(above=[title, alert, *own_hypothesis(shown.own)])
    state, accuracies = shown.state, shown.accuracies
    return Page(
        above=[
            title,
            html.P([*shown.how, info("accuracy", shown.about)], className="how-to-read"),
            html.P(_below(state, shown.governors is not None), className="caption"),
            html.Div(_controls(shown), className="controls"),
            *heads_at_relation(accuracies),
            *([*_ranking(shown), *_pairs(shown)] if accuracies.is_reported else []),
            *by_example(state, shown.marking, shown.marked),
            *own_hypothesis(shown.own),
            *best_of_relations(state, accuracies),
            *all_relations(accuracies),
            *head_at_relations(accuracies),
            *governors(shown.governors),
            *antecedents(shown.antecedents, state),
        ],
        notices=shown.notices,
    )


def _below(state: LinkState, has_governors: bool) -> list[str | dcc.Link]:
    """Links to the sections below those of the relation."""
    titles = {OWN: "your own hypothesis", GOVERNORS: "governors from attention (UAS)", ANTECEDENTS: "coreference"}
    own, governed, referred = (dcc.Link(title, href=f"{state.href}#{place}") for place, title in titles.items())
    return ["Below: ", own, ", ", *([governed, ", "] if has_governors else []), referred, "."]


def _how_to_read(corpus: Corpus) -> list[object]:
    counted = f" Counted in {first_of(corpus, 'sentence')}." if has_part(corpus) else ""
    governor, kind = term("governor", "word it depends on"), term("silver", corpus.words.kind)
    found = ["A head finds a link where a word attends most to the ", governor, ", or the reverse."]
    return [*found, " Grammar: ", kind, f".{counted}{sight(corpus)}"]


def _counted(corpus: Corpus) -> str:
    """The annotation behind the accuracies and their number of pairs, as a sentence."""
    pairs, reported = (int(count) for count in corpus.relations.pairs.sel(relation=ALL).values)
    return (
        f"{corpus.words.source.capitalize()}: {many(pairs + reported, 'pair')} in {first_of(corpus, 'sentence')}; "
        f"numbers are of the {many(reported, 'pair')} in every second sentence."
    )


def _controls(shown: RelationsPage) -> list[object]:
    state, relation = shown.state, shown.accuracies.relation
    labels = {name: f"{name}{in_brackets(name)}, {many(count, 'pair')}" for name, count in shown.pairs.items()}
    pattern = dmc.TextInput(
        id={"choose": "relation", "by": "pattern"},
        label="or your own pattern",
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
            230,
            of_data=True,
        ),
        explained(pattern, info("patterns", _PATTERN)),
        choice("direction", "Direction", direction_titles(relation), state.direction, 270),
    ]


def _ranking(shown: RelationsPage) -> list[object]:
    """The section of the first heads at the relation."""
    relation, has_choice = shown.accuracies.relation, shown.accuracies.has_choice
    title = ranking_title(relation, has_choice=has_choice)
    return [html.H3(naming(title, relation if relation != ALL else "")), shown.ranked]


def _pairs(shown: RelationsPage) -> list[object]:
    """The section with the choice of a head, pairs that it links, and pairs that it does not link."""
    state = shown.state
    best = "the best head" if shown.accuracies.has_choice else "the first head"
    which = {"best": best, "chosen": "a chosen head"}
    controls: list[object] = [choice("examples", "Links of", which, state.examples, 190)]
    controls += head_choices(state, shown.layers, shown.heads) if state.examples == "chosen" else []
    return [
        html.H2(f"Pairs that {head_name(*shown.accuracies.head)} links, and pairs that it does not"),
        html.Div(controls, className="controls"),
        shown.examples,
    ]


@dataclass(frozen=True)
class HeadExamples:
    """Pairs of a relation that a head links, and some that it does not link."""

    relation: str
    head: tuple[int, int]
    found: Examples


def read_examples(corpus: Corpus, state: LinkState) -> HeadExamples:
    """Example pairs of the shown head."""
    relation, _ = shown_relation(corpus, state.relation)
    head = shown_head(corpus, state, relation)
    return HeadExamples(relation, head, examples(corpus, relation, state.direction, *head))


def draw_examples(state: LinkState, shown: HeadExamples) -> list[object]:
    """Tables of sentences: the head links a pair in the first table, and does not link it in the second."""
    found = shown.found
    if not found.pairs:
        return [html.P(NO_PAIR, className="caption", role="status")]
    share = spell(found.linked / found.pairs, "share")
    caption = f"{found.linked:,} of {many(found.pairs, 'pair')} ({share}) are linked; the first are shown. "
    return [
        html.P([caption, *_legend(shown.relation)], className="caption pair", role="status"),
        html.Div(
            [
                _pair_table(state, "linked", found.hits, shown.head),
                _pair_table(state, "not linked", found.misses, shown.head),
            ],
            className="figures halves",
        ),
    ]


_OF_HEAD = ("relation", "direction", "examples", "layer", "head")
RANKED = DeferredPart(
    "ranked",
    "the sentences where these heads find the most links",
    lambda context: ranked_heads(context.state, read_ranked(context.corpus, context.state)),
    _OF_HEAD,
    812,
    1010,
    middle=812,
)
EXAMPLES = DeferredPart(
    "examples",
    "the pairs that the head links",
    lambda context: draw_examples(context.state, read_examples(context.corpus, context.state)),
    _OF_HEAD,
    380,
    1010,
    middle=630,
)


def _legend(relation: str) -> list[object]:
    source, target = ends_of(relation)
    marks = {"dependent": source, "governor": target, "attended": "word attended to instead"}
    parts: list[object] = [html.Mark(title, className=name) for name, title in marks.items()]
    return [part for each in parts for part in (", ", each)][1:]


def _pair_table(state: LinkState, title: str, pairs: tuple[PairExample, ...], head: tuple[int, int]) -> html.Div:
    if not pairs:
        return html.Div(html.P(f"No pair is {title}.", className="caption"))
    rows = [html.Tr(_pair_row(state, pair, head)) for pair in pairs]
    return html.Div(html.Table([heading(("sentence", title)), html.Tbody(rows)], className="rows pair"))


def _pair_row(state: LinkState, pair: PairExample, head: tuple[int, int]) -> list[html.Td]:
    """The sentence with the dependent and the governor marked; also the attended word where it is another word."""
    href = pair.place.href(state, head)
    marks = {pair.attended: "attended", pair.source: "dependent", pair.target: "governor"}
    words = [
        html.Span([html.Mark(word, className=marks[place]) if place in marks and place != NO_OTHER else word, " "])
        for place, word in _around(pair)
    ]
    return [html.Td(dcc.Link(str(pair.sentence), href=href), className="number"), html.Td(words, dir="auto")]


def _around(pair: PairExample, beside: int = 6) -> list[tuple[int, str]]:
    """The marked words and `beside` words on each side, with indices; an ellipsis stands for words left out."""
    marked = [place for place in (pair.source, pair.target, pair.attended) if place != NO_OTHER]
    first = max(0, min(marked) - beside)
    last = min(len(pair.words), max(marked) + beside + 1)
    shown = list(enumerate(pair.words))[first:last]
    before, after = ([(NO_OTHER, "...")] if cut else [] for cut in (first > 0, last < len(pair.words)))
    return [*before, *shown, *after]


#: Characters of a relation's name that its file name replaces.
_OTHER = re.compile(r"[^A-Za-z0-9_.]+")


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""

    @server.get(f"{BASE}/relations.{FORM}")
    def relations(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        names = [str(name) for name in corpus.relations.relation.values]
        parts = (_heads_table(corpus, name, direction) for name in names for direction in DIRECTIONS)
        return file(parts, "relations", form)

    @server.get(f"{BASE}/relation.{FORM}")
    def relation(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        name, direction = request.args.get("relation", ""), request.args.get("direction", "forward")
        if direction not in DIRECTIONS:
            abort(404, f"There is no direction “{direction[:40]}”. Choose one of {', '.join(DIRECTIONS)}.")
        try:
            links_of(corpus, name)
        except StoreError as error:
            abort(404, str(error))
        return file(
            iter([_heads_table(corpus, name, direction)]), f"relation-{_OTHER.sub('-', name)}-{direction}", form
        )

    @server.get(f"{BASE}/best-heads.{FORM}")
    def best_heads(snapshot: str, model: str, form: str) -> Response:
        return file(iter([_best_table(corpus_of(served_store, snapshot, model))]), "best-heads", form)

    @server.get(f"{BASE}/uas.{FORM}")
    def uas(snapshot: str, model: str, form: str) -> Response:
        return file(iter([_uas_table(corpus_of(served_store, snapshot, model))]), "uas", form)

    @server.get(f"{BASE}/coreference.{FORM}")
    def coreference(snapshot: str, model: str, form: str) -> Response:
        return file(iter([coreference_table(corpus_of(served_store, snapshot, model))]), "coreference", form)


def _heads_table(corpus: Corpus, relation: str, direction: str) -> Table:
    """A row for every head at one relation in one direction."""
    cell = links_of(corpus, relation).sel(direction=direction)
    heads = corpus.layers * corpus.heads
    low, high = cell.interval.values
    return {
        "relation": np.full(heads, relation, object),
        "direction": np.full(heads, direction, object),
        **head_columns(corpus.layers, corpus.heads),
        "accuracy": cell.reported_accuracy.values.ravel(),
        "interval_low": low.ravel(),
        "interval_high": high.ravel(),
        "pairs": np.full(heads, int(cell.pairs[1])),
        "offset": np.full(heads, float(cell.offset) if cell.pairs[0] > 0 else np.nan),
        "offset_accuracy": np.full(heads, float(cell.offset_accuracy)),
        "same_head_random_accuracy": cell.random_accuracy.values.ravel(),
    }


def _best_table(corpus: Corpus) -> Table:
    rows = [row for row in best_of(corpus) if row.is_chosen]
    columns: Mapping[str, NDArray[np.generic]] = {
        name: np.array([getattr(row, name) for row in rows], object if name in ("relation", "direction") else None)
        for name in (
            "relation",
            "direction",
            "layer",
            "head",
            "accuracy",
            "offset",
            "offset_accuracy",
            "pairs",
        )
    }
    low, high = np.array([row.interval for row in rows]).T
    random = np.array([row.random for row in rows])
    return {**columns, "best_random_head_accuracy": random, "interval_low": low, "interval_high": high}


def _uas_table(corpus: Corpus) -> Table:
    """A row for every method and decoding with a UAS."""
    cells = corpus.uas.stack(cell=("approach", "decoding")).dropna("cell", subset=["uas"])
    low, high = cells.interval.transpose("bound", "cell").values
    return {
        "method": cells.approach.values.astype(object),
        "decoding": cells.decoding.values.astype(object),
        "uas": cells.uas.values,
        "interval_low": low,
        "interval_high": high,
    }


RELATIONS = Topic(
    name="relations",
    title="Relations",
    letter="r",
    docs="statistics.md#relations",
    layout=read_then_draw(read, draw),
    links=PageLinks(stored_sentences=True),
    deferred=(RANKED, EXAMPLES, MARKED, HYPOTHESIS),
    routes=(register, register_hypothesis),
)

"""Page Compare: two models of the store on the same corpus, their heads, pictures and sentences side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.spec import Picture
from dashboard.compare.data import linked_changes, most_different, statistic_of
from dashboard.compare.feature_points import (
    SIMILARITY,
    BothFeatures,
    ShownPoint,
    below_point,
    both_features,
    no_points,
    picture_of_point,
    point_controls,
    similarity_panel,
    valid_selection,
)
from dashboard.compare.head_differences import (
    CHANGES,
    changed_heads,
    changed_most,
    differences,
    largest_changes,
    means_over_heads,
    relations_of_both,
)
from dashboard.compare.matching import ABOUT_MATCHING, matching_heads
from dashboard.compare.routes import register
from dashboard.compare.sentences import (
    DIVERGENCE,
    most_read,
    patterns,
    ranked_by,
    search_in_both,
    sentence_href,
    sentence_title,
    standard_ranking,
    typed_choices,
    typed_patterns,
    typed_sentences,
)
from dashboard.compare.two_models import (
    ModelPair,
    badge,
    below_head,
    both_picture,
    head_controls,
    head_notices,
    marked,
    no_view,
    pair_of,
    pictures_of,
    read_head,
    shown_view,
    unlike,
)
from dashboard.points.shown import ShownPoints
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.finder import finder
from dashboard.statistics.heads import special_statistic
from dashboard.topic import Topic
from dashboard.ui.controls import action, choice, info, statistic_choice
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.markup import Page, unmade
from dashboard.ui.text import QUERIES, naming
from dashboard.web.bounds import compared_model, on_same_corpus
from dashboard.web.context import Context
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.paths import PageLinks
from dashboard.web.state import DEFAULTS, LinkState
from store import STATISTICS, Corpus, Snapshot
from store.phrases import many
from store.repository.ingest_status import IngestProgress
from store.schema.model import head_name, varying_statistics

#: Kinds of pictures.
PICTURES = {"head": "a head", "point": "a place in the model"}
TITLE = "Two models on one corpus"
SHORT_FINETUNING = (
    "`headscape finetune --first=1600 --max-length=128`, then `headscape ingest --model=data/finetuned`. "
    "In a clone `make compare` does both, in about 6 minutes on two fast cores."
)
MAKE_SECOND_MODEL = f"Run {SHORT_FINETUNING}"
MAKE_IT_AFTERWARDS = f"If that ingest is not of a second model, add one when it has ended: {SHORT_FINETUNING}"
#: What a reader has chosen who comes to the page with it.
_CHOSEN = {"layer", "head", "statistic", "sentence", "text", "other", "point", "pictures"}
_LARGEST = (
    "Of all statistics of all heads the one with the largest difference between the models, in standard deviations among the heads of A: "
    "the page opens on it where the link names no head."
)
RANKED = {"divergence": "attention divergence", "statistic": "difference of the statistic"}


@dataclass(frozen=True)
class Compared:
    """What the page shows of two models.

    Attributes
    ----------
    of_point
        Whether the pictures are of a feature point, not of a head.
    head, features, point
        The points of the pictures of a head, feature points of both models, and the one of the pictures: None where the models do
        not both have such.
    """

    state: LinkState
    two: ModelPair
    of_point: bool
    head: ShownPoints | None
    features: BothFeatures | None
    point: ShownPoint | None
    ingest: IngestProgress | None

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices on what of the link is ignored."""
        if self.of_point:
            return self.point.notices(self.two.names[1]) if self.point else ()
        return head_notices(self.state, self.two, self.head, self.ingest)


def read(context: Context, two: ModelPair) -> Compared:
    """What the page and its picture show of two models."""
    of_point = pictures_of(context.state, two) == "point"
    head = None if of_point else read_head(context, two)
    point = ShownPoint.of(context, two) if of_point else None
    return Compared(context.state, two, of_point, head, both_features(two), point, context.ingest)


def with_largest_change(context: Context) -> Context:
    """The context of the page as it opens: a bare link shows the head and the statistic in which the models differ most."""
    opened = opened_state(context) if context.bare else None
    return context if opened is None else replace(context, state=opened, completed=True)


def opened_state(context: Context) -> LinkState | None:
    """The state of the page as it opens; None without a second model with the same heads."""
    two = pair_of(context)
    if two is None or not two.same_heads:
        return None
    layer, head, statistic = most_different(two)
    return context.state.on("compare").with_(layer=layer, head=head, statistic=statistic)


def compare_href(context: Context) -> str:
    """The link of the navigation: as the page opens, where neither head, nor statistic, nor sentence is chosen."""
    state = context.state.on("compare")
    if context.state.page in ("compare", "head") or state.chosen & _CHOSEN:
        return state.href
    opened = opened_state(context) if state.chosen else None
    return opened.href if opened else state.bare_href if not state.chosen else state.href


def choices(context: Context) -> tuple[dict[str, object], dict[str, object]]:
    """The values of the controls and their defaults; empty without a second model."""
    two = pair_of(context)
    if two is None:
        return {}, {}
    current: dict[str, object] = {"other": two.other.name, "statistic": statistic_of(context.state, two)}
    other, standard = on_same_corpus(context.snapshot, context.corpus)[0], special_statistic(two.own)
    defaults: dict[str, object] = {"other": other, "statistic": standard}
    if two.same_heads:
        current["by"], defaults["by"] = ranked_by(context.state, two), standard_ranking(two)
    if view := shown_view(context.state, two):
        current["view"] = view
    if features := ShownPoint.of(context, two):
        current |= {"point": features.point, "fview": features.view, "fcolour": features.shown.colour.name}
        defaults |= {"point": features.both.points[-1], "fview": features.both.own.views[0]}
    return current, defaults


def above_pictures(compared: Compared) -> list[object]:
    """Title, controls and legend of the pictures, or why there are none."""
    controls, below = _controls(compared)
    kinds = [choice("pictures", "Pictures of", PICTURES, compared.state.pictures, 130)]
    title = html.H2("Pictures in both models", id="pictures-of-both")
    of = kinds if compared.two.same_heads else []
    return [title, html.Div([*of, *controls], className="controls"), *below]


def _controls(compared: Compared) -> tuple[list[Any], list[Any]]:
    """The controls of the pictures, and what is below them."""
    state, two, ingest = compared.state, compared.two, compared.ingest
    if compared.of_point:
        return point_controls(two, compared.point) if compared.point else ([], no_points(compared.features, ingest))
    return head_controls(two, compared.head) if compared.head else no_view(state, two, ingest)


def _below_pictures(compared: Compared) -> list[object]:
    """Captions of the pictures: sample, alignment and fidelity."""
    if compared.point:
        return below_point(compared.two, compared.point)
    return below_head(compared.two, compared.head) if compared.head else []


def picture(context: Context) -> Picture | None:
    """The picture of both models; None where they do not both have one."""
    two = pair_of(context)
    if two is None or not context.corpus.views:
        return None
    compared = read(context, two)
    if compared.point:
        return picture_of_point(two, compared.point)
    return both_picture(two, compared.head) if compared.head else None


def layout(context: Context) -> Page:
    """The page of a link."""
    two = pair_of(context)
    if two is None:
        return _without_other(context)
    compared, state = read(context, two), context.state
    others = {name: context.snapshot.titles[name] for name in on_same_corpus(context.snapshot, context.corpus)}
    above = [
        html.H1(TITLE),
        _model_choice(state, two, others),
        *_unlike(context),
        *[html.P(naming(text, *two.names), className="caption") for text in two.accuracies()],
        *_opened_on(state, two),
        largest_changes(deferred(context, LARGEST, ready=None if two.same_heads else True)),
        *[dmc.Alert(text, color="orange", variant="light", mb="sm") for text in two.differences()],
        *(_heads(state, two, deferred(context, CHANGED)) if two.same_heads else _means(state, two)),
        *above_pictures(compared),
    ]
    below = [
        *_below_pictures(compared),
        html.H2(["Matching heads", info("matching heads", ABOUT_MATCHING)]),
        deferred(context, MATCHING),
        deferred(context, RELATIONS_OF_BOTH, ready=None if two.own.has_words and two.other.has_words else True),
        *(_sentences(context, two) if two.same_heads else []),
        html.H2(["Places in both models", info("CKA and cosine", SIMILARITY)]),
        deferred(context, SIMILAR_POINTS, ready=True if compared.features is None else None),
    ]
    return Page(above=above, below=below, notices=compared.notices)


def _opened_on(state: LinkState, two: ModelPair) -> list[object]:
    """Why the page opened on what it shows; an empty line on another head or statistic, so that a choice moves nothing."""
    if not two.same_heads:
        return []
    is_largest = (state.layer, state.head, statistic_of(state, two)) == most_different(two)
    return [html.P(_largest_difference(state, two) if is_largest else None, className="caption one-row")]


def _largest_difference(state: LinkState, two: ModelPair) -> list[Any]:
    name, title = head_name(state.layer, state.head), STATISTICS[statistic_of(state, two)].title
    return [f"The statistic in which a head differs most: {title} of {name}.", info("the largest difference", _LARGEST)]


def deferred_typed(context: Context) -> list[object]:
    """The typed sentence in both models, or why one of them cannot run it."""
    two, text = pair_of(context), context.state.text
    if not (two and two.same_heads and text):
        return []
    try:
        sentences = typed_sentences(context.served_store, two, text)
    except ReaderLeft:
        raise
    except Refusal as refusal:
        return [html.P(str(refusal), role="status")]
    return typed_patterns(context.state, two, sentences)


def deferred_changes(context: Context) -> list[object]:
    """The heads that changed most."""
    two = pair_of(context)
    return changed_heads(context.state, two, linked_changes(context.state, two)) if two and two.same_heads else []


def deferred_matching(context: Context) -> list[object]:
    """The heads of one model with their partners in the other."""
    two = pair_of(context)
    return matching_heads(context.state, two) if two else []


def deferred_relations(context: Context) -> list[object]:
    """The relations of both models."""
    two = pair_of(context)
    return relations_of_both(context.state, two) if two else []


def deferred_similarity(context: Context) -> list[object]:
    """The similarity of the feature points."""
    two = pair_of(context)
    return similarity_panel(two, both_features(two), context.ingest) if two else []


def deferred_sentences(context: Context) -> list[object]:
    """The sentences in which the head of the link changed most, or those of a search."""
    two = pair_of(context)
    return finder(two.own, context.state, search_in_both(context.state, two)) if two and two.same_heads else []


def deferred_largest(context: Context) -> list[object]:
    """The three largest changes."""
    two = pair_of(context)
    return changed_most(context.state, two) if two else []


CHANGED = DeferredPart(
    "changes", "divergences and their intervals", deferred_changes, ("statistic", "source"), 920, 2940, middle=1126
)
LARGEST = DeferredPart("largest", "the largest changes", deferred_largest, ("statistic", "source"), 36, shape="lines")
MATCHING = DeferredPart("matching", "the divergence of every two heads of both models", deferred_matching, (), 480)
RELATIONS_OF_BOTH = DeferredPart(
    "relations-of-both", "the relations of both models", deferred_relations, ("relation", "direction", "examples"), 540
)
SENTENCES = DeferredPart(
    "sentences",
    "the divergence of the head in every sentence",
    deferred_sentences,
    ("layer", "head", "by", "first", "find", "labelled", "fewest", "most"),
    520,
    middle=600,
)
SIMILAR_POINTS = DeferredPart(
    "points", "the similarity of vectors at every place", deferred_similarity, (), 420, middle=360, shape="box"
)
TYPED = DeferredPart("typed", "this sentence, once both models are loaded", deferred_typed, ("text",), 760, shape="box")


def _without_other(context: Context) -> Page:
    """Why there is nothing to compare with, and how to get a second model."""
    name, why = context.corpus.title, not_comparable(context.snapshot, context.corpus)
    missing = (
        f"The store has one model on this corpus, {name}. {' '.join(why.values())} Add a second one with the same tokenizer, on "
        "the same sentences: for instance this model, fine-tuned on the labels of a few reviews."
    )
    said: list[Any] = unmade(context.ingest, missing.replace("  ", " "), MAKE_SECOND_MODEL, MAKE_IT_AFTERWARDS)
    text = html.P([*naming(said[0], name, *why), *said[1:]])
    return Page(above=[html.H1(TITLE), dmc.Alert(text, color="blue", variant="light", id="no-other")])


def not_comparable(snapshot: Snapshot, corpus: Corpus) -> dict[str, str]:
    """Titles of the models that were not run on the tokens of `corpus`, each with a sentence that says why."""
    others = (snapshot.corpus(name) for name in snapshot.models)
    return {
        other.title: unlike(corpus, other)
        for other in others
        if other.attributes["corpus"] != corpus.attributes["corpus"]
    }


def _unlike(context: Context) -> list[object]:
    """How many models of the store are not offered, and why; nothing where all are."""
    sentences = not_comparable(context.snapshot, context.corpus)
    if not sentences:
        return []
    count = f"Not offered: {many(len(sentences), 'model')} of the store on other tokens."
    return [html.P([count, info("models that are not offered", " ".join(sentences.values()))], className="caption")]


def _sentences(context: Context, two: ModelPair) -> list[object]:
    """The typed sentence, or that of the link, in both models, and the search for others."""
    state = context.state
    ready = None if ranked_by(state, two) == DIVERGENCE else True
    search = [html.H3("Find a sentence"), deferred(context, SENTENCES, ready=ready)]
    if not state.text:
        return [*patterns(state, two), *search]
    typed, text = context.served_store.service(TypedSentences), state.text
    is_encoded = all(typed.is_encoded(model, text, most=most_read(two)) for model in (two.own, two.other))
    back = sentence_href(state, state.sentence)
    return [
        sentence_title(state),
        html.Div(typed_choices(state, two), className="controls"),
        deferred(context, TYPED, ready=is_encoded),
        html.P(dcc.Link("Back to the sentences of the corpus", href=back), className="caption"),
        *search,
    ]


def _model_choice(state: LinkState, two: ModelPair, others: Mapping[str, str]) -> html.Div:
    """The choice of the other model by its title, the names of both, and a link that swaps them."""
    of_heads = {} if two.same_heads else {name: DEFAULTS[name] for name in ("layer", "head", "heads", "view")}
    swapped = state.with_(model=two.other.name, other=two.own.name, **of_heads)
    return html.Div(
        [
            marked(two, 0),
            html.Div(
                [badge(1), choice("other", "Model B", others, two.other.name, 300, of_data=True)], className="model-b"
            ),
            action("Swap A and B", swapped.href),
        ],
        className="controls which",
    )


def _means(state: LinkState, two: ModelPair) -> list[object]:
    """Where heads have no counterparts: the means over all."""
    instead = html.P("Below are means over all heads, matching heads, and places in the model.", className="caption")
    controls = html.Div(_source(state), className="controls")
    return [instead, html.H2("Means over all heads"), controls, means_over_heads(state, two)]


def _heads(state: LinkState, two: ModelPair, changed: html.Div) -> list[object]:
    return [
        html.H2(["Heads that changed most", info("heads that changed most", CHANGES)]),
        _choices(state, two),
        changed,
        html.H2("Differences of every head"),
        *differences(state, two),
        means_over_heads(state, two),
    ]


def _choices(state: LinkState, two: ModelPair) -> html.Div:
    statistics = {name: STATISTICS[name].title for name in varying_statistics(state.source)}
    return html.Div(
        [
            choice("ranked", "Ranked by", RANKED, state.ranked, 210),
            statistic_choice("statistic", "Statistic", statistics, statistic_of(state, two), 230),
            _source(state),
        ],
        className="controls",
    )


def _source(state: LinkState) -> dmc.Select:
    return choice("source", "Mean over", QUERIES, state.source, 160)


COMPARE = Topic(
    name="compare",
    title="Compare",
    letter="c",
    docs="links.md#compare",
    layout=layout,
    links=PageLinks(
        always=frozenset({"layer"}),
        stored_sentences=True,
        sample=True,
        other_models=on_same_corpus,
        other_models_are="on the same corpus",
        second_model=lambda snapshot, corpus, state: compared_model(snapshot, corpus, state.other),
    ),
    open=with_largest_change,
    href=compare_href,
    choices=choices,
    selection=valid_selection,
    picture=picture,
    deferred=(CHANGED, LARGEST, MATCHING, RELATIONS_OF_BOTH, SENTENCES, SIMILAR_POINTS, TYPED),
    routes=(register,),
)

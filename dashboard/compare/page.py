"""Page Compare: two models of the store on the same corpus, their heads, pictures and sentences side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.spec import Picture
from dashboard.compare.data import most_different, statistic_of
from dashboard.compare.feature_points import (
    SIMILARITY,
    BothFeatures,
    ShownPoint,
    below_point,
    both_features,
    no_points,
    picture_of_point,
    point_controls,
)
from dashboard.compare.head_differences import (
    CHANGES,
    differences,
    largest_changes,
    means_over_heads,
)
from dashboard.compare.matching import ABOUT_MATCHING
from dashboard.compare.parts import (
    CHANGED,
    LARGEST,
    MATCHING,
    RELATIONS_OF_BOTH,
    SENTENCES,
    SIMILAR_POINTS,
    TYPED,
    parts_of,
    read_pair,
)
from dashboard.compare.routes import register
from dashboard.compare.sentences import (
    patterns,
    ranked_by,
    sentence_href,
    sentence_title,
    standard_ranking,
    typed_choices,
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
from dashboard.points.shown import ShownPoints, valid_fields
from dashboard.sentence.encoder import TypedSentences
from dashboard.statistics.heads import special_statistic
from dashboard.topic import Choices, Topic, read_then_draw
from dashboard.ui.controls import action, choice, info, statistic_choice
from dashboard.ui.deferred import deferred
from dashboard.ui.markup import Page, unmade
from dashboard.ui.text import QUERIES, naming
from dashboard.web.bounds import compared_model, on_same_corpus
from dashboard.web.context import Context
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
#: Fields of a link that a reader has chosen: with one of them the page does not open on the largest change.
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
    others, unlike
        Titles of the models that can be compared, by their keys; and sentences on those that cannot, by their titles.
    of_point
        Whether the pictures are of a feature point, not of a head.
    head, features, chosen_point
        The points of the pictures of a head, feature points of both models, and the feature point of the link: None where the
        models do not both have them.
    later
        The parts that may be computed after the page, by their names.
    """

    state: LinkState
    two: ModelPair
    others: Mapping[str, str]
    unlike: Mapping[str, str]
    of_point: bool
    head: ShownPoints | None
    features: BothFeatures | None
    chosen_point: ShownPoint | None
    later: Mapping[str, html.Div]
    ingest: IngestProgress | None

    @property
    def point(self) -> ShownPoint | None:
        """The feature point of the pictures; None where they are of a head."""
        return self.chosen_point if self.of_point else None

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices on the parts of the link that are ignored."""
        if self.of_point:
            return self.point.notices(self.two.names[1]) if self.point else ()
        return head_notices(self.state, self.two, self.head, self.ingest)


@dataclass(frozen=True)
class NoOther:
    """What the page shows where there is nothing to compare with; `unlike` are sentences on the models that cannot be compared."""

    state: LinkState
    corpus: Corpus
    unlike: Mapping[str, str]
    ingest: IngestProgress | None


def read(context: Context) -> Compared | NoOther:
    """What the page and its picture show of two models."""
    snapshot, corpus, state, two = context.snapshot, context.corpus, context.state, read_pair(context)
    if two is None:
        return NoOther(state, corpus, not_comparable(snapshot, corpus), context.ingest)
    of_point, features = pictures_of(state, two) == "point", both_features(two)
    parts = parts_of(state, two, features, context.served_store.service(TypedSentences))
    return Compared(
        state=state,
        two=two,
        others={name: snapshot.titles[name] for name in on_same_corpus(snapshot, corpus)},
        unlike=not_comparable(snapshot, corpus),
        of_point=of_point,
        head=None if of_point else read_head(context, two),
        features=features,
        chosen_point=ShownPoint.of(context, two),
        later={part.name: deferred(context, part, ready=ready) for part, ready in parts.items()},
        ingest=context.ingest,
    )


def opened_state(snapshot: Snapshot, corpus: Corpus, state: LinkState) -> LinkState | None:
    """The state of the page as it opens, on the largest change; None without a second model with the same heads."""
    two = pair_of(snapshot, corpus, state)
    if two is None or not two.same_heads:
        return None
    layer, head, statistic = most_different(two)
    return state.on("compare").with_(layer=layer, head=head, statistic=statistic)


def compare_href(snapshot: Snapshot, corpus: Corpus, state: LinkState) -> str:
    """The link in the navigation: to the largest change, where neither head, nor statistic, nor sentence is chosen."""
    own = state.on("compare")
    if state.page in ("compare", "head") or own.chosen & _CHOSEN:
        return own.href
    opened = opened_state(snapshot, corpus, state) if own.chosen else None
    return opened.href if opened else own.bare_href if not own.chosen else own.href


def choices(compared: Compared | NoOther) -> Choices:
    """The values of the controls and their defaults; empty without a second model."""
    if isinstance(compared, NoOther):
        return {}, {}
    state, two = compared.state, compared.two
    current: dict[str, object] = {"other": two.other.name, "statistic": statistic_of(state, two)}
    defaults: dict[str, object] = {"other": next(iter(compared.others)), "statistic": special_statistic(two.own)}
    if two.same_heads:
        current["by"], defaults["by"] = ranked_by(state, two), standard_ranking(two)
    if view := shown_view(state, two):
        current["view"] = view
    if features := compared.chosen_point:
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


def picture(compared: Compared | NoOther) -> Picture | None:
    """The picture of both models; None where they do not both have a picture."""
    if isinstance(compared, NoOther) or not compared.two.own.views:
        return None
    if compared.point:
        return picture_of_point(compared.two, compared.point)
    return both_picture(compared.two, compared.head) if compared.head else None


def valid_selection(compared: Compared | NoOther) -> dict[str, object]:
    """The valid fields of a link that select what its pictures show: tokens at a feature point, or queries and keys."""
    if isinstance(compared, NoOther):
        return valid_fields(compared.corpus, compared.state)
    return compared.point.shown.valid_fields if compared.point else valid_fields(compared.two.own, compared.state)


def draw(compared: Compared | NoOther) -> Page:
    """The page of a link."""
    if isinstance(compared, NoOther):
        return _without_other(compared)
    state, two, later = compared.state, compared.two, compared.later
    above = [
        html.H1(TITLE),
        _model_choice(state, two, compared.others),
        *_unlike(compared.unlike),
        *[html.P(naming(text, *two.names), className="caption") for text in two.accuracies()],
        *_opened_on(state, two),
        largest_changes(later[LARGEST.name]),
        *[dmc.Alert(text, color="orange", variant="light", mb="sm") for text in two.differences()],
        *(_heads(state, two, later[CHANGED.name]) if two.same_heads else _means(state, two)),
        *above_pictures(compared),
    ]
    below = [
        *_below_pictures(compared),
        html.H2(["Matching heads", info("matching heads", ABOUT_MATCHING)]),
        later[MATCHING.name],
        later[RELATIONS_OF_BOTH.name],
        *(_sentences(state, two, later) if two.same_heads else []),
        html.H2(["Places in both models", info("CKA and cosine", SIMILARITY)]),
        later[SIMILAR_POINTS.name],
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


def _without_other(shown: NoOther) -> Page:
    """Why there is nothing to compare with, and how to get a second model."""
    name, why = shown.corpus.title, shown.unlike
    missing = (
        f"The store has one model on this corpus, {name}. {' '.join(why.values())} Add a second one with the same tokenizer, on "
        "the same sentences: for instance this model, fine-tuned on the labels of a few reviews."
    )
    said: list[Any] = unmade(shown.ingest, missing.replace("  ", " "), MAKE_SECOND_MODEL, MAKE_IT_AFTERWARDS)
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


def _unlike(sentences: Mapping[str, str]) -> list[object]:
    """How many models of the store are not offered, and why; nothing where all are."""
    if not sentences:
        return []
    count = f"Not offered: {many(len(sentences), 'model')} of the store on other tokens."
    return [html.P([count, info("models that are not offered", " ".join(sentences.values()))], className="caption")]


def _sentences(state: LinkState, two: ModelPair, later: Mapping[str, html.Div]) -> list[object]:
    """The typed sentence, or the sentence of the link, in both models, and the search for others."""
    search = [html.H3("Find a sentence"), later[SENTENCES.name]]
    if not state.text:
        return [*patterns(state, two), *search]
    back = sentence_href(state, state.sentence)
    return [
        sentence_title(state),
        html.Div(typed_choices(state, two), className="controls"),
        later[TYPED.name],
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
    """Means over all heads, for models whose heads have no counterparts."""
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
    layout=read_then_draw(read, draw),
    links=PageLinks(
        always=frozenset({"layer"}),
        stored_sentences=True,
        sample=True,
        other_models=on_same_corpus,
        other_models_are="on the same corpus",
        second_model=lambda snapshot, corpus, state: compared_model(snapshot, corpus, state.other),
    ),
    open=opened_state,
    href=compare_href,
    choices=choices,
    selection=valid_selection,
    picture=picture,
    deferred=(CHANGED, LARGEST, MATCHING, RELATIONS_OF_BOTH, SENTENCES, SIMILAR_POINTS, TYPED),
    routes=(register,),
)

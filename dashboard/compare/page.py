"""Page Compare: two models of the store on the same corpus, their heads, pictures and sentences side by side."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.spec import Picture
from dashboard.compare.data import STANDARD, statistic_of
from dashboard.compare.feature_points import (
    SIMILARITY,
    ShownPoint,
    below_point,
    both_features,
    point_controls,
    point_notices,
    point_picture,
    similarity_panel,
)
from dashboard.compare.head_differences import (
    CHANGES,
    changed_heads,
    changed_most,
    differences,
    largest_changes,
    means_over_heads,
)
from dashboard.compare.picture import (
    KEYS,
    TO_RING,
    alignment,
    both_picture,
    both_places,
    common_views,
    drawn_of_both,
    picture_notices,
    selected_in_both,
    shown_points_of,
    shown_view,
)
from dashboard.compare.relations import relations_of_both
from dashboard.compare.routes import register
from dashboard.compare.sentences import (
    DIVERGENCE,
    patterns,
    ranked_by,
    search_in_both,
    sentence_title,
    standard_ranking,
    typed_choices,
    typed_patterns,
    typed_sentences,
)
from dashboard.compare.two_models import ModelPair, badge, lettered, marked, of_both, pair_of, pictures_of
from dashboard.points.captions import FIDELITY, caption
from dashboard.points.controls import colour_choice, colour_legend, count_line, selection_count
from dashboard.points.picture import ShownPoints, shown_fidelity
from dashboard.points.search import no_hits
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.finder import finder
from dashboard.topic import Topic
from dashboard.ui.controls import action, choice, head_choices, info, search_controls, statistic_choice, view_choices
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.page import Page, unmade
from dashboard.ui.text import QUERIES, naming
from dashboard.web.bounds import matches_of, on_same_corpus
from dashboard.web.context import Context
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.paths import PageLinks
from dashboard.web.state import LinkState
from store import STATISTICS
from store.schema.model import varying_statistics

#: Kinds of pictures.
PICTURES = {"head": "a head", "point": "a feature point"}
TITLE = "Two models on one corpus"
MAKE_SECOND_MODEL = "Run `headscape finetune`, then `headscape ingest --model=data/finetuned`."
MAKE_IT_AFTERWARDS = (
    "If not, add one when it has ended: `headscape finetune`, then `headscape ingest --model=data/finetuned`."
)
RANKED = {"divergence": "attention divergence", "statistic": "difference of the statistic"}


def choices(context: Context) -> tuple[dict[str, object], dict[str, object]]:
    """The values of the controls and their defaults; empty without a second model."""
    two = pair_of(context)
    if two is None:
        return {}, {}
    current: dict[str, object] = {"other": two.other.name, "statistic": statistic_of(context.state)}
    defaults: dict[str, object] = {"other": on_same_corpus(context.snapshot, context.corpus)[0], "statistic": STANDARD}
    if two.same_heads:
        current["by"], defaults["by"] = ranked_by(context.state, two), standard_ranking(two)
    if view := shown_view(context.state, two):
        current["view"] = view
    if features := ShownPoint.of(context, two):
        current |= {"point": features.point, "fview": features.view, "fcolour": features.shown.colour.column.name}
        defaults |= {"point": features.both.points[-1], "fview": features.both.own.views[0]}
    return current, defaults


def above_pictures(context: Context, two: ModelPair) -> list[object]:
    """Title, controls and legend of the pictures, or why there are none."""
    of_point = pictures_of(context.state, two) == "point"
    controls, below = point_controls(context, two) if of_point else _head_controls(context, two)
    of = [choice("pictures", "Pictures of", PICTURES, context.state.pictures, 130)] if two.same_heads else []
    title = html.H2("Pictures in both models", id="pictures-of-both")
    return [title, html.Div([*of, *controls], className="controls"), *below]


def below_pictures(context: Context, two: ModelPair) -> list[object]:
    """Captions of the pictures: sample, alignment and fidelity."""
    return below_point(context, two) if pictures_of(context.state, two) == "point" else _below_head(context, two)


def _head_controls(context: Context, two: ModelPair) -> tuple[list[Any], list[Any]]:
    """The controls, and what is below them."""
    view, heads = (
        shown_view(context.state, two),
        head_choices(context.state, context.corpus.layers, context.corpus.heads),
    )
    if view is None:
        missing = "The models have no view in common."
        return heads, [
            html.P(unmade(context.ingest, missing, "Run `headscape projections` with each of them."), role="status")
        ]
    points, views = shown_points_of(context, two), view_choices(view, common_views(two))
    colours = colour_legend(context, points)
    return [*heads, *views, colour_choice(context), search_controls(context.state, matches_of(context.corpus))], [
        colours,
        no_hits(context) or _selected(context, two, points),
    ]


def _selected(context: Context, two: ModelPair, points: ShownPoints) -> html.P:
    """How many points are selected in each panel; conditions on a head's statistics select others in each model."""
    if not points.selection:
        return selection_count(points)
    own, other = drawn_of_both(two, context.state.layer, context.state.head, context.state.tokens)
    counts = selected_in_both(own, other, points.selection).sum(axis=(1, 2))
    drawn = 2 * len(own.rows)
    each = [f"{count:,} of {drawn:,} in {name}" for count, name in zip(counts, lettered(two), strict=True)]
    return count_line(points, f"Selected of the drawn queries and keys: {' and '.join(each)}.")


def _below_head(context: Context, two: ModelPair) -> list[object]:
    view, state = shown_view(context.state, two), context.state
    if view is None:
        return []
    aligned = both_places(two, view, state.layer, state.head, state.tokens)
    shown = aligned.places.shape[1]
    title = two.own.view(view).attrs["title"]
    return [
        caption(
            f"{shown:,} of {two.counted_tokens:,} tokens, the same in both; {title}. {_faithful(context, two, view)}",
            info("the pictures of both models", f"One colour scale. {alignment(aligned.apart)} {FIDELITY}"),
        ),
        html.P([TO_RING, " A click opens the head in that model.", info("the keys", KEYS)], className="caption"),
    ]


def _faithful(context: Context, two: ModelPair, view: str) -> str:
    """The rank correlation of attention and distance in each picture, and its trustworthiness."""
    each = [
        shown_fidelity(model.view(view))[:, context.state.layer, context.state.head].to_series()
        for model in (two.own, two.other)
    ]
    spearman, trustworthiness = (of_both([values[name] for values in each]) for name in ("spearman", "trustworthiness"))
    return f"Spearman {spearman}; trustworthiness {trustworthiness}."


def picture(context: Context) -> Picture | None:
    """The picture of both models."""
    two = pair_of(context)
    if two is None or not context.corpus.views:
        return None
    return point_picture(context, two) if pictures_of(context.state, two) == "point" else both_picture(context, two)


def layout(context: Context) -> Page:
    """The page of a link."""
    two = pair_of(context)
    return _without_other(context) if two is None else _of_two(context, two)


def deferred_typed(context: Context) -> list[object]:
    """The typed sentence in both models, or why one of them cannot run it."""
    two, text = pair_of(context), context.state.text
    if not (two and two.same_heads and text):
        return []
    try:
        sentences = typed_sentences(context.library, two, text)
    except ReaderLeft:
        raise
    except Refusal as refusal:
        return [html.P(str(refusal), role="status")]
    return typed_patterns(context.state, two, sentences)


def deferred_changes(context: Context) -> list[object]:
    """The heads that changed most."""
    two = pair_of(context)
    return changed_heads(context.state, two) if two and two.same_heads else []


def deferred_similarity(context: Context) -> list[object]:
    """The similarity of the feature points."""
    two = pair_of(context)
    return similarity_panel(context, two) if two else []


def deferred_sentences(context: Context) -> list[object]:
    """The sentences in which the head of the link changed most, or those of a search."""
    two = pair_of(context)
    return finder(context, search_in_both(context.state, two)) if two and two.same_heads else []


def deferred_largest(context: Context) -> list[object]:
    """The three largest changes."""
    two = pair_of(context)
    return changed_most(context.state, two) if two else []


CHANGED = DeferredPart("changes", "divergences and their intervals", deferred_changes, ("statistic", "source"), 920)
LARGEST = DeferredPart("largest", "the largest changes", deferred_largest, ("statistic", "source"), 36, shape="lines")
SENTENCES = DeferredPart(
    "sentences",
    "the divergence of the head in every sentence",
    deferred_sentences,
    ("layer", "head", "by", "first", "find", "labelled", "fewest", "most"),
    520,
)
SIMILAR_POINTS = DeferredPart(
    "points", "the similarity of vectors at every point", deferred_similarity, (), 420, shape="box"
)
TYPED = DeferredPart("typed", "this sentence, once both models are loaded", deferred_typed, ("text",), 760, shape="box")


def _without_other(context: Context) -> Page:
    name = context.corpus.title
    missing = (
        f"The store has one model on this corpus, {name}. Ingest a second one to compare them: another checkpoint with the same "
        "tokenizer on the same sentences, such as this model fine-tuned on the review labels."
    )
    said: list[Any] = unmade(context.ingest, missing, MAKE_SECOND_MODEL, MAKE_IT_AFTERWARDS)
    text = html.P([*naming(said[0], name), *said[1:]])
    return Page(above=[html.H1(TITLE), dmc.Alert(text, color="blue", variant="light", id="no-other")])


def _of_two(context: Context, two: ModelPair) -> Page:
    unlike = [dmc.Alert(text, color="orange", variant="light", mb="sm") for text in two.differences()]
    largest = largest_changes(deferred(context, LARGEST, ready=None if two.same_heads else True))
    above = [
        html.H1(TITLE),
        _model_choice(context, two),
        largest,
        *unlike,
        *_heads(context, two),
        *above_pictures(context, two),
    ]
    notices = _notices(context, two)
    below = [
        *below_pictures(context, two),
        *relations_of_both(context.state, two),
        *_sentences(context, two),
        *_points(context, two),
    ]
    return Page(above=above, below=below, notices=notices)


def _notices(context: Context, two: ModelPair) -> tuple[str, ...]:
    """Notices on what of the link is ignored."""
    return point_notices(context, two) if pictures_of(context.state, two) == "point" else picture_notices(context, two)


def _sentences(context: Context, two: ModelPair) -> list[object]:
    if not two.same_heads:
        return []
    if context.state.text:
        patterns_shown = [
            sentence_title(context.state),
            html.Div(typed_choices(context.state, two), className="controls"),
            *_typed_sentence(context, two),
        ]
    else:
        patterns_shown = patterns(context.state, two)
    ready = None if ranked_by(context.state, two) == DIVERGENCE else True
    return [*patterns_shown, html.H3("Find a sentence"), deferred(context, SENTENCES, ready=ready)]


def _typed_sentence(context: Context, two: ModelPair) -> list[object]:
    """The patterns where both models have run, else a placeholder that they fill."""
    typed, text = context.library.get(TypedSentences), context.state.text or ""
    ready = all(typed.is_encoded(model, text) for model in (two.own, two.other))
    back = context.state.with_(text=None, second=None).href
    return [
        deferred(context, TYPED, ready=ready),
        html.P(dcc.Link("Back to the sentences of the corpus", href=f"{back}#sentence-in-both"), className="caption"),
    ]


def _model_choice(context: Context, two: ModelPair) -> html.Div:
    """The choice of the other model, the names of both, and a link that swaps them."""
    others = on_same_corpus(context.snapshot, context.corpus)
    models = {name: context.snapshot.titles[name] for name in others}
    swapped = context.state.with_(model=two.other.name, other=two.own.name)
    return html.Div(
        [
            marked(two, 0),
            badge(1),
            choice("other", "Model B", models, two.other.name, 300, of_data=True),
            action("Swap A and B", swapped.href),
        ],
        className="controls which",
    )


def _heads(context: Context, two: ModelPair) -> list[object]:
    if not two.same_heads:
        return [
            html.H2("Means over all heads"),
            html.Div(_source(context.state), className="controls"),
            means_over_heads(context.state, two),
        ]
    return [
        html.H2(["Heads that changed most", info("heads that changed most", CHANGES)]),
        _choices(context.state),
        deferred(context, CHANGED),
        html.H2("Differences of every head"),
        *differences(context.state, two),
        means_over_heads(context.state, two),
    ]


def _choices(state: LinkState) -> html.Div:
    statistics = {name: STATISTICS[name].title for name in varying_statistics(state.source)}
    return html.Div(
        [
            choice("ranked", "Ranked by", RANKED, state.ranked, 210),
            statistic_choice("statistic", "Statistic", statistics, statistic_of(state), 230),
            _source(state),
        ],
        className="controls",
    )


def _source(state: LinkState) -> dmc.Select:
    return choice("source", "Mean over", QUERIES, state.source, 160)


def _points(context: Context, two: ModelPair) -> list[object]:
    ready = True if both_features(two) is None else None
    return [
        html.H2(["Feature points of both models", info("CKA and cosine", SIMILARITY)]),
        deferred(context, SIMILAR_POINTS, ready=ready),
    ]


COMPARE = Topic(
    name="compare",
    title="Compare",
    letter="c",
    docs="links.md#compare",
    layout=layout,
    links=PageLinks(
        stored_sentences=True,
        sample=True,
        other_models=on_same_corpus,
        other_models_are="on the same corpus",
    ),
    choices=choices,
    picture=picture,
    deferred=(CHANGED, LARGEST, SENTENCES, SIMILAR_POINTS, TYPED),
    routes=(register,),
)

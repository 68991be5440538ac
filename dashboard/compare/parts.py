"""The parts of page Compare that may be computed after the page, each of the two models of a link."""

from collections.abc import Callable

from dash import html

from dashboard.compare.data import linked_changes
from dashboard.compare.feature_points import BothFeatures, both_features, similarity_panel
from dashboard.compare.head_differences import changed_heads, changed_most, relations_of_both
from dashboard.compare.matching import matching_heads
from dashboard.compare.sentences import (
    DIVERGENCE,
    most_read,
    ranked_by,
    search_in_both,
    typed_patterns,
    typed_sentences,
)
from dashboard.compare.two_models import ModelPair, pair_of
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.finder import finder
from dashboard.ui.deferred import Compute, DeferredPart
from dashboard.web.context import Context
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.state import LinkState


def read_pair(context: Context) -> ModelPair | None:
    """The models of a link; None where there is nothing to compare with."""
    return pair_of(context.snapshot, context.corpus, context.state)


def deferred_typed(context: Context) -> list[object]:
    """The typed sentence in both models, or why a model cannot run it."""
    two, text = read_pair(context), context.state.text
    if not (two and two.same_heads and text):
        return []
    try:
        sentences = typed_sentences(context.served_store, two, text)
    except ReaderLeft:
        raise
    except Refusal as refusal:
        return [html.P(str(refusal), role="status")]
    return typed_patterns(context.state, two, sentences)


def deferred_similarity(context: Context) -> list[object]:
    """The similarity of the feature points."""
    two = read_pair(context)
    return similarity_panel(two, both_features(two), context.ingest) if two else []


def of_pair(draw: Callable[[LinkState, ModelPair], list[object]], *, needs_heads: bool = False) -> Compute:
    """The content of a part of two models; nothing without a second model, nor, with `needs_heads`, for models of unlike shapes."""

    def compute(context: Context) -> list[object]:
        two = read_pair(context)
        return draw(context.state, two) if two and (two.same_heads or not needs_heads) else []

    return compute


def _changed(state: LinkState, two: ModelPair) -> list[object]:
    """The heads that changed most."""
    return changed_heads(state, two, linked_changes(state, two))


def _find(state: LinkState, two: ModelPair) -> list[object]:
    """The sentences in which the head of the link changed most, or the sentences of a search."""
    return finder(two.own, state, search_in_both(state, two))


CHANGED = DeferredPart(
    "changes",
    "divergences and their intervals",
    of_pair(_changed, needs_heads=True),
    ("statistic", "source"),
    920,
    2940,
    middle=1126,
)
LARGEST = DeferredPart(
    "largest", "the largest changes", of_pair(changed_most), ("statistic", "source"), 36, shape="lines"
)
MATCHING = DeferredPart(
    "matching", "the divergence of every two heads of both models", of_pair(matching_heads), (), 480
)
RELATIONS_OF_BOTH = DeferredPart(
    "relations-of-both",
    "the relations of both models",
    of_pair(relations_of_both),
    ("relation", "direction", "examples"),
    540,
)
SENTENCES = DeferredPart(
    "sentences",
    "the divergence of the head in every sentence",
    of_pair(_find, needs_heads=True),
    ("layer", "head", "by", "first", "find", "labelled", "fewest", "most"),
    520,
    middle=600,
)
SIMILAR_POINTS = DeferredPart(
    "points", "the similarity of vectors at every place", deferred_similarity, (), 420, middle=360, shape="box"
)
TYPED = DeferredPart("typed", "this sentence, once both models are loaded", deferred_typed, ("text",), 760, shape="box")


def parts_of(
    state: LinkState, two: ModelPair, features: BothFeatures | None, typed: TypedSentences
) -> dict[DeferredPart, bool | None]:
    """The parts that may be computed after the page, and whether each is ready at once: None where that depends on earlier pages."""
    parts: dict[DeferredPart, bool | None] = {
        LARGEST: None if two.same_heads else True,
        MATCHING: None,
        RELATIONS_OF_BOTH: None if two.own.has_words and two.other.has_words else True,
        SIMILAR_POINTS: True if features is None else None,
    }
    if two.same_heads:
        parts |= {CHANGED: None, SENTENCES: None if ranked_by(state, two) == DIVERGENCE else True}
    if two.same_heads and (text := state.text):
        parts[TYPED] = all(typed.is_encoded(model, text, most=most_read(two)) for model in (two.own, two.other))
    return parts

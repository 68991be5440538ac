"""The two models that are compared: common sentences, means with intervals, names of the models, and a head in both side by side.

A page names them A and B, each with a colour of its own (compare.css).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.canvas.spec import Panel, Picture
from dashboard.points.controls import FIDELITY, caption, colour_choice, colour_legend, count_line, selection_count
from dashboard.points.head_tokens import HeadTokens
from dashboard.points.picture import point_picture, shown_fidelity, sources_of_heads
from dashboard.points.point_set import Beside, Selection, mask
from dashboard.points.search import no_hits
from dashboard.points.shown import ShownPoints
from dashboard.ui.controls import head_choices, info, search_controls, view_choices
from dashboard.ui.markup import unmade
from dashboard.ui.text import decimal
from dashboard.web.bounds import compared_model, matches_of, names_of
from dashboard.web.context import Context
from dashboard.web.errors import remedy_text
from dashboard.web.http import data_link
from dashboard.web.results import current_cache
from dashboard.web.state import LinkState
from store import Corpus, Snapshot
from store.kernels.intervals import PERCENTILES, Segments, draw_counts, find_segments
from store.kernels.projection import align
from store.kernels.statistics import source_rows
from store.phrases import many
from store.repository.ingest_status import IngestProgress
from store.schema.model import SOURCES, head_name

T = TypeVar("T")
#: Seed of the bootstrap: the same at every call, so that a number is the same wherever it is shown.
SEED = 0
Floats = NDArray[np.float64]
#: The model of the link and the other one.
LETTERS = ("A", "B")
#: Text of the page for a difference.
MINUS = "B − A"
#: Most tokens drawn for each model.
MOST_TOKENS = 20_000
#: Smallest side of a panel in pixels, however far down the page it stands.
SIDE = 420
MAKE_PICTURE = "Run `headscape projections` to make the other."
TO_RING = "Hover a token to ring it in both panels."
KEYS = "P goes to the token nearest to the middle of a panel; Shift with the arrow keys goes to the next."

#: Settings of the text: where one differs, sentences and tokens differ.
OF_TEXT = ("text_column", "label_column", "splitter", "max_length", "seed")


@dataclass(frozen=True)
class ModelPair:
    """The model of the link and another one on the same corpus, compared on the sentences both have."""

    own: Corpus
    other: Corpus

    @property
    def names(self) -> tuple[str, str]:
        """Names of the models; their keys where both have the same name."""
        return names_of(self.own, self.other)

    @property
    def sentences(self) -> int:
        """Number of common sentences: the first of the corpus."""
        return min(self.own.n_sentences, self.other.n_sentences)

    @property
    def tokens(self) -> int:
        """Number of common tokens."""
        return min(self.own.n_tokens, self.other.n_tokens)

    @property
    def counted_sentences(self) -> int:
        """Number of common sentences, also of those without vectors."""
        return min(self.own.counted_sentences, self.other.counted_sentences)

    @property
    def counted_tokens(self) -> int:
        """Number of common tokens, also of those without vectors."""
        return min(self.own.counted_tokens, self.other.counted_tokens)

    @property
    def same_heads(self) -> bool:
        """Whether every head has a counterpart in the same layer with the same number."""
        return (self.own.layers, self.own.heads) == (self.other.layers, self.other.heads)

    @property
    def same_size(self) -> bool:
        """Whether the hidden vectors of both models have the same number of features."""
        return hidden_size(self.own) == hidden_size(self.other)

    def differences(self) -> list[str]:
        """A sentence on each thing that cannot be compared because the models' shapes differ."""
        return [*self._differing_heads(), *self._differing_size()]

    def accuracies(self) -> list[str]:
        """A sentence on each model that was fine-tuned here: its accuracy, beside the accuracy of always guessing one label."""
        measured = [model.attributes.get("provenance", {}).get("finetuned") for model in (self.own, self.other)]
        return [
            f"{name} tells the label of {100 * found['accuracy']:.1f}% of {many(found['held_reviews'], 'held-out review')}; "
            f"always guessing the most frequent label: {100 * found['most_frequent']:.1f}%."
            for name, found in zip(self.names, measured, strict=True)
            if found
        ]

    def _differing_heads(self) -> list[str]:
        if self.same_heads:
            return []
        (own, other), names = (
            (f"{model.layers} layers of {model.heads} heads" for model in (self.own, self.other)),
            self.names,
        )
        return [f"{names[0]} has {own}, {names[1]} {other}: their heads have no counterparts."]

    def _differing_size(self) -> list[str]:
        if self.same_size:
            return []
        own, other = hidden_size(self.own), hidden_size(self.other)
        return [f"Hidden vectors have {own} and {other} features: CKA can compare them, cosine cannot."]


def unlike(own: Corpus, other: Corpus) -> str:
    """Why the heads of another model are not compared: its tokens differ."""
    return f"{other.title} {why_unlike(own.corpus_attributes, other.corpus_attributes)}."


def why_unlike(own: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Why the tokens of two corpora differ, from the attributes of both: the predicate of a sentence on the other model."""
    if own["tokenizer_sha256"] != other["tokenizer_sha256"]:
        return "has another tokenizer, so its tokens have no counterparts"
    if own["data_identity"] != other["data_identity"]:
        name = (
            f"{other['name']}, not on {own['name']}" if own["name"] != other["name"] else f"other {other['name']} data"
        )
        return f"was ingested on {name}"
    changed = [
        f"{name.replace('_', ' ')} {other[name]}, here {own[name]}" for name in OF_TEXT if own[name] != other[name]
    ]
    return f"was ingested with other settings of the text ({'; '.join(changed)})"


def pair_of(snapshot: Snapshot, corpus: Corpus, state: LinkState) -> ModelPair | None:
    """The models of a link, by default the last ingested on the same corpus; None where there is no other model."""
    other = compared_model(snapshot, corpus, state.other)
    return ModelPair(corpus, other) if other else None


def pictures_of(state: LinkState, two: ModelPair) -> str:
    """The kind of pictures: of a head where heads have counterparts, else of a feature point."""
    return state.pictures if two.same_heads else "point"


def hidden_size(corpus: Corpus) -> int:
    """Number of features of a model's hidden vectors: heads times channels. The key in config.json depends on the family."""
    return corpus.heads * int(corpus.query.sizes["channel"])


def cached_result(two: ModelPair, key: Hashable, compute: Callable[[], T]) -> T:
    """The result of `compute`, cached under the other model's name and `key`."""
    return current_cache().get(two.own, _key(two, key), compute)


def _key(two: ModelPair, key: Hashable) -> Hashable:
    return "compare", two.other.name, key


@dataclass(frozen=True)
class Sample:
    """The first sentences of the corpus.

    Attributes
    ----------
    start, size
        First row on the token axis and number of tokens of each sentence: (sentence,).
    """

    start: NDArray[np.int64]
    size: NDArray[np.int32]

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return len(self.size)

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.size.sum())

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the tokens on the token axis, without padding between blocks: (token,)."""
        within = np.arange(self.tokens) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        return np.repeat(self.start, self.size) + within


def sample_of(two: ModelPair, tokens: int) -> Sample:
    """The first common sentences that have at most `tokens` tokens together, but at least one."""
    sentences = two.own.sentences.isel(sentence=slice(0, two.sentences))
    sizes = sentences.row_size.values
    count = max(1, int(np.searchsorted(np.cumsum(sizes), tokens, side="right")))
    return Sample(sentences.row_start.values[:count], sizes[:count])


def segments_of(two: ModelPair, sample: Sample, source: str) -> Segments:
    """The rows of a source among the sample's tokens, sentence by sentence."""
    flags = two.own.tokens.token_flags.values[sample.rows]
    rows = source_rows(flags, np.ones(len(flags), bool))[SOURCES.index(source)]
    return find_segments(rows, sample.size)


def sample_caption(two: ModelPair, sample: Sample) -> str:
    """The size of a sample in words."""
    sentences, tokens = many(two.counted_sentences, "sentence"), many(two.counted_tokens, "token")
    every = "all" if sample.sentences == two.counted_sentences else "the first"
    return f"{every} {sample.sentences:,} of {sentences} ({sample.tokens:,} of {tokens}) of both models"


@dataclass(frozen=True, eq=False)
class MeanInterval:
    """Means and the ends of their 95% intervals, of one shape; NaN ends for fewer than two sentences."""

    mean: Floats
    low: Floats
    high: Floats


def mean_interval(values: NDArray[np.floating]) -> MeanInterval:
    """Means of numbers (sentence, ...) with equal weights; differences of two models are paired by sentence.

    The interval is the percentiles of bootstrap means with Poisson(1) counts of the sentences (`store.kernels.intervals`).
    """
    sentences, *shape = values.shape
    none = np.full(shape, np.nan)
    if not sentences:
        return MeanInterval(none, none, none)
    flat = values.reshape(sentences, -1).astype(np.float64)
    low, high = (end.reshape(shape) for end in _ends(flat)) if sentences > 1 else (none, none)
    return MeanInterval(flat.mean(axis=0).reshape(shape), low, high)


def _ends(flat: Floats) -> tuple[Floats, Floats]:
    """Ends of the intervals (number,) of numbers (sentence, number)."""
    counts = draw_counts(SEED, 0, len(flat)).astype(np.float64)
    total = counts.sum(axis=0)
    means = (counts.T @ flat)[total > 0] / total[total > 0, None]
    low, high = np.percentile(means, PERCENTILES, axis=0)
    return low, high


def lettered(two: ModelPair) -> tuple[str, str]:
    """Names of both models as text: `A: bert-base`, `B: bert-tuned`."""
    own, other = (f"{letter}: {name}" for letter, name in zip(LETTERS, two.names, strict=True))
    return own, other


def of_both(values: Sequence[float]) -> str:
    """A number of each model: `A 0.86, B 0.87`; a model whose number is NaN is left out."""
    each = zip(LETTERS, values, strict=True)
    return ", ".join(f"{letter} {decimal(value)}" for letter, value in each if value == value)


def badge(place: int) -> html.Span:
    """The letter of a model, 0 or 1, on its colour."""
    return html.Span(LETTERS[place], className=f"model-letter {LETTERS[place].lower()}")


def marked(two: ModelPair, place: int) -> html.Span:
    """The letter of a model with its name."""
    return html.Span([badge(place), " ", html.Span(two.names[place])], className="model-name")


@dataclass(frozen=True, eq=False)
class BothPlaces:
    """Aligned positions 0 to 1 in a common cube: (2, token, role, component), this model first.

    `apart` is the mean distance of a point's two positions, as a share of the cube's side.
    """

    places: NDArray[np.float32]
    apart: float


def common_views(two: ModelPair) -> list[str]:
    """Common views, in the order of this model."""
    return [view for view in two.own.views if view in two.other.views]


def drawn_of_both(two: ModelPair, layer: int, head: int, tokens: int) -> Beside:
    """The first common tokens in the head of this layer and number in each model."""
    count = min(tokens, MOST_TOKENS, two.tokens)
    return Beside(HeadTokens(two.own, count, layer, head), HeadTokens(two.other, count, layer, head))


def both_places(two: ModelPair, view: str, layer: int, head: int, tokens: int) -> BothPlaces:
    """Positions in both models, the other's aligned to this one's over all drawn queries and keys (`store.kernels.projection`)."""
    both = drawn_of_both(two, layer, head, tokens)
    key = ("places", view, layer, head, both.tokens)
    return cached_result(two, key, lambda: on_one_scale(*both.places(view)))


def on_one_scale(own: NDArray[np.float32], other: NDArray[np.float32]) -> BothPlaces:
    """Positions (token, role, component) of the same tokens, aligned and scaled into one cube."""
    flat = own.reshape(-1, own.shape[-1]).astype(np.float64)
    both = np.stack([flat, align(other.reshape(flat.shape).astype(np.float64), flat)])
    low, high = both.min(axis=(0, 1)), both.max(axis=(0, 1))
    side = float((high - low).max()) or 1.0
    inside = 0.5 + (both - (low + high) / 2) / side
    apart = float(np.linalg.norm(inside[1] - inside[0], axis=-1).mean())
    return BothPlaces(inside.astype(np.float32).reshape(2, *own.shape), apart)


def shown_view(state: LinkState, two: ModelPair) -> str | None:
    """The view of the link where both models have it, else the first common one."""
    views, wanted = common_views(two), state.view or next(iter(two.own.views), None)
    return wanted if wanted in views else next(iter(views), None)


def selected_in_both(both: Beside, selection: Selection) -> NDArray[np.bool_]:
    """Whether each point is selected: (2, token, role), this model first. A lasso in this model's picture selects in both."""
    return np.broadcast_to(mask(both, selection), (2, both.tokens, len(both.roles)))


def read_head(context: Context, two: ModelPair) -> ShownPoints | None:
    """The points of the link's head in this model, in a view of both; None without a common view."""
    state, view = context.state, shown_view(context.state, two)
    if view is None:
        return None
    count = drawn_of_both(two, state.layer, state.head, state.tokens).tokens
    return replace(ShownPoints.of(context, HeadTokens(two.own, count, state.layer, state.head)), view=view)


def head_notices(
    state: LinkState, two: ModelPair, shown: ShownPoints | None, ingest: IngestProgress | None
) -> tuple[str, ...]:
    """Notices on the parts of the link that the pictures of a head ignore."""
    notices, view = (shown.notices, shown.view) if shown else ((), None)
    if state.view in (None, view):
        return notices
    instead = "No view is shown" if view is None else f"Showing “{view}”"
    return (*notices, f"{two.names[1]} has no view “{state.view}”. {instead}. {remedy_text(ingest, MAKE_PICTURE)}")


def both_picture(two: ModelPair, shown: ShownPoints) -> Picture:
    """The picture of a head in both models."""
    state = shown.state
    where, name = f"{state.layer}/{state.head}", head_name(state.layer, state.head)
    sources = sources_of_heads(shown, f"{data_link(two.own)}/compare/{two.other.name}", where)
    label = f"Queries and keys of {name} in {two.names[0]} and in {two.names[1]}"
    return replace(
        point_picture(shown, sources, panels=_panels(state, two, name), columns=2, label=label),
        titled=True,
        min_side=SIDE,
        page="head",
        dropped_fields=("other",),
        cards=[f"{data_link(model)}/token/{where}/" for model in (two.own, two.other)],
    )


def _panels(state: LinkState, two: ModelPair, name: str) -> list[Panel]:
    """The two panels; each opens the head in its model."""
    fields = {"layer": str(state.layer), "head": str(state.head)}
    return [
        Panel(name=title, summary=name, fields=fields | {"model": model.name})
        for title, model in zip(lettered(two), (two.own, two.other), strict=True)
    ]


def alignment(apart: float) -> str:
    """How the pictures of both models are made comparable, and how well that went: the mean distance as a share of a side."""
    return (
        "Fitted for each model; the points of B are aligned to those of A (orthogonal Procrustes), with a mean distance of "
        f"{100 * apart:.1f}% of the side."
    )


def no_view(state: LinkState, two: ModelPair, ingest: IngestProgress | None) -> tuple[list[Any], list[Any]]:
    """The controls of the pictures of a head, and why there are none."""
    said = unmade(ingest, "The models have no view in common.", "Run `headscape projections` with each of them.")
    return head_choices(state, two.own.layers, two.own.heads), [html.P(said, role="status")]


def head_controls(two: ModelPair, shown: ShownPoints) -> tuple[list[Any], list[Any]]:
    """The controls of the pictures of a head, and what is below them."""
    state, heads = shown.state, head_choices(shown.state, two.own.layers, two.own.heads)
    search = search_controls(state, matches_of(two.own))
    controls = [*heads, *view_choices(shown.view, common_views(two)), colour_choice(shown), search]
    return controls, [colour_legend(shown), no_hits(two.own, state) or _selected(two, shown)]


def _selected(two: ModelPair, shown: ShownPoints) -> html.P:
    """How many points are selected in each panel; conditions on a head's statistics select different points in each."""
    if not shown.selection:
        return selection_count(shown)
    both = drawn_of_both(two, shown.state.layer, shown.state.head, shown.state.tokens)
    counts = selected_in_both(both, shown.selection).sum(axis=(1, 2))
    drawn = 2 * both.tokens
    each = [f"{count:,} of {drawn:,} in {name}" for count, name in zip(counts, lettered(two), strict=True)]
    return count_line(shown, f"Selected of the drawn queries and keys: {' and '.join(each)}.")


def below_head(two: ModelPair, shown: ShownPoints) -> list[object]:
    """Captions of the pictures of a head: sample, alignment and fidelity."""
    state, view = shown.state, shown.view
    aligned = both_places(two, view, state.layer, state.head, state.tokens)
    title = two.own.view(view).attrs["title"]
    return [
        caption(
            f"{aligned.places.shape[1]:,} of {two.counted_tokens:,} tokens, the same in both; {title}. {_faithful(two, shown)}",
            info("the pictures of both models", f"One colour scale. {alignment(aligned.apart)} {FIDELITY}"),
        ),
        html.P([TO_RING, " A click opens the head in that model.", info("the keys", KEYS)], className="caption"),
    ]


def _faithful(two: ModelPair, shown: ShownPoints) -> str:
    """The rank correlation of attention and distance in each picture, and its trustworthiness."""
    layer, head = shown.state.layer, shown.state.head
    each = [shown_fidelity(model.view(shown.view))[:, layer, head].to_series() for model in (two.own, two.other)]
    spearman, trustworthiness = (of_both([values[name] for values in each]) for name in ("spearman", "trustworthiness"))
    return f"Rank correlation {spearman}; trustworthiness {trustworthiness}."

"""Bounds that a store sets for the fields of a link, and the models that can be shown beside the link's."""

from collections.abc import Mapping

from dashboard.web.paths import links_of
from dashboard.web.state import (
    MOST_OF_PAIR,
    OF_WORDS,
    PAIRS,
    TRIAL,
    WITHIN,
    Of,
    Within,
)
from store import STATISTICS, Corpus, Snapshot
from store.features import Features
from store.kernels.rules import roles_for
from store.schema.pictures import JOINT

#: Most special tokens of a typed pair; each other wordpiece takes at least one byte of the link.
SPECIAL = 4
Bounds = Mapping[Of, range | tuple[str, ...]]


def bounds_of(snapshot: Snapshot, corpus: Corpus, page: str) -> Bounds:
    """The bounds that the model and its corpus set for a page, without bounds of a token set."""
    longest = int(corpus.corpus_attributes["max_length"])
    return {
        Of.MODELS: tuple(snapshot.models),
        Of.LAYERS: range(corpus.layers),
        Of.HEADS: range(corpus.heads),
        Of.TOKENS: range(corpus.n_tokens),
        Of.VIEWS: tuple(corpus.views),
        Of.MATCHES: matches_of(corpus),
        Of.SENTENCES: range(corpus.n_sentences if links_of(page).stored_sentences else corpus.counted_sentences),
        Of.COUNTED_SENTENCES: range(corpus.counted_sentences),
        Of.PAIRS: _directions(corpus),
        Of.POSITIONS: range(max(longest, MOST_OF_PAIR + SPECIAL)),
        Of.LENGTHS: range(1, longest + 1),
        Of.LABELS: tuple(corpus.label_names),
        Of.ROLES_OF_HEADS: tuple(roles_for(words=corpus.has_words)),
        Of.STATISTICS: tuple(STATISTICS),
        Of.OTHER_MODELS: tuple(_other_models(snapshot, corpus, page)),
        Of.TOKEN_SETS: tuple(corpus.token_sets),
    }


def _directions(corpus: Corpus) -> tuple[str, ...]:
    """Directions of attention in a pair; where tokens see no later token, the first sentence cannot attend to the second."""
    return tuple(pair for pair in PAIRS if pair != "ab" or not corpus.masks[0].causal)


def matches_of(corpus: Corpus) -> tuple[Within, ...]:
    """Kinds of match of a search that a corpus allows."""
    return tuple(match for match in WITHIN if corpus.has_words or match not in OF_WORDS)


def feature_bounds(corpus: Corpus, features: Features, layer: int | None) -> Bounds:
    """The bounds that a token set and, for values, their layer set; values have no trial picture."""
    return {
        Of.VALUE_LAYERS: tuple(map(str, value_layers(features))),
        Of.FEATURE_VIEWS: (*feature_views(features, layer), *([TRIAL] if layer is None else [])),
        Of.FEATURE_PANELS: feature_panels(corpus, features, layer),
        Of.FEATURE_COLUMNS: feature_columns(features),
        Of.FEATURE_TOKENS: range(features.n_tokens),
        Of.TRIAL_FITS: (JOINT, *features.points),
    }


def comparable(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    """Keys of the other models of a snapshot with the same numbers of layers and heads."""
    others = [snapshot.corpus(name) for name in snapshot.models if name != corpus.name]
    return [other.name for other in others if (other.layers, other.heads) == (corpus.layers, corpus.heads)]


def on_same_corpus(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    """Keys of the other models of a snapshot that were run on the same corpus."""
    own = corpus.attributes["corpus"]
    return [name for name, model in snapshot.models.items() if model["corpus"] == own and name != corpus.name]


def compared_model(snapshot: Snapshot, corpus: Corpus, other: str | None) -> Corpus | None:
    """The model to compare with: `other`, by default the last ingested model on the same corpus; None where there is none."""
    name = other or next(iter(on_same_corpus(snapshot, corpus)), None)
    return snapshot.corpus(name) if name else None


def short_name(corpus: Corpus) -> str:
    """The last part of the model's name; the title where this distinguishes models of the same name."""
    name = str(corpus.attributes["model_id"])
    return corpus.title if corpus.title != name else name.rpartition("/")[2]


def names_of(own: Corpus, other: Corpus) -> tuple[str, str]:
    """The names of two models; full titles where the short names are equal."""
    names = [short_name(model) for model in (own, other)]
    return (names[0], names[1]) if names[0] != names[1] else (own.title, other.title)


def value_layers(features: Features) -> list[int]:
    """Layers with a picture of their values."""
    views = (features.value_view(name) for name in features.value_views)
    return sorted({int(layer) for view in views for layer in view.attrs["layers"]})


def feature_views(features: Features, layer: int | None) -> list[str]:
    """Names of the pictures of all feature points, or of the values of a layer; the default first."""
    if layer is None:
        return features.views
    return [name for name in features.value_views if layer in features.value_view(name).attrs["layers"]]


def feature_panels(corpus: Corpus, features: Features, layer: int | None) -> tuple[str, ...]:
    """Names of the panels: feature points, or the heads `H3` whose values are drawn."""
    return features.points if layer is None else tuple(f"H{head}" for head in range(corpus.heads))


def feature_columns(features: Features) -> tuple[str, ...]:
    """Names of the columns that tokens can be coloured by; the columns are not read."""
    label = ("label",) if features.label_names else ()
    prediction = () if features.class_probability is None else ("prediction",)
    correct = ("correct",) if predicts_labels(features) else ()
    reaches = () if features.reach is None else tuple(f"reach_{target}" for target in features.reach.target.values)
    return ("kind", "wordpiece", "position", *label, "sentence", *reaches, *prediction, *correct)


def predicts_labels(features: Features) -> bool:
    """Whether the model predicts the labels of the reviews."""
    if features.class_probability is None or not features.label_names:
        return False
    return set(features.label_names) <= set(map(str, features.class_probability["class"].values))


def _other_models(snapshot: Snapshot, corpus: Corpus, page: str) -> list[str]:
    """Models that the page can show beside the link's; where the page names none, all that some page can show."""
    if of_page := links_of(page).other_models:
        return of_page(snapshot, corpus)
    return [*on_same_corpus(snapshot, corpus), *comparable(snapshot, corpus)]

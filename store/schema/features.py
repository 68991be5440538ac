"""The group `/models/<key>/features/<token set>`: vectors of some tokens at every feature point, and their pictures.

A token set is the sample of the corpus or a whole review. It is written in one transaction: readers see all of it or
nothing. Attributes: `says` (its title), `tokens`, `sentences`, `points` (standard or fine), `cka_tokens`, `clipped`
(number of values beyond float16), `label`, `document` and `cut` of a review, `class_names` of a classifier, `views` and
`value_views` (names of the finished pictures, the default first), `features_hash`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from store.schema import Array, numbered, whole
from store.schema.corpus import CORPUS_ARRAYS
from store.schema.model import MODEL_ARRAYS, NORM_FIRST

#: The token set that samples the corpus; the others are whole reviews, `review-<index in the data>`.
SAMPLE = "sample"

_POINT = re.compile(r"L(\d{2,})\.([a-z_]+)")


@dataclass(frozen=True)
class PointKind:
    """A kind of feature point: a place in the model at which vectors are stored.

    Attributes
    ----------
    title, meaning
        Title on pages, and meaning of the vectors.
    stage
        Its place in a layer, in a few words.
    fine
        Whether only the fine set of feature points contains this kind.
    own_basis
        Whether its features are the channels of the layer's heads; at all other points they are features of the residual
        stream. A cosine between vectors of two bases has no meaning.
    """

    title: str
    meaning: str
    stage: str = ""
    fine: bool = False
    own_basis: bool = False


#: Feature points before the layers, in order.
FIRST_KINDS: Mapping[str, PointKind] = {
    "embedding": PointKind("embedding", "word embeddings, before anything is added"),
    "position": PointKind(
        "position",
        "word embeddings and what the model adds to them, after the layer norm: the input of the first layer",
    ),
}
#: Feature points of each layer, in order.
LAYER_KINDS: Mapping[str, PointKind] = {
    "mixed": PointKind(
        "head outputs",
        "outputs of the heads side by side, before the output projection",
        "inside attention",
        own_basis=True,
    ),
    "projected": PointKind(
        "attention output", "after the output projection with its bias, before the residual is added", "after attention"
    ),
    "attended": PointKind(
        "attention block output",
        "output of the attention block, after the residual and the layer norm",
        "after residual and layer norm",
        fine=True,
    ),
    "expanded": PointKind(
        "feed-forward output",
        "output of the feed-forward network, before the residual is added",
        "after the feed-forward network",
        fine=True,
    ),
    "feedforward": PointKind(
        "layer output", "output of the layer, after the second residual and layer norm", "end of the layer"
    ),
}
POINT_KINDS: Mapping[str, PointKind] = {**FIRST_KINDS, **LAYER_KINDS}
#: Kinds of feature points in models with norms before attention and the feed-forward network: the residual bypasses both.
_NORM_FIRST: Mapping[str, PointKind] = {
    **POINT_KINDS,
    "attended": PointKind(
        "attention block output",
        "the residual after attention was added; norms come before attention in this model, and none follows",
        "after residual",
        fine=True,
    ),
    "feedforward": PointKind(
        "layer output",
        "the residual at the end of the layer; norms come before attention in this model, and one follows the last layer",
        "end of the layer",
    ),
}

#: Factors that tokens are grouped by, to measure the share of the variance between groups.
FACTORS: Mapping[str, str] = {
    "token": "the wordpiece",
    "position": "the position in the sentence",
    "sentence": "the sentence",
    "label": "the label of the sentence's review",
}


def point_names(layers: int, *, fine: bool = False) -> tuple[str, ...]:
    """Names of the feature points of a model in its order: 2, and 3 per layer, or 5 per layer in the fine set."""
    kinds = [kind for kind, about in LAYER_KINDS.items() if fine or not about.fine]
    return (*FIRST_KINDS, *(f"L{layer:02d}.{kind}" for layer in range(layers) for kind in kinds))


def point_kinds(attributes: Mapping[str, Any]) -> Mapping[str, PointKind]:
    """Kinds of feature points of a model, from its attributes."""
    return _NORM_FIRST if attributes.get(NORM_FIRST) else POINT_KINDS


def point_kind(point: str) -> str:
    """Kind of a feature point, a key of `POINT_KINDS`."""
    return point.rpartition(".")[2]


def point_layer(point: str) -> int | None:
    """Layer of a feature point, None before the layers."""
    match = _POINT.fullmatch(point)
    return int(match[1]) if match else None


def stored_point(name: str) -> str:
    """Stored name of a feature point from its title, such as `L03.layer_output`; other names stay as they are."""
    match = _POINT.fullmatch(name)
    by_title = {kind.title.replace(" ", "_").replace("-", "_"): key for key, kind in LAYER_KINDS.items()}
    return f"L{match[1]}.{by_title[match[2]]}" if match and match[2] in by_title else name


def same_basis(point: str, other: str) -> bool:
    """Whether vectors at two feature points have the same features, so that a cosine between them has a meaning."""
    return point == other or not any(POINT_KINDS[point_kind(name)].own_basis for name in (point, other))


def point_title(point: str) -> str:
    """Title of a feature point, as pages show it: `L0 head outputs`."""
    layer, title = point_layer(point), POINT_KINDS[point_kind(point)].title
    return title if layer is None else f"L{layer} {title}"


def _token(name: str) -> dict[str, Array]:
    """Declare an array of the corpus for the tokens of the set, in one chunk."""
    known = CORPUS_ARRAYS[name]
    return {name: Array(("token",), known.dtype, ("token",), known.meaning, fill=known.fill)}


def _vectors(first: tuple[str, ...], inner: tuple[int | str, ...], last: str, meaning: str) -> Array:
    """Declare vectors with blocks of tokens as shards, like queries."""
    chunk, shard = (1,) * len(first) + ("tile", last), (*inner, "shard", last)
    return Array((*first, "token", last), "float16", chunk, meaning, shard, float("nan"), compressed=False)


FEATURE_ARRAYS: Mapping[str, Array] = {
    "point": numbered("point", "names of the feature points, in the order of the model", "str"),
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "factor": numbered("factor", "by what tokens are grouped", "str"),
    "row": Array(("token",), "int64", ("token",), "row on the corpus' token axis, -1 in a review", fill=-1),
    **_token("token_id"),
    **_token("position"),
    **_token("word_index"),
    **_token("token_flags"),
    **_token("sentence_index"),
    "feature": _vectors(("point",), (1,), "feature", "vector of each token at each point"),
    "value": _vectors(("layer", "head"), (1, "head"), "channel", "value x W_V + b_V of each head"),
    "similarity": whole(("point", "other_point"), "cosine between a token's vectors at both points, mean over tokens"),
    "cka": whole(("point", "other_point"), "linear CKA of the tokens' vectors at both points (Kornblith 2019)"),
    "explained": whole(
        ("factor", "point"),
        "share of the variance of all features between the groups, epsilon squared (Kelley 1935); NaN for one group",
    ),
}
#: Declaration of `class_probability`, which exists where the checkpoint is a classifier.
CLASS_PROBABILITY = Array(
    ("sentence", "class"), "float32", ("sentence", "class"), "probability of each label, by the model's own classifier"
)


def _places(dims: tuple[str, ...]) -> Array:
    every = (*dims, "token", "component")
    return Array(every, "uint16", (*dims, "tile", "component"), _PLACE, fill=0, compressed=False)


_PLACE = "place of each token: low + coordinate / 65535 * side"

FEATURE_VIEW_ARRAYS: Mapping[str, Array] = {
    "coordinates": _places(("point",)),
    "low": whole(("component",), "lowest place of the cube, one for all points"),
    "side": whole((), "side of the cube, the same in all directions"),
    "trustworthiness": whole(("point",), "scikit-learn's, of the 10 nearest neighbours at the point"),
}
VALUE_VIEW_ARRAYS: Mapping[str, Array] = {
    "coordinates": _places(("layer", "head")),
    "low": whole(("layer", "head", "component"), "lowest place of the head's cube"),
    "side": whole(("layer", "head"), "side of the head's cube, the same in all directions"),
    "trustworthiness": whole(("layer", "head"), "scikit-learn's, of the 10 nearest neighbours among the values"),
}

"""The places in a model at which the vectors of a sample of tokens are kept, and what they are measured by."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from store.schema.array import Array, numbered, whole
from store.schema.corpus import CORPUS_ARRAYS
from store.schema.model import MODEL_ARRAYS

#: The material that stands for the corpus; the others are whole reviews, `review-<index in the data>`.
SAMPLE = "sample"

_POINT = re.compile(r"L(\d{2,})\.([a-z_]+)")


@dataclass(frozen=True)
class PointKind:
    """A kind of place in a model, for a person.

    Attributes
    ----------
    title, meaning
        What it is called on screen, and what that is.
    fine
        Whether only the finer set has it.
    own_basis
        Whether its features are the channels of its layer's heads, not those of the residual stream, which all other
        points have. A cosine of vectors in two bases means nothing.
    """

    title: str
    meaning: str
    fine: bool = False
    own_basis: bool = False


#: What comes before the layers, in order.
FIRST_KINDS: Mapping[str, PointKind] = {
    "embedding": PointKind("embedding", "word embeddings, before anything is added"),
    "position": PointKind("position", "sum of word, position and segment embeddings, after its layer norm"),
}
#: What every layer has, in order.
LAYER_KINDS: Mapping[str, PointKind] = {
    "mixed": PointKind(
        "head outputs", "outputs of the heads side by side, before the output projection", own_basis=True
    ),
    "projected": PointKind(
        "attention output", "after the output projection with its bias, before the residual is added"
    ),
    "attended": PointKind(
        "attention block output", "output of the attention block, after the residual and the layer norm", fine=True
    ),
    "expanded": PointKind(
        "feed-forward output", "output of the feed-forward network, before the residual is added", fine=True
    ),
    "feedforward": PointKind("layer output", "output of the layer, after the second residual and layer norm"),
}
POINT_KINDS: Mapping[str, PointKind] = {**FIRST_KINDS, **LAYER_KINDS}

#: By what the tokens are grouped, to ask how much of the variance between them the groups explain.
FACTORS: Mapping[str, str] = {
    "token": "the wordpiece",
    "position": "the position in the sentence",
    "sentence": "the sentence",
    "label": "the label of the sentence's review",
}


def point_names(layers: int, *, fine: bool = False) -> tuple[str, ...]:
    """Names of the points of a model in its order: 2 and 3 a layer, or 5 a layer in the finer set."""
    kinds = [kind for kind, said in LAYER_KINDS.items() if fine or not said.fine]
    return (*FIRST_KINDS, *(f"L{layer:02d}.{kind}" for layer in range(layers) for kind in kinds))


def point_kind(point: str) -> str:
    """Key of `POINT_KINDS` of a point."""
    return point.rpartition(".")[2]


def point_layer(point: str) -> int | None:
    """Layer of a point, None before the layers."""
    found = _POINT.fullmatch(point)
    return int(found[1]) if found else None


def stored_point(name: str) -> str:
    """The name in the store of a point that is called by its title, such as `L03.layer_output`; others stay as they are."""
    found = _POINT.fullmatch(name)
    by_title = {kind.title.replace(" ", "_").replace("-", "_"): key for key, kind in LAYER_KINDS.items()}
    return f"L{found[1]}.{by_title[found[2]]}" if found and found[2] in by_title else name


def same_basis(one: str, other: str) -> bool:
    """Whether vectors at two points have the same features, so that a cosine between them means something."""
    return one == other or not any(POINT_KINDS[point_kind(point)].own_basis for point in (one, other))


def point_title(point: str) -> str:
    """How a point is written for a person: `L0 head outputs`."""
    layer, title = point_layer(point), POINT_KINDS[point_kind(point)].title
    return title if layer is None else f"L{layer} {title}"


def _token(name: str) -> dict[str, Array]:
    """As the corpus has it, in one piece."""
    known = CORPUS_ARRAYS[name]
    return {name: Array(("token",), known.dtype, ("token",), known.meaning, fill=known.fill)}


def _vectors(first: tuple[str, ...], inner: tuple[int | str, ...], last: str, meaning: str) -> Array:
    """Blocks of tokens as shards, as `store.schema` has them for queries."""
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
#: Only where the checkpoint is a classifier.
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

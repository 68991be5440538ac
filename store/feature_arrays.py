"""The arrays of `/models/<key>/features/<material>`: vectors of some tokens at every feature point, and their pictures.

A material is written whole in one transaction, so that readers see all of it or nothing. Its attributes: `says` what it
is; `tokens`, `sentences`; `points` (standard or fine); `cka_tokens`; `clipped`, values beyond the range of float16;
`label`, `document` and `cut` of a review; `class_names` of a classifier; `views` and `value_views`, names of those that
are whole, the default first; `features_hash`.
"""

from collections.abc import Mapping

from store.schema import CORPUS_ARRAYS, MODEL_ARRAYS, Array, numbered, whole


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

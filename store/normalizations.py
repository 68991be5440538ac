"""The ways to move queries and keys that a store knows, and the arrays that hold their constants for every head."""

from collections.abc import Mapping

from store.schema import MODEL_ARRAYS, Array

#: What each does, for a person. All leave attention as it is; `store/kernels/normalization.py` has the formulas.
NORMALIZATIONS: Mapping[str, str] = {
    "raw": "as the model has them",
    "centroid": "keys moved so that both clouds have one centre (AttentionViz)",
    "scaled": "queries times c, keys divided by c, keys moved; chosen by the weighted correlation (AttentionViz)",
    "sphere": "keys moved so that they lie as near to a sphere round the origin as they can",
    "exact": "one more coordinate, so that the cosine orders the keys of a query exactly as attention does",
    "shared": "one translation and one c for all heads of all layers",
}

_PER_HEAD = ("normalization", "layer", "head")


def _constant(dtype: str, meaning: str) -> Array:
    fill = 0 if dtype == "int64" else float("nan")
    return Array(_PER_HEAD, dtype, _PER_HEAD, meaning, fill=fill)


NORMALIZATION_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "normalization": Array(("normalization",), "str", ("normalization",), "names of the normalisations"),
    "scale": _constant("float64", "c: queries are multiplied by it, keys divided"),
    "shift": Array(
        (*_PER_HEAD, "channel"),
        "float64",
        (*_PER_HEAD, "channel"),
        "added to every key, after the division by the scale",
    ),
    "radius": _constant("float64", "length that exact mode gives every key; NaN elsewhere"),
    "weighted_correlation": _constant(
        "float64", "of q.k and distance over the nearest pairs of one sentence; -1 is best, NaN where there are too few"
    ),
    "pairs": _constant("int64", "pairs behind the weighted correlation"),
    "spearman": _constant(
        "float64", "of q.k and cosine distance in head space, per query, on sentences not used before"
    ),
}

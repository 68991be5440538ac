"""The arrays that hold how far the attention of any two heads is apart, and the map of the heads made from it."""

from collections.abc import Mapping

from store.schema import MODEL_ARRAYS, Array, numbered, whole

HEADS = ("layer", "head")
#: The second head of a pair, where two stand beside each other.
OTHER_HEADS = ("other_layer", "other_head")


DIVERGENCE_ARRAYS: Mapping[str, Array] = {
    **{dim: MODEL_ARRAYS[dim] for dim in HEADS},
    **{dim: numbered(dim, "0-based") for dim in OTHER_HEADS},
    "divergence": whole(
        (*HEADS, *OTHER_HEADS),
        "Jensen-Shannon divergence of the heads' rows in nats, sum over the tokens of the sample (Clark 2019)",
    ),
    "place": whole((*HEADS, "component"), "map of the heads: metric MDS of the mean divergence of a token"),
}

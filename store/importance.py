"""The group `/models/<key>/importance`: how much worse a model becomes when one of its heads says nothing."""

from collections.abc import Mapping

from store.schema import MODEL_ARRAYS, Array, whole

#: The losses by which heads are judged, for a person.
LOSSES: Mapping[str, str] = {
    "mlm": "cross entropy of the masked wordpieces, in nats",
    "classification": "cross entropy of the label of the sentence's review, in nats",
}

IMPORTANCE_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "change": whole(
        ("layer", "head"),
        "loss with the head's context set to 0, less the loss of the whole model (Michel 2019, section 3)",
    ),
    "new_change": Array(
        ("layer", "head"), "float64", (1, "head"), "the same of a run that may not be finished", fill=float("nan")
    ),
    "new_hash": Array(
        ("layer",), "uint64", (1,), "hash of what the layer of that run was computed from, 0 if not written"
    ),
}

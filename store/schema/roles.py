"""The group `/models/<key>/roles`: how well rules of the text explain each head, its roles, and what their tests are made of.

Rules and roles are named as in `store.kernels.rules.RULES`; a corpus without words has no roles of grammar. Of the tables of heads
nothing is stored: they follow from the stored queries and keys (`store.rules`).
"""

from collections.abc import Mapping

from store.schema import Array, numbered, whole
from store.schema.model import HEADS, MODEL_ARRAYS

#: What predicts the attention of a head -> in words.
RULE_SETS: Mapping[str, str] = {
    "uniform": "the same weight on every key",
    "single": "the best single rule",
    "six": "at most six rules",
    "all": "all rules",
    "static": "position and word, the most that a model without context can say",
    "without_tables": "at most six rules without the two tables of the head",
}
#: Names of a head's own rules, which are fitted, after those of all heads -> in words.
TABLES: Mapping[str, str] = {"sink_score": "sink score of the wordpiece", "word_table": "word-word table of the head"}
#: Halves of the sentences: roles are fitted on the first; the second judges, and is fitted for comparison.
ROLE_HALVES = ("fitted on", "judged on")
#: No rule.
NO_RULE = -1


def _biases(sentence: str, sieve: str, meaning: str) -> Array:
    dims = ("layer", "head", sentence, sieve)
    return Array(dims, "float16", (1, "head", sentence, sieve), meaning, fill=float("nan"))


def _of_rules(meaning: str) -> Array:
    return whole(("rules", *HEADS), meaning)


def _of_head(meaning: str) -> Array:
    return whole(HEADS, meaning)


ROLE_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "rules": numbered("rules", "what predicts the attention", "str"),
    "rule": numbered("rule", "rules that are chosen from, those of the head last", "str"),
    "role": numbered("role", "roles, and what none of them explains", "str"),
    "sieve": numbered("sieve", "roles that are tested", "str"),
    "relation": numbered("relation", "roles that are tested against other pairs at the same offset", "str"),
    "part": numbered("part", "parts of a logit", "str"),
    "half": numbered("half", "half of the sentences", "str"),
    "bound": numbered("bound", "end of a 95% interval", "str"),
    "sentence": numbered("sentence", "sentences that are fitted on or judge", "int32"),
    "judged": numbered("sentence", "1 for sentences that judge, 0 for those of the fit", "int8"),
    "random_sentence": numbered("random_sentence", "sentences that random weights were run on", "int32"),
    "iou": _of_rules("sum of min / sum of max of predicted and real weights, mean over held-out sentences"),
    "sqrt_jsd": _of_rules("square root of the Jensen-Shannon divergence of a row in nats, mean over rows"),
    "top_key": _of_rules(
        "share of queries whose largest predicted weight is at the right key, of equal ones at the nearest"
    ),
    "top_word_key": _of_rules("the same among words"),
    "words_share": _of_rules("share of the attention between words that the prediction covers"),
    "interval": whole(("bound", "rules", *HEADS), "95% interval of iou, by bootstrap over sentences"),
    "chosen": Array(
        (*HEADS, "place"), "int16", (*HEADS, "place"), "rules, the most needed first: index into rule", fill=NO_RULE
    ),
    "rule_weight": whole((*HEADS, "place"), "their weights in the logit"),
    "variance_share": whole(("part", *HEADS), "share of the variance of the logits within rows"),
    "share": whole(("role", *HEADS), "share of the attention of words that the role explains; sums to 1 over roles"),
    "weight": whole(("half", "role", *HEADS), "weights of the mixture between words, of each half"),
    "agreement": _of_head("sum over roles of the smaller of both halves' weights"),
    "rand_index": _of_head("adjusted Rand index of the main roles of strong pairs under both halves' weights"),
    "explained": _of_head("share explained of the attention between words, held out"),
    "even_explained": _of_head("the same share by even attention"),
    "bias": _biases("sentence", "sieve", "sieve bias of the head in a sentence, NaN where the role has no pair"),
    "offset_bias": _biases("sentence", "relation", "bias against other pairs at the same offset"),
    "random_bias": _biases("random_sentence", "sieve", "sieve bias with random weights; embeddings are kept"),
}
#: Of a run that may not be finished.
DRAFT_ARRAYS: Mapping[str, Array] = {
    "numbers": Array(
        ("layer", "number"), "float64", (1, "number"), "arrays of a layer, flattened, one after the other"
    ),
    "layer_hash": Array(("layer",), "uint64", (1,), "hash of what the layer was computed from, 0 if not written"),
}

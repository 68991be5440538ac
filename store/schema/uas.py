"""The group `/models/<key>/uas`: how many governors are found from attention (Clark et al. 2019, section 5)."""

from collections.abc import Mapping

from store.schema.array import Array, numbered, whole

#: How governors are found -> in words.
METHODS: Mapping[str, str] = {
    "attention_and_words": "probe of the attention of all heads and of word embeddings",
    "attention": "probe of the attention of all heads",
    "best_head": "the one best head",
    "best_offset": "the most frequent offset of a governor",
    "right_branching": "the next word",
    "random_attention_and_words": "probe of attention and words, random weights",
    "random_attention": "probe of attention, random weights",
    "random_best_head": "the one best head, random weights",
    "control_attention_and_words": "control task of the probe of attention and words",
    "control_attention": "control task of the probe of attention",
}
#: How one governor of each word is decided on: each on its own, or the spanning tree with the largest score.
DECODINGS = ("each", "tree")

UAS_ARRAYS: Mapping[str, Array] = {
    "method": numbered("method", "how governors are found", "str"),
    "decoding": numbered("decoding", "each word on its own, or the best spanning tree", "str"),
    "bound": numbered("bound", "end of a 95% interval", "str"),
    "uas": whole(("method", "decoding"), "share of the words with the right governor, mean over seeds"),
    "interval": whole(("bound", "method", "decoding"), "95% interval, by bootstrap over the sentences reported on"),
    "of_seed": whole(("seed", "method", "decoding"), "the same for each seed of a trained probe"),
}

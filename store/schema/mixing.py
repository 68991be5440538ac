"""The group `/models/<key>/mixing`: what context mixing follows from, and what arrives where over the corpus.

`product`, `reach` and `received` grow with the blocks that have vectors; `arrival` is of the first sentences, a uniform sample. Attributes:
`sentences` and `tokens` that have products, `reached_sentences` that have reaches; `arrival` is of the first `sampled_sentences`, of which
`counted_sentences` are short enough; `seed` of its bootstrap, `version`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from store.schema import Array, numbered, whole
from store.schema.model import MODEL_ARRAYS

#: Tokens of an inner chunk of the products: a sentence reads little more than its own.
PART = 512
#: Bytes at most of the parts of DecompX, a vector for each pair of tokens.
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class MixingMethod:
    """A way to say how much of a token's vector comes from each token: how a person reads it, what it is, and the paper it is from."""

    title: str
    meaning: str
    paper: str


METHODS: Mapping[str, MixingMethod] = {
    "attention": MixingMethod(
        "attention weights",
        "Mean attention weight of the heads, without the residual connection.",
        "Vaswani et al. 2017",
    ),
    "rollout": MixingMethod(
        "attention rollout",
        "Half the mean attention weight of the heads, half the token itself for the residual connection.",
        "Abnar and Zuidema 2020, section 3",
    ),
    "norm": MixingMethod(
        "weights times value norms",
        "Attention weights times value norms, added over the heads, without the residual connection.",
        "Kobayashi et al. 2020, section 3",
    ),
    "globenc": MixingMethod(
        "GlobEnc",
        "Length of what each token adds to the vector: all heads, the residual connection and the layer norms.",
        "Modarressi et al. 2022, section 3",
    ),
}
#: Those whose shares over the corpus are stored.
STORED_METHODS = ("rollout", "globenc")

#: Where a share comes from: the token itself, or other tokens of its sentence by class.
ORIGINS = ("self", "cls", "sep", "punctuation", "word")
#: Vectors that tokens reach -> as people read them. Stores made before there was `word` lack it.
TARGETS: Mapping[str, str] = {"cls": "[CLS]", "sentence": "the sentence vector", "word": "the mean word vector"}
#: The tokens whose mean vector each is: a source of `store.schema.model.SOURCES`.
TARGET_SOURCES: Mapping[str, str] = {"cls": "cls", "sentence": "all", "word": "word"}


def _of_targets(meaning: str) -> Array:
    """A number of each token for each target and layer, NaN where there is none."""
    return Array(("target", "layer", "token"), "float16", (1, "layer", "block"), meaning, fill=float("nan"))


MIXING_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "source": MODEL_ARRAYS["source"],
    "bound": MODEL_ARRAYS["bound"],
    "approach": numbered("approach", "name of the method, of METHODS: xarray keeps the name method for itself", "str"),
    "origin": numbered("origin", "where a share comes from: the token itself, or other tokens by class", "str"),
    "product": Array(
        ("layer", "product", "token"),
        "float16",
        (1, "product", "part"),
        "inner products of what a token may bring to any token (`store.kernels.mixing`), times scale",
        ("layer", "product", "block"),
        float("nan"),
        compressed=False,
    ),
    "scale": whole(("layer",), "power of two that the products of the layer are stored with"),
    "arrival": whole(
        ("approach", "origin", "source", "layer"),
        "share of a token's vector after the layer that comes from the input token itself, or from other input tokens by class: mean over "
        "sentences of the mean over the tokens of this source; sums to 1 over the origins",
    ),
    "arrival_interval": whole(
        ("bound", "approach", "origin", "source", "layer"), "95% interval of arrival, by bootstrap over sentences"
    ),
    "target": numbered(
        "target", "the vector that is reached: that of [CLS], or the mean of those of all tokens or of the words", "str"
    ),
    "reach": _of_targets(
        "share of the target's vector after the layer that comes from this input token, by GlobEnc through the layers, times the tokens of "
        "the sentence: 1 is an even share; NaN in a sentence that is too long"
    ),
    "received": _of_targets(
        "attention weight that the token gets from the target in the layer, mean over heads, times the tokens of the sentence: from [CLS], or "
        "mean over all tokens or the words"
    ),
    "reach_hash": Array(("task",), "uint64", (1,), "hash of the block the reaches are of, 0 if not written"),
    "mixing_hash": Array(("task",), "uint64", (1,), "hash of the block the products are of, 0 if not written"),
}

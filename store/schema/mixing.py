"""The group `/models/<key>/mixing`: products for context mixing, and shares of vectors by origin over the corpus.

`product`, `reach` and `received` grow with the blocks that have vectors; `arrival` holds shares over the first sentences, a uniform
sample. Attributes: numbers of `sentences` and `tokens` with products, of `reached_sentences` with reaches, of `sampled_sentences` of
`arrival`, and of `counted_sentences` among them that are short enough; `seed` of its bootstrap, `version`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from store.schema import Array, numbered, whole
from store.schema.model import MODEL_ARRAYS

#: Tokens of an inner chunk of the products: the read of a sentence includes few other tokens.
PART = 512
#: Most bytes of the parts of DecompX, a vector for each pair of tokens.
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class MixingMethod:
    """A method for the shares of all tokens in a token's vector: title, meaning and paper."""

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
#: Methods whose shares over the corpus are stored.
STORED_METHODS = ("rollout", "globenc")

#: Origins of a share: the token itself, or other tokens of its sentence by class.
ORIGINS = ("self", "cls", "sep", "punctuation", "word")
#: Target, a vector that tokens reach -> its title. Older stores lack `word`.
TARGETS: Mapping[str, str] = {"cls": "[CLS]", "sentence": "the sentence vector", "word": "the mean word vector"}
#: Target -> its tokens, whose mean vector it is: a source of `store.schema.model.SOURCES`.
TARGET_SOURCES: Mapping[str, str] = {"cls": "cls", "sentence": "all", "word": "word"}


def _of_targets(meaning: str) -> Array:
    """Declare a number of each token for each target and layer, NaN where it is missing."""
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

"""Methods that compute what arrives at each token of a sentence and need the model: names, limits and results."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from store.schema.mixing import MOST_BYTES, MixingMethod
from store.text import WINDOW

Floats = NDArray[np.float32]
#: Families (model_type) whose layers are built like BERT's: the formulas hold for these alone.
FAMILIES = frozenset(
    (
        "albert",
        "bert",
        "camembert",
        "data2vec-text",
        "deberta-v2",
        "distilbert",
        "electra",
        "ernie",
        "layoutlm",
        "mpnet",
        "roberta",
        "xlm-roberta",
    )
)


@dataclass(frozen=True)
class ModelMethod(MixingMethod):
    """A method that runs the model.

    `most` is the limit of its work: pairs of tokens, times layers, times the square of the features; about 90 seconds of a core.
    """

    most: int

    def longest(self, layers: int, features: int) -> int:
        """Most tokens of a sentence in a model of this size: limited by work, memory of the parts, and memory of cached shares."""
        return min(
            isqrt(self.most // (layers * features**2)),
            isqrt(MOST_BYTES // (4 * features)),
            isqrt(MOST_SHARES // layers),
        )

    def longest_at_once(self, layers: int, features: int) -> int:
        """Most tokens of a sentence that a request has time for; for a longer sentence a page tells the progress."""
        return self.longest(layers, features) // PAGE_SHARE


DECOMPX = "decompx"
#: Work of about 90 seconds, 20 s for 256 tokens of the default model; ALTI, without feed-forward networks, takes a tenth of the time.
MOST_WORK = 250_000_000_000
#: Most shares of all layers together, 12 MB: a larger result is not cached, and would be computed for every part of a page.
MOST_SHARES = 3_000_000
#: A sentence longer than the longest, divided by this number, becomes a job.
PAGE_SHARE = 8
#: Value of the link field `rollout` -> method.
MODEL_METHODS: Mapping[str, ModelMethod] = {
    "alti": ModelMethod(
        "ALTI",
        "How much closer to the vector each token's part brings it, by the sum of absolute differences, after attention and its layer norm; layers multiplied.",
        "Ferrando et al. 2022, section 3",
        10 * MOST_WORK,
    ),
    "value_zeroing": ModelMethod(
        "Value Zeroing",
        "How far the output of a layer turns where the value of a token is set to 0; layers multiplied.",
        "Mohebbi et al. 2023, section 3",
        MOST_WORK,
    ),
    DECOMPX: ModelMethod(
        "DecompX",
        "The vector as a sum over input tokens, carried through all layers with the feed-forward networks: shares of the lengths of its parts.",
        "Modarressi et al. 2023, section 3",
        MOST_WORK,
    ),
}


#: Most attention weights, over all heads, in a rollout: about ten seconds.
MOST_OF_ROLLOUT = 300_000_000
#: Value of the link field `rollout` -> name of what is drawn in place of attention, in small letters except for names.
ROLLOUT_NAMES: Mapping[str | None, str] = {
    "1": "attention rollout",
    **dict.fromkeys(("globenc", "layer"), "what arrives"),
    **{name: f"what arrives by {method.title}" for name, method in MODEL_METHODS.items()},
}
#: Value of the link field `rollout` -> its method in `store.schema.mixing`, for rollouts without the model.
METHOD_OF: Mapping[str, str] = {"1": "rollout", "globenc": "globenc", "layer": "globenc"}
NO_PRODUCTS = "The store lacks what context mixing follows from. Run `headscape ingest --mixing=auto`."
NOT_RUN = "This method needs the model, which has not run on this sentence. Choose “what arrives (GlobEnc)”."
TOO_LONG_FOR = "{} of this model is of at most {:,} tokens; this sentence has {:,}. Choose a shorter one, or “what arrives (GlobEnc)”."
TOO_LONG = "A rollout of this model is of at most {:,} tokens; this sentence has {:,}. Choose a shorter sentence."


@dataclass(frozen=True, eq=False)
class Decomposed:
    """The result of a method of the model for one sentence.

    Attributes
    ----------
    method
        Name of the method in `MODEL_METHODS`.
    shares
        Shares of the input tokens in each token's vector after each layer (layer, query_token, input_token); rows sum to 1.
    parts
        By DecompX, what each input token adds to the mean of the last vectors (input_token, feature); None for other methods.
    answer_parts
        By DecompX, what each input token adds to the logits of a classifier (input_token, label); None for other models, and for a
        classifier that is built otherwise.
    """

    method: str
    shares: Floats
    parts: Floats | None = None
    answer_parts: Floats | None = None


def most_tokens(layers: int, heads: int) -> int:
    """Most tokens of a sentence for a rollout in a model of this size."""
    return max(WINDOW, isqrt(MOST_OF_ROLLOUT // (layers * heads)))


def method_info() -> str:
    """The methods in words, each with its paper."""
    return " ".join(f"{method.title}: {method.meaning} ({method.paper})." for method in MODEL_METHODS.values())

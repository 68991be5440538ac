"""Methods that say what arrives at each token of a sentence and need the model: their names and limits, and what they give."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store.schema.mixing import MixingMethod

Floats = NDArray[np.float32]
#: Families whose layers are built like BERT's, by their model_type: what the formulas hold for.
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
    """A method that runs the model, and the most tokens of a sentence that it does not take long for."""

    longest: int


DECOMPX = "decompx"
#: By the value of the link field `rollout`.
MODEL_METHODS: Mapping[str, ModelMethod] = {
    "alti": ModelMethod(
        "ALTI",
        "How much closer to the vector each token's part brings it, by the sum of absolute differences, after attention and its layer norm; layers multiplied.",
        "Ferrando et al. 2022, section 3",
        128,
    ),
    "value_zeroing": ModelMethod(
        "Value Zeroing",
        "How far the output of a layer turns where the value of a token is set to 0; layers multiplied.",
        "Mohebbi et al. 2023, section 3",
        64,
    ),
    DECOMPX: ModelMethod(
        "DecompX",
        "The vector as a sum over input tokens, carried through all layers with the feed-forward networks: shares of the lengths of its parts.",
        "Modarressi et al. 2023, section 3",
        64,
    ),
}


@dataclass(frozen=True, eq=False)
class Decomposed:
    """What a method of the model gives of one sentence.

    Attributes
    ----------
    method
        Of `MODEL_METHODS`.
    shares
        Of the input tokens in the vector of each token after each layer (layer, query_token, input_token); rows sum to 1.
    parts
        Of DecompX: what each input token adds to the mean of the last vectors (input_token, feature); None of another method.
    answer_parts
        Of DecompX: what each input token adds to the logits of a classifier (input_token, label); None of another model, and of a
        classifier that is built otherwise.
    """

    method: str
    shares: Floats
    parts: Floats | None = None
    answer_parts: Floats | None = None


def method_info() -> str:
    """The methods in words, each with its paper."""
    return " ".join(f"{method.title}: {method.meaning} ({method.paper})." for method in MODEL_METHODS.values())

"""What the ingest asks of a family of models, and of a loaded model of it. A family is a module beside this one.

A new family is listed in `families.FAMILIES`; docs/contributing.md says how it is made.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ingest.family.fields import Field

if TYPE_CHECKING:
    from torch import Tensor, nn

Config = Mapping[str, Any]


class LayerParts(Protocol):
    """The modules of a layer.

    Attributes
    ----------
    attention
        From the input of the layer to the context: the outputs of its heads side by side. Whatever is set here is called instead,
        as transformers calls its own, and returns a pair whose first part is the context.
    """

    attention: "nn.Module"

    @property
    def module(self) -> "nn.Module":
        """The layer: its first argument is the input of the layer (sentence, token, feature)."""

    @property
    def query(self) -> Any:
        """The linear layer from the input of the layer to the queries of all heads side by side."""

    @property
    def key(self) -> Any:
        """The same for keys."""

    @property
    def value(self) -> Any:
        """The same for values."""

    @property
    def output(self) -> Any:
        """The output projection: the linear layer from the context to what is added to the residual."""

    @property
    def norm(self) -> Any:
        """The layer norm after that addition."""

    @property
    def points(self) -> Mapping[str, "nn.Module"]:
        """Modules whose outputs are feature points, by `store.schema.features.LAYER_KINDS`; `mixed` is the input of `output`."""


class ModelParts(Protocol):
    """The modules of a loaded model, with a trained head or without."""

    @property
    def module(self) -> "nn.Module":
        """The model without a trained head: called as transformers' own, by names of arguments."""

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""

    @property
    def embedded(self) -> "nn.Module":
        """The module whose output is the input of the first layer."""

    @property
    def encoder(self) -> "nn.Module":
        """The module that holds all layers, and nothing else that has weights."""

    @property
    def layers(self) -> Sequence[LayerParts]:
        """The layers in order."""

    def positions(self, token_ids: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row of the table of positions for each token, as the model finds it itself where it is told none.

        Parameters
        ----------
        token_ids
            Wordpieces of sentences, one sentence after the other: (token,).
        place
            Place of each token in its sentence, from 0 on: (token,).
        """


class Family(Protocol):
    """A family: its models have one `model_type` in their config.json.

    Attributes
    ----------
    model_type, name
        As config.json and as people call it.
    config_class, encoder_class
        transformers' class of its configuration, and of a model without a trained head.
    architectures
        transformers' class of a model with a trained head, by the loss of the head (`store.schema.model.LOSSES`).
    head_weights
        Weights that only a model with such a head has, by the loss; the first is that of its last layer.
    new_weights
        How the names of weights begin that a classifier has and a model to be fine-tuned need not have.
    prefix
        What classes with a trained head write before the names of all other weights.
    embedding_weight, layers_prefix
        Without that prefix: the weights of the embedding of wordpieces, and how those of the layers begin.
    vocabulary
        Files of the wordpieces where there is no tokenizer.json.
    post_processor
        Class of `tokenizers.processors` that puts the special tokens around a text.
    defaults
        Sizes where config.json leaves them out.
    model_fields, fields
        Fields of config.json that a model is built from, and all that are read.
    """

    model_type: str
    name: str
    config_class: str
    encoder_class: str
    architectures: Mapping[str, str]
    head_weights: Mapping[str, Sequence[str]]
    new_weights: tuple[str, ...]
    prefix: str
    embedding_weight: str
    layers_prefix: str
    vocabulary: Sequence[str]
    post_processor: str
    defaults: Mapping[str, int]
    model_fields: Mapping[str, Field]
    fields: Mapping[str, Field]

    def size(self, config: Config, field: str) -> int:
        """A size from a checked config.json, or its default."""

    def longest_input(self, config: Config) -> int:
        """Tokens that a model reads at most."""

    def weight_shapes(self, config: Config) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the weights whose sizes config.json sets, by their names without the prefix; of the layers, the last stands for all."""

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) of a model that predicts masked wordpieces, from its last vectors (token, feature)."""

    def guess_labels(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (sentence, label) of a classifier, from its last vectors (sentence, token, feature)."""

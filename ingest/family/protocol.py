"""What the ingest needs of a family of models, and of a loaded model. A family is a module beside this one.

A new family is listed in `ingest.family.FAMILIES`; docs/contributing.md says how it is made. A family names the fields of its
config.json with the kind of values that each may have.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from store.kernels.bias import AttentionBias

if TYPE_CHECKING:
    from torch import Tensor, nn


#: Advice where a value is an error of the file.
SAVE_AGAIN = "Save the model again with save_pretrained."


@dataclass(frozen=True)
class Field:
    """The allowed values of a field, and what a person does about another value."""

    explanation: str
    accepts: Callable[[Any], bool]
    remedy: str = SAVE_AGAIN


def whole(lowest: int, highest: int, *, none: bool = False) -> Field:
    """A whole number within bounds."""

    def accepts(value: Any) -> bool:
        return (none and value is None) or (type(value) is int and lowest <= value <= highest)

    return Field(f"a whole number from {lowest:,} to {highest:,}{' or null' if none else ''}", accepts)


def number(lowest: float, highest: float, *, none: bool = False) -> Field:
    """A number within bounds."""

    def accepts(value: Any) -> bool:
        return (none and value is None) or (type(value) in (int, float) and lowest <= value <= highest)

    return Field(f"a number from {lowest:g} to {highest:g}{' or null' if none else ''}", accepts)


def text(*, none: bool = False) -> Field:
    """A text."""
    return Field(f"text{' or null' if none else ''}", lambda value: isinstance(value, str) or (none and value is None))


def padding_of(config: Any) -> int | None:
    """The wordpiece that pads a text, of transformers' configuration: the end of a text where the model has no other."""
    padding: int | None = config.eos_token_id if config.pad_token_id is None else config.pad_token_id
    return padding


def _is_labels(value: Any) -> bool:
    """Whether a value is names by number, from 0 on, or None."""
    if value is None:
        return True
    if not isinstance(value, dict) or not all(isinstance(name, (str, int)) for name in value.values()):
        return False
    return set(value) == set(map(str, range(len(value))))


def _is_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _is_rotation(value: Any) -> bool:
    """Whether a value is numbers and names, for all layers or by the kind of layer, or None."""
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    flat = [each for part in value.values() for each in (part.values() if isinstance(part, dict) else [part])]
    return all(each is None or isinstance(each, (str, int, float)) for each in flat)


def list_of(*names: str) -> Field:
    """A list of some of these names."""
    return Field(
        f"a list of {' and '.join(names)} or null",
        lambda value: value is None or (isinstance(value, list) and all(each in names for each in value)),
    )


ROTATION = Field("an object of numbers and names or null", _is_rotation)
TRUTH = Field("true or false", lambda value: isinstance(value, bool))
LABELS = Field("an object of the labels' names by number from 0 on", _is_labels)
TEXTS = Field("a list of names or null", _is_texts)


Config = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """A place of vectors in a model: the output of a module, or its first argument."""

    module: "nn.Module"
    of_input: bool = False


def linear_map(linear: Any) -> "tuple[Tensor, Tensor]":
    """Weight (input, output) and bias (output) of a linear layer; 0 where it has none."""
    weight = linear.weight.T
    return weight, weight.new_zeros(weight.shape[1]) if linear.bias is None else linear.bias


class Attend(Protocol):
    """Attention of the layer whose turn it is, in a pass that is captured."""

    def __call__(
        self,
        module: "nn.Module",
        query: "Tensor",
        key: "Tensor",
        value: "Tensor",
        mask: "Callable[[], Tensor]",
        scaling: float | None = None,
    ) -> "Tensor | None":
        """Outputs of the heads (sentence, token, head, channel); None where no pass is captured.

        Takes vectors (sentence, head, token, channel). `scaling` is the factor of q.k, by default 1/sqrt(channels); `mask` computes
        the numbers that are added to the product: (sentence, head, query_token, key_token).
        """


class LayerParts(Protocol):
    """The modules of a layer, which asks transformers' `AttentionInterface` for attention once, or what `ModelParts.ask` gave."""

    @property
    def module(self) -> "nn.Module":
        """The layer: its first argument is the input of the layer (sentence, token, feature). Several layers may have one module."""

    @property
    def value_map(self) -> "tuple[Tensor, Tensor]":
        """Weight (feature, head and channel) and bias (head and channel) of the map to the values of all heads side by side."""

    @property
    def output(self) -> Any:
        """The output projection: the linear layer from the outputs of the heads side by side to what is added to the residual."""

    @property
    def output_map(self) -> "tuple[Tensor, Tensor]":
        """Weight (head and channel, feature) and bias (feature) of the output projection."""

    @property
    def linears(self) -> Sequence[Any]:
        """The linear layers whose weights are read; results from the weights are right only if the layers compute what these say."""

    @property
    def norm(self) -> Any:
        """The layer norm that reads the residual after the output projection."""

    @property
    def residual_norms(self) -> Sequence[Any]:
        """The norms that the residual runs through, in order; with norms before attention only the final norm, in the last layer."""

    @property
    def feedforward(self) -> "tuple[Any, Any, Callable[[Tensor], Tensor]] | None":
        """The two linear layers of the feed-forward network and the activation between; None where it is built otherwise."""

    @property
    def centres(self) -> bool:
        """Whether the norms of the layer subtract the mean of a vector."""

    @property
    def points(self) -> Mapping[str, Place]:
        """The feature points of the layer, by `store.schema.features.LAYER_KINDS`."""


class ModelParts(Protocol):
    """The modules of a loaded model, with a trained head or without."""

    @property
    def module(self) -> "nn.Module":
        """The model without a trained head: called as transformers' own, by names of arguments."""

    @property
    def has_token_types(self) -> bool:
        """Whether the model takes the number of the sentence of a pair for each token."""

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""

    @property
    def embeddings(self) -> Sequence["nn.Module"]:
        """The modules before the first layer: the output of the last one is its input."""

    @property
    def shared(self) -> Sequence["nn.Module"]:
        """Modules beside the layers whose weights all layers use."""

    def in_layer_size(self, vectors: "Tensor") -> "Tensor":
        """Vectors of `embedding` (..., feature) with as many features as a layer has."""

    @property
    def encoder(self) -> "nn.Module":
        """The module that holds all layers, and nothing else that has weights."""

    @property
    def layers(self) -> Sequence[LayerParts]:
        """The layers in order."""

    @property
    def bias(self) -> AttentionBias | None:
        """Bias that the model adds to q.k / sqrt(channels) of captured queries and keys; None where it adds nothing."""

    def ask(self, attend: Attend) -> None:
        """Make modules ask `attend` for attention from now on, where they do not ask transformers' interface."""

    def positions(self, token_ids: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row of the table of positions for each token, as the model itself finds it where it gets none.

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
        Names of the family in config.json, and as people call it.
    config_class, encoder_class
        transformers' class of its configuration, and of a model without a trained head.
    implementation
        transformers' kind of attention that it is loaded with: `eager` where its modules do not ask `AttentionInterface`.
    encoder_options
        Arguments of that class: no weights are made that the checkpoint may lack.
    architectures
        transformers' class of a model with a trained head, by the loss of the head (`store.schema.model.LOSSES`).
    head_weights
        Weights that only a model with a trained head has, by the loss; the first is the weight of its last layer. A loss
        whose head is the table of the wordpieces' vectors is left out.
    new_weights
        Beginnings of the names of weights that a classifier has and a model to be fine-tuned may lack.
    added
        Words for what the model adds to scores; empty where it adds nothing.
    adds_products
        Whether the added numbers follow from the queries and keys.
    prefix
        Prefix of the names of all other weights in classes with a trained head.
    embedding_weight, layers_prefix
        Without the prefix: name of the weights of the wordpieces' embedding, and beginning of the names of layers' weights.
    buffers
        Endings of the names of tensors in the layers that are no weights; transformers leaves them out.
    vocabulary
        Files of the wordpieces where there is no tokenizer.json.
    post_processor
        Class of `tokenizers.processors` that puts the special tokens around a text; empty where there may be none.
    norm_first
        Whether norms come before attention and the feed-forward network, so that the residual runs past them.
    causal
        Whether a token sees no token after it.
    names
        Names of sizes in config.json, where they differ from BERT's.
    defaults
        Sizes where config.json leaves them out, by BERT's names.
    model_fields, fields
        Fields of config.json that a model is built from, and all that are read.
    """

    model_type: str
    name: str
    config_class: str
    encoder_class: str
    implementation: str
    encoder_options: Mapping[str, Any]
    architectures: Mapping[str, str]
    head_weights: Mapping[str, Sequence[str]]
    new_weights: tuple[str, ...]
    added: str
    adds_products: bool
    prefix: str
    embedding_weight: str
    layers_prefix: str
    buffers: tuple[str, ...]
    vocabulary: Sequence[str]
    post_processor: str
    norm_first: bool
    causal: bool
    names: Mapping[str, str]
    defaults: Mapping[str, int]
    model_fields: Mapping[str, Field]
    fields: Mapping[str, Field]

    def size(self, config: Config, field: str) -> int:
        """A size from a checked config.json, or its default."""

    def misfits(self, config: Config) -> Mapping[str, str]:
        """Fields of a config.json whose values do not fit others of it: what each must be."""

    def longest_input(self, config: Config) -> int:
        """Tokens that a model reads at most."""

    def weight_shapes(self, config: Config) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the weights whose sizes config.json sets, by their names without the prefix; of the layers, the last stands for all."""

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) of a model that predicts masked or next wordpieces, from its last vectors (token, feature)."""

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":
        """Logits (sentence, label) of a classifier, from its last vectors (sentence, token, feature); `real` is False in the padding."""

"""BERT (Devlin et al. 2019), as transformers has it, and families with its modules and its kind of tokenizer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ingest.family.protocol import (
    LABELS,
    TEXTS,
    TRUTH,
    Attend,
    Config,
    Field,
    ModelParts,
    Place,
    linear_map,
    number,
    text,
    whole,
)
from store.kernels.bias import AttentionBias

if TYPE_CHECKING:
    from torch import Tensor, nn

#: Sizes of `transformers.BertConfig`, where config.json leaves them out.
DEFAULTS = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "pad_token_id": 0,
}
#: Largest size in a config.json, above that of any BERT; the file of the weights bounds the tensors.
MOST = 10_000_000
MOST_LAYERS = 1_000

#: Fields that a model is built from; the others of `FIELDS` are read by the ingest alone.
MODEL_FIELDS = {
    "vocab_size": whole(1, MOST),
    "hidden_size": whole(1, MOST),
    "num_hidden_layers": whole(1, MOST_LAYERS),
    "num_attention_heads": whole(1, MOST),
    "intermediate_size": whole(1, MOST),
    "hidden_act": text(),
    "hidden_dropout_prob": number(0, 1),
    "attention_probs_dropout_prob": number(0, 1),
    "max_position_embeddings": whole(3, MOST),
    "type_vocab_size": whole(1, MOST),
    "initializer_range": number(0, 1000),
    "layer_norm_eps": number(0, 1),
    "pad_token_id": whole(0, MOST, none=True),
    "classifier_dropout": number(0, 1, none=True),
    "tie_word_embeddings": TRUTH,
    "id2label": LABELS,
    "problem_type": text(none=True),
}
READ_FIELDS = {
    "model_type": text(),
    "is_decoder": TRUTH,
    "position_embedding_type": text(none=True),
    "architectures": TEXTS,
}
FIELDS = MODEL_FIELDS | READ_FIELDS


def trained(family: str) -> Mapping[str, str]:
    """Transformers' classes with a trained head, by the loss of the head."""
    return {"mlm": f"{family}ForMaskedLM", "classification": f"{family}ForSequenceClassification"}


def heads_behind(prefix: str) -> Mapping[str, Sequence[str]]:
    """Weights that only a model with a trained head has, by the loss, where the other weights have this prefix."""
    return {
        "mlm": ("cls.predictions.transform.dense.weight",),
        "classification": ("classifier.weight", f"{prefix}pooler.dense.weight"),
    }


class Bert:
    """The family of BERT: see `ingest.family.protocol.Family`."""

    model_type = "bert"
    name = "BERT"
    config_class = "BertConfig"
    encoder_class = "BertModel"
    implementation = "sdpa"
    encoder_options: Mapping[str, Any] = {"add_pooling_layer": False}
    architectures: Mapping[str, str] = trained("Bert")
    head_weights: Mapping[str, Sequence[str]] = heads_behind("bert.")
    new_weights: tuple[str, ...] = ("classifier.", "bert.pooler.")
    added = ""
    adds_products = False
    prefix = "bert."
    embedding_weight = "embeddings.word_embeddings.weight"
    layers_prefix = "encoder."
    buffers: tuple[str, ...] = ()
    #: Field of config.json with the rows of each table of embeddings; and the weight of a layer that is checked for all layers.
    embedding_rows: Mapping[str, str] = {
        "word": "vocab_size",
        "position": "max_position_embeddings",
        "token_type": "type_vocab_size",
    }
    layer_weight = "encoder.layer.{}.output.dense.weight"
    vocabulary: Sequence[str] = ("vocab.txt",)
    post_processor = "BertProcessing"
    norm_first = False
    causal = False
    names: Mapping[str, str] = {}
    defaults: Mapping[str, int] = DEFAULTS
    model_fields: Mapping[str, Field] = MODEL_FIELDS
    fields: Mapping[str, Field] = FIELDS

    def size(self, config: Config, field: str) -> int:
        """A size from a checked config.json, or its default."""
        return int(config.get(self.names.get(field, field), self.defaults[field]))

    def misfits(self, config: Config) -> Mapping[str, str]:  # noqa: ARG002
        """No fields: all values fit each other."""
        return {}

    def longest_input(self, config: Config) -> int:
        """Number of positions: each token has one."""
        return self.size(config, "max_position_embeddings")

    def weight_shapes(self, config: Config) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the weights whose sizes config.json sets."""
        size, layers = self.size(config, "hidden_size"), self.size(config, "num_hidden_layers")
        embeddings = {
            f"embeddings.{name}_embeddings.weight": (self.size(config, rows), size)
            for name, rows in self.embedding_rows.items()
        }
        return embeddings | {self.layer_weight.format(layers - 1): (size, self.size(config, "intermediate_size"))}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return BertParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) by the head of masked wordpieces."""
        return model.cls(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """Logits (sentence, label) by the classifier, from the pooler's output for the first token."""
        return model.classifier(model.base_model.pooler(vectors))


class Ernie(Bert):
    """ERNIE (Sun et al. 2019): the modules of BERT, and a vector of the task in its embeddings."""

    model_type = "ernie"
    name = "ERNIE"
    config_class, encoder_class = "ErnieConfig", "ErnieModel"
    architectures = trained("Ernie")
    prefix = "ernie."
    head_weights: Mapping[str, Sequence[str]] = heads_behind("ernie.")
    new_weights: tuple[str, ...] = ("classifier.", "ernie.pooler.")
    model_fields: Mapping[str, Field] = MODEL_FIELDS | {"use_task_id": TRUTH, "task_type_vocab_size": whole(1, MOST)}
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}


class LayoutLm(Bert):
    """LayoutLM (Xu et al. 2020) of text: the modules of BERT, and vectors of places on a page, which are 0."""

    model_type = "layoutlm"
    name = "LayoutLM"
    config_class, encoder_class = "LayoutLMConfig", "LayoutLMModel"
    encoder_options: Mapping[str, Any] = {}
    architectures = trained("LayoutLM")
    prefix = "layoutlm."
    head_weights: Mapping[str, Sequence[str]] = heads_behind("layoutlm.")
    new_weights: tuple[str, ...] = ("classifier.", "layoutlm.pooler.")
    model_fields: Mapping[str, Field] = MODEL_FIELDS | {"max_2d_position_embeddings": whole(1, MOST)}
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}


class Electra(Bert):
    """ELECTRA (Clark et al. 2020): the modules of BERT after embeddings that may have fewer features, and other trained heads."""

    model_type = "electra"
    name = "ELECTRA"
    config_class, encoder_class = "ElectraConfig", "ElectraModel"
    encoder_options: Mapping[str, Any] = {}
    architectures = trained("Electra")
    prefix = "electra."
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("generator_predictions.dense.weight",),
        "classification": ("classifier.out_proj.weight", "classifier.dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.",)
    defaults: Mapping[str, int] = DEFAULTS | {
        "embedding_size": 128,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
    }
    model_fields: Mapping[str, Field] = MODEL_FIELDS | {"embedding_size": whole(1, MOST)}
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def weight_shapes(self, config: Config) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the weights, as of BERT, but embeddings have a size of their own."""
        size = self.size(config, "embedding_size")
        shapes = super().weight_shapes(config).items()
        return {name: (shape[0], size) if name.startswith("embeddings.") else shape for name, shape in shapes}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return ElectraParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) by the head of the generator."""
        return model.generator_lm_head(model.generator_predictions(vectors))

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """Logits (sentence, label) by the classifier, which takes the first token."""
        return model.classifier(vectors)


@dataclass(frozen=True)
class BertParts:
    """Modules of a `transformers.BertModel`, or of a model that is built like it."""

    module: Any
    #: Whether the model takes the number of the sentence of a pair for each token.
    has_token_types = True

    @property
    def shared(self) -> "Sequence[nn.Module]":
        """No modules: layers have all their weights."""
        return []

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""
        return self.module.embeddings.word_embeddings

    @property
    def embeddings(self) -> "Sequence[nn.Module]":
        """The sum of the embeddings after its layer norm."""
        return [self.module.embeddings]

    def in_layer_size(self, vectors: "Tensor") -> "Tensor":
        """The vectors as they are: embeddings have as many features as layers."""
        return vectors

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.encoder

    @property
    def layers(self) -> "Sequence[BertLayer]":
        """The layers in order."""
        return list(map(BertLayer, self.module.encoder.layer))

    @property
    def bias(self) -> AttentionBias | None:
        """Always None: the model adds nothing to logits."""
        return None

    def ask(self, attend: Attend) -> None:
        """Do nothing: all modules ask transformers' interface."""

    def positions(self, token_ids: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ARG002
        """The place in the sentence."""
        return place


class ElectraParts(BertParts):
    """Modules of a `transformers.ElectraModel`."""

    @property
    def _project(self) -> Any:
        """The linear layer from embeddings of another size than layers; None where sizes are the same."""
        return getattr(self.module, "embeddings_project", None)

    @property
    def embeddings(self) -> "Sequence[nn.Module]":
        """The sum of the embeddings after its layer norm, and the linear layer, where there is one."""
        return [self.module.embeddings, *([] if self._project is None else [self._project])]

    def in_layer_size(self, vectors: "Tensor") -> "Tensor":
        """The vectors after the linear layer to the layers' size, where there is one."""
        # The bias belongs to the sum of the embeddings, not to the embedding of a wordpiece.
        return vectors if self._project is None else vectors @ self._project.weight.T.to(vectors.dtype)


@dataclass(frozen=True)
class LayerPaths:
    """Paths of the modules within a layer, as `torch.nn.Module.get_submodule` takes them.

    Attributes
    ----------
    value, output, norm
        The linear layer to the values, the output projection, and the layer norm that reads the sum after it.
    attended, expanded, feedforward
        Modules whose outputs are the feature points of these names.
    last_norm
        The layer norm after the feed-forward network; empty where norms come first.
    first, activation
        The first linear layer of that network, and what comes between it and `expanded`; empty where it is built otherwise.
    """

    value: str
    output: str
    norm: str
    attended: str
    expanded: str
    feedforward: str
    last_norm: str = ""
    first: str = ""
    activation: str = ""


@dataclass(frozen=True)
class BertLayer:
    """Modules of a `transformers.BertLayer`, as they are at the time: some may have been replaced. Other families have other paths."""

    module: Any

    centres: ClassVar = True
    paths: ClassVar = LayerPaths(
        value="attention.self.value",
        output="attention.output.dense",
        norm="attention.output.LayerNorm",
        attended="attention.output",
        expanded="output.dense",
        feedforward="output",
        last_norm="output.LayerNorm",
        first="intermediate.dense",
        activation="intermediate.intermediate_act_fn",
    )

    @property
    def value_map(self) -> "tuple[Tensor, Tensor]":
        """Weight and bias of the map to the values of all heads."""
        return linear_map(self.module.get_submodule(self.paths.value))

    @property
    def output(self) -> Any:
        """The output projection."""
        return self.module.get_submodule(self.paths.output)

    @property
    def output_map(self) -> "tuple[Tensor, Tensor]":
        """Weight and bias of the output projection."""
        return linear_map(self.output)

    @property
    def linears(self) -> Sequence[Any]:
        """The linear layers to the values and from the heads, and of the feed-forward network where it is read."""
        feedforward = self.feedforward
        return [self.module.get_submodule(self.paths.value), self.output, *(feedforward[:2] if feedforward else ())]

    @property
    def norm(self) -> Any:
        """The layer norm after attention."""
        return self.module.get_submodule(self.paths.norm)

    @property
    def residual_norms(self) -> Sequence[Any]:
        """The norm after attention, and the norm after the feed-forward network."""
        return [self.norm, self.module.get_submodule(self.paths.last_norm)]

    @property
    def feedforward(self) -> "tuple[Any, Any, Callable[[Tensor], Tensor]] | None":
        """Linear layers of the feed-forward network and the activation between; None where it has no paths."""
        if not self.paths.first:
            return None
        first, second, between = map(
            self.module.get_submodule, (self.paths.first, self.paths.expanded, self.paths.activation)
        )
        return first, second, between

    @property
    def points(self) -> Mapping[str, Place]:
        """Feature points of the layer, by kind."""
        named = {kind: getattr(self.paths, kind) for kind in ("attended", "expanded", "feedforward")}
        return {
            "mixed": Place(self.output, of_input=True),
            "projected": Place(self.output),
            **{kind: Place(self.module.get_submodule(path)) for kind, path in named.items()},
        }

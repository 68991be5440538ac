"""Families that make BERT smaller: DistilBERT and ALBERT."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.family.bert import (
    DEFAULTS,
    MODEL_FIELDS,
    MOST,
    MOST_LAYERS,
    READ_FIELDS,
    Bert,
    BertLayer,
    BertParts,
    ElectraParts,
    LayerPaths,
    trained,
)
from ingest.family.protocol import LABELS, TRUTH, Config, Field, ModelParts, number, text, whole

if TYPE_CHECKING:
    from torch import Tensor, nn


class DistilBert(Bert):
    """DistilBERT (Sanh et al. 2019): the layers of BERT under other names, and no token types."""

    model_type = "distilbert"
    name = "DistilBERT"
    config_class, encoder_class = "DistilBertConfig", "DistilBertModel"
    encoder_options: Mapping[str, Any] = {}
    architectures = trained("DistilBert")
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("vocab_transform.weight",),
        "classification": ("classifier.weight", "pre_classifier.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.", "pre_classifier.")
    prefix, layers_prefix = "distilbert.", "transformer."
    embedding_rows: Mapping[str, str] = {"word": "vocab_size", "position": "max_position_embeddings"}
    layer_weight = "transformer.layer.{}.ffn.lin2.weight"
    names: Mapping[str, str] = {
        "hidden_size": "dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "hidden_dim",
    }
    defaults: Mapping[str, int] = DEFAULTS | {"num_hidden_layers": 6, "type_vocab_size": 1}
    model_fields: Mapping[str, Field] = {
        "vocab_size": whole(1, MOST),
        "max_position_embeddings": whole(3, MOST),
        "sinusoidal_pos_embds": TRUTH,
        "n_layers": whole(1, MOST_LAYERS),
        **{name: whole(1, MOST) for name in ("n_heads", "dim", "hidden_dim")},
        **{name: number(0, 1) for name in ("dropout", "attention_dropout", "seq_classif_dropout")},
        "activation": text(),
        "initializer_range": number(0, 1000),
        "pad_token_id": whole(0, MOST, none=True),
        "tie_word_embeddings": TRUTH,
        "id2label": LABELS,
        "problem_type": text(none=True),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return DistilBertParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) by the head of masked wordpieces."""
        return model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(vectors))))

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """Logits (sentence, label) by the classifier, from the first token."""
        return model.classifier(model.pre_classifier(vectors[:, 0]).relu())


class DistilBertParts(BertParts):
    """Modules of a `transformers.DistilBertModel`."""

    has_token_types = False

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.transformer

    @property
    def layers(self) -> "Sequence[DistilBertLayer]":
        """The layers in order."""
        return list(map(DistilBertLayer, self.module.transformer.layer))


class DistilBertLayer(BertLayer):
    """Modules of a `TransformerBlock`, whose attention holds the output projection too."""

    paths = LayerPaths(
        value="attention.v_lin",
        output="attention.out_lin",
        norm="sa_layer_norm",
        attended="sa_layer_norm",
        expanded="ffn.lin2",
        feedforward="output_layer_norm",
        last_norm="output_layer_norm",
        first="ffn.lin1",
        activation="ffn.activation",
    )


class Albert(Bert):
    """ALBERT (Lan et al. 2020): the layers of a group share their weights, and embeddings have fewer features than layers."""

    model_type = "albert"
    name = "ALBERT"
    config_class, encoder_class = "AlbertConfig", "AlbertModel"
    architectures = trained("Albert")
    prefix = "albert."
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("predictions.dense.weight",),
        "classification": ("classifier.weight", "albert.pooler.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.", "albert.pooler.")
    vocabulary: Sequence[str] = ("spiece.model",)
    post_processor = "TemplateProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "num_hidden_groups": 1,
    }
    model_fields: Mapping[str, Field] = {
        **{name: field for name, field in MODEL_FIELDS.items() if name != "classifier_dropout"},
        "embedding_size": whole(1, MOST),
        "num_hidden_groups": whole(1, MOST),
        "inner_group_num": Field(
            "1: several layers in a group are not read",
            lambda value: type(value) is int and value == 1,
            "Choose a model with one layer in a group.",
        ),
        "classifier_dropout_prob": number(0, 1),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def weight_shapes(self, config: Config) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the weights; embeddings have a size of their own, and the last group of layers stands for all."""
        size, groups = self.size(config, "embedding_size"), self.size(config, "num_hidden_groups")
        rows = {
            f"embeddings.{name}_embeddings.weight": self.size(config, each)
            for name, each in self.embedding_rows.items()
        }
        last = f"encoder.albert_layer_groups.{groups - 1}.albert_layers.0.ffn_output.weight"
        own = self.size(config, "hidden_size"), self.size(config, "intermediate_size")
        return {name: (count, size) for name, count in rows.items()} | {last: own}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return AlbertParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) by the head of masked wordpieces."""
        return model.predictions(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """Logits (sentence, label) by the classifier, from the pooler's output for the first token."""
        own = model.base_model
        return model.classifier(own.pooler_activation(own.pooler(vectors[:, 0])))


class AlbertParts(ElectraParts):
    """Modules of a `transformers.AlbertModel`."""

    @property
    def _project(self) -> Any:
        return self.module.encoder.embedding_hidden_mapping_in

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.encoder.albert_layer_groups

    @property
    def layers(self) -> "Sequence[AlbertLayer]":
        """The layers in order; the layers of a group share one module."""
        layers, groups = self.module.config.num_hidden_layers, self.module.encoder.albert_layer_groups
        # As `AlbertTransformer.forward` divides.
        return [AlbertLayer(groups[int(layer / (layers / len(groups)))].albert_layers[0]) for layer in range(layers)]


class AlbertLayer(BertLayer):
    """Modules of a `transformers.AlbertLayer`, whose attention holds the output projection and the layer norm too."""

    paths = LayerPaths(
        value="attention.value",
        output="attention.dense",
        norm="attention.LayerNorm",
        attended="attention.LayerNorm",
        expanded="ffn_output",
        feedforward="full_layer_layer_norm",
        last_norm="full_layer_layer_norm",
        first="ffn",
        activation="activation",
    )

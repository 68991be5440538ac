"""DistilBERT (Sanh et al. 2019): the layers of BERT under other names, and no token types."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.family.bert import DEFAULTS, MOST, MOST_LAYERS, READ_FIELDS, Bert, BertLayer, BertParts, LayerPaths, trained
from ingest.family.protocol import LABELS, TRUTH, Field, ModelParts, number, text, whole

if TYPE_CHECKING:
    from torch import Tensor, nn


class DistilBert(Bert):
    """The family of DistilBERT: see `ingest.family.protocol.Family`."""

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
        """By the head of masked wordpieces."""
        return model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(vectors))))

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """By the classifier, from the first token."""
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

"""Families that turn queries and keys by their positions (Su et al. 2021) instead of adding a vector: Nomic BERT and Jina Embeddings v3."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.family.bert import (
    DEFAULTS,
    MODEL_FIELDS,
    MOST,
    READ_FIELDS,
    Bert,
    BertLayer,
    BertParts,
    LayerPaths,
    trained,
)
from ingest.family.protocol import ROTATION, Field, ModelParts, whole

if TYPE_CHECKING:
    from torch import Tensor, nn


class NomicBert(Bert):
    """Nomic BERT (Nussbaum et al. 2024), as transformers has it: see `ingest.family.protocol.Family`."""

    model_type = "nomic_bert"
    name = "Nomic BERT"
    config_class, encoder_class = "NomicBertConfig", "NomicBertModel"
    architectures = trained("NomicBert")
    prefix = "nomic_bert."
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("cls.predictions.transform.dense.weight",),
        "classification": ("classifier.weight", "nomic_bert.pooler.dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.", "nomic_bert.pooler.")
    embedding_rows: Mapping[str, str] = {"word": "vocab_size", "token_type": "type_vocab_size"}
    #: As files have it; transformers renames it.
    layer_weight = "encoder.layers.{}.mlp.fc2.weight"
    defaults: Mapping[str, int] = DEFAULTS | {"vocab_size": 30528, "max_position_embeddings": 2048}
    model_fields: Mapping[str, Field] = MODEL_FIELDS | {"rope_parameters": ROTATION}
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS, "head_dim": whole(1, MOST, none=True)}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return RotaryParts(model.base_model)


class JinaEmbeddingsV3(NomicBert):
    """Jina Embeddings v3 (Sturua et al. 2024), as transformers has it: a XLM-RoBERTa with turned queries and keys."""

    model_type = "jina_embeddings_v3"
    name = "Jina Embeddings v3"
    config_class, encoder_class = "JinaEmbeddingsV3Config", "JinaEmbeddingsV3Model"
    architectures = trained("JinaEmbeddingsV3")
    prefix = "roberta."
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("lm_head.dense.weight",),
        "classification": ("classifier.out_proj.weight", "classifier.dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.",)
    vocabulary: Sequence[str] = ("sentencepiece.bpe.model",)
    post_processor = "TemplateProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {
        "vocab_size": 250002,
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "max_position_embeddings": 8194,
        "type_vocab_size": 1,
        "pad_token_id": 1,
    }

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """By the head of masked wordpieces."""
        return model.lm_head(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """By the classifier, which takes the first token."""
        return model.classifier(vectors)


class RotaryParts(BertParts):
    """Modules of a `transformers.NomicBertModel` or `JinaEmbeddingsV3Model`."""

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.layers

    @property
    def layers(self) -> "Sequence[RotaryLayer]":
        """The layers in order."""
        return list(map(RotaryLayer, self.module.layers))


class RotaryLayer(BertLayer):
    """Modules of a layer, whose attention holds the output projection too."""

    paths = LayerPaths(
        value="self_attn.v_proj",
        output="self_attn.o_proj",
        norm="post_attention_layernorm",
        attended="post_attention_layernorm",
        expanded="mlp",
        feedforward="post_mlp_layernorm",
        last_norm="post_mlp_layernorm",
    )

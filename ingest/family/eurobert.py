"""EuroBERT (Boizard et al. 2025): ModernBERT's order of norms, turned queries and keys, and keys and values that several heads share.

Its norms do not take the mean off a vector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.family.bert import (
    DEFAULTS,
    MODEL_FIELDS,
    MOST,
    READ_FIELDS,
    Bert,
    BertParts,
    LayerPaths,
    trained,
)
from ingest.family.modernbert import ModernBertLayer, mean_of_tokens
from ingest.family.protocol import ROTATION, TRUTH, Config, Field, ModelParts, linear_map, number, text, whole

if TYPE_CHECKING:
    from torch import Tensor

_NOT_ITS = (
    "type_vocab_size",
    "classifier_dropout",
    "layer_norm_eps",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
)


class EuroBert(Bert):
    """The family of EuroBERT: see `ingest.family.protocol.Family`."""

    model_type = "eurobert"
    name = "EuroBERT"
    config_class, encoder_class = "EuroBertConfig", "EuroBertModel"
    encoder_options: Mapping[str, Any] = {}
    norm_first = True
    architectures = trained("EuroBert")
    prefix, layers_prefix = "model.", "layers."
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("lm_head.weight",),
        "classification": ("classifier.weight", "dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.", "dense.")
    embedding_weight = "embed_tokens.weight"
    layer_weight = "layers.{}.mlp.down_proj.weight"
    vocabulary: Sequence[str] = ("tokenizer.json",)
    post_processor = "TemplateProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "type_vocab_size": 1,
        "pad_token_id": 128001,
    }
    model_fields: Mapping[str, Field] = {
        **{name: field for name, field in MODEL_FIELDS.items() if name not in _NOT_ITS},
        "num_key_value_heads": whole(1, MOST, none=True),
        "rms_norm_eps": number(0, 1),
        "attention_dropout": number(0, 1),
        "rope_parameters": ROTATION,
        **dict.fromkeys(("attention_bias", "mlp_bias"), TRUTH),
        "classifier_pooling": text(),
        "mask_token_id": whole(0, MOST),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS, "head_dim": whole(1, MOST, none=True)}

    def weight_shapes(self, config: Config) -> Mapping[str, tuple[int, ...]]:
        """All heads together have as many channels as there are features."""
        size, layers = self.size(config, "hidden_size"), self.size(config, "num_hidden_layers")
        return {
            self.embedding_weight: (self.size(config, "vocab_size"), size),
            self.layer_weight.format(layers - 1): (size, self.size(config, "intermediate_size")),
            f"layers.{layers - 1}.self_attn.o_proj.weight": (size, size),
        }

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return EuroBertParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """By the head of masked wordpieces."""
        return model.lm_head(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":
        """By the classifier: of the first token, of the mean, or the mean of its answers to all tokens."""
        late = model.config.classifier_pooling == "late"
        pooled = {"bos": vectors[:, 0], "late": vectors}.get(model.config.classifier_pooling)
        answers = model.classifier(
            model.activation(model.dense(mean_of_tokens(vectors, real) if pooled is None else pooled))
        )
        return mean_of_tokens(answers, real) if late else answers


class EuroBertParts(BertParts):
    """Modules of a `transformers.EuroBertModel`."""

    has_token_types = False

    @property
    def encoder(self) -> Any:
        """All layers."""
        return self.module.layers

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""
        return self.module.embed_tokens

    @property
    def embeddings(self) -> "Sequence[Any]":
        """That table alone."""
        return [self.module.embed_tokens]

    @property
    def layers(self) -> "Sequence[EuroBertLayer]":
        """The layers in order."""
        *others, last = self.module.layers
        return [*map(EuroBertLayer, others), EuroBertLayer(last, self.module.norm)]


@dataclass(frozen=True)
class EuroBertLayer(ModernBertLayer):
    """Modules of a `EuroBertDecoderLayer`, whose output is the layer's."""

    centres = False
    paths = LayerPaths(
        value="self_attn.v_proj",
        output="self_attn.o_proj",
        norm="post_attention_layernorm",
        attended="post_attention_layernorm",
        expanded="mlp",
        feedforward="",
    )

    @property
    def value_map(self) -> "tuple[Tensor, Tensor]":
        """To the values of all heads, of which several have the same."""
        attention = self.module.self_attn
        heads = (part.unflatten(-1, (-1, attention.head_dim)) for part in linear_map(attention.v_proj))
        weight, bias = (each.repeat_interleave(attention.num_key_value_groups, -2).flatten(-2) for each in heads)
        return weight, bias

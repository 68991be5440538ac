"""Families that turn queries and keys by their positions (Su et al. 2021) instead of adding a vector.

Nomic BERT and Jina Embeddings v3 have the layers of BERT; ModernBERT and EuroBERT have norms before attention and
before the feed-forward network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    LayerPaths,
    trained,
)
from ingest.family.protocol import (
    LABELS,
    ROTATION,
    TRUTH,
    Config,
    Field,
    ModelParts,
    Place,
    linear_map,
    list_of,
    number,
    text,
    whole,
)
from ingest.family.roberta import PreLayerNormLayer
from store.kernels.bias import AttentionBias, LayerBias, Mask

if TYPE_CHECKING:
    from torch import Tensor, nn

#: Fields of BERT that EuroBERT lacks.
NOT_OF_EUROBERT = (
    "type_vocab_size",
    "classifier_dropout",
    "layer_norm_eps",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
)


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
    #: Name of the weight in files; transformers renames it.
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
        """Logits (token, wordpiece) by the head of masked wordpieces."""
        return model.lm_head(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """Logits (sentence, label) by the classifier, which takes the first token."""
        return model.classifier(vectors)


class RotaryParts(BertParts):
    """Modules of a `transformers.NomicBertModel` or `JinaEmbeddingsV3Model`. Its layers are beside its embeddings, in no encoder."""

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.layers

    @property
    def layers(self) -> "Sequence[BertLayer]":
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


class ModernBert(Bert):
    """ModernBERT (Warner et al. 2024): norms before attention and the feed-forward network, windows in most layers.

    As in RoBERTa-PreLayerNorm, the residual stream runs past the norms. In a layer with a window, a token sees the tokens at most
    half a window away.
    """

    model_type = "modernbert"
    name = "ModernBERT"
    config_class, encoder_class = "ModernBertConfig", "ModernBertModel"
    encoder_options: Mapping[str, Any] = {}
    architectures = trained("ModernBert")
    prefix, layers_prefix = "model.", "layers."
    norm_first = True
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("decoder.bias", "head.dense.weight"),
        "classification": ("classifier.weight", "head.dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.", "head.")
    embedding_weight = "embeddings.tok_embeddings.weight"
    embedding_rows: Mapping[str, str] = {"tok": "vocab_size"}
    layer_weight = "layers.{}.mlp.Wo.weight"
    vocabulary: Sequence[str] = ("vocab.json", "merges.txt")
    post_processor = "TemplateProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {
        "vocab_size": 50368,
        "num_hidden_layers": 22,
        "intermediate_size": 1152,
        "max_position_embeddings": 8192,
        "type_vocab_size": 1,
        "pad_token_id": 50283,
        "local_attention": 128,
    }
    model_fields: Mapping[str, Field] = {
        **{name: whole(1, MOST) for name in ("vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")},
        "num_hidden_layers": whole(1, MOST_LAYERS),
        "max_position_embeddings": whole(3, MOST),
        "local_attention": whole(1, MOST),
        "global_attn_every_n_layers": whole(1, MOST_LAYERS),
        "layer_types": list_of("full_attention", "sliding_attention"),
        "rope_parameters": ROTATION,
        **{name: number(0, 1e12) for name in ("global_rope_theta", "local_rope_theta")},
        **{name: text() for name in ("hidden_activation", "classifier_activation", "classifier_pooling")},
        **{name: number(0, 1) for name in ("norm_eps", "attention_dropout", "embedding_dropout", "mlp_dropout")},
        "classifier_dropout": number(0, 1),
        **dict.fromkeys(("norm_bias", "attention_bias", "mlp_bias", "decoder_bias", "classifier_bias"), TRUTH),
        "initializer_range": number(0, 1000),
        "pad_token_id": whole(0, MOST, none=True),
        "tie_word_embeddings": TRUTH,
        "id2label": LABELS,
        "problem_type": text(none=True),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return ModernBertParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) by the head of masked wordpieces."""
        return model.decoder(model.head(vectors))

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":
        """Logits (sentence, label) by the classifier, from the first token or from the mean."""
        pooled = vectors[:, 0] if model.config.classifier_pooling == "cls" else mean_of_tokens(vectors, real)
        return model.classifier(model.head(pooled))


def mean_of_tokens(vectors: "Tensor", real: "Tensor | None") -> "Tensor":
    """Mean (sentence, feature) of vectors (sentence, token, feature), without padding, where `real` (sentence, token) is False."""
    if real is None:
        return vectors.mean(dim=1)
    weight = real.to(vectors.dtype)
    return (vectors * weight[..., None]).sum(dim=1) / weight.sum(dim=1, keepdim=True)


class ModernBertParts(RotaryParts):
    """Modules of a `transformers.ModernBertModel`."""

    has_token_types = False

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""
        return self.module.embeddings.tok_embeddings

    @property
    def bias(self) -> AttentionBias:
        """A mask alone: a query sees half a window to each side."""
        config = self.module.config
        windows = {"full_attention": None, "sliding_attention": config.local_attention // 2}
        return AttentionBias([LayerBias(Mask(window=windows[kind])) for kind in config.layer_types])

    @property
    def layers(self) -> "Sequence[ModernBertLayer]":
        """The layers in order."""
        *others, last = self.module.layers
        return [*map(ModernBertLayer, others), ModernBertLayer(last, self.module.final_norm)]


@dataclass(frozen=True)
class ModernBertLayer(PreLayerNormLayer):
    """Modules of a `ModernBertEncoderLayer`, whose output is the layer's."""

    paths = LayerPaths(
        value="attn.Wqkv", output="attn.Wo", norm="mlp_norm", attended="mlp_norm", expanded="mlp", feedforward=""
    )

    @property
    def value_map(self) -> "tuple[Tensor, Tensor]":
        """Weight and bias of the map to the values of all heads: the last third of one linear layer."""
        weight, bias = super().value_map
        return weight[:, 2 * len(weight) :], bias[2 * len(weight) :]

    @property
    def points(self) -> Mapping[str, Place]:
        """Feature points of the layer, by kind; the norm after attention reads `attended`."""
        return {**super().points, "attended": Place(self.norm, of_input=True)}


class EuroBert(Bert):
    """EuroBERT (Boizard et al. 2025): ModernBERT's order of norms, and keys and values that several heads share.

    The norms do not subtract the mean of a vector.
    """

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
        **{name: field for name, field in MODEL_FIELDS.items() if name not in NOT_OF_EUROBERT},
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
        """Shapes of the weights whose sizes config.json sets; all heads together have as many channels as a layer has features."""
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
        """Logits (token, wordpiece) by the head of masked wordpieces."""
        return model.lm_head(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":
        """Logits (sentence, label) by the classifier, from the first token or the mean, or the mean of its logits of all tokens."""
        late = model.config.classifier_pooling == "late"
        pooled = {"bos": vectors[:, 0], "late": vectors}.get(model.config.classifier_pooling)
        answers = model.classifier(
            model.activation(model.dense(mean_of_tokens(vectors, real) if pooled is None else pooled))
        )
        return mean_of_tokens(answers, real) if late else answers


class EuroBertParts(RotaryParts):
    """Modules of a `transformers.EuroBertModel`."""

    has_token_types = False

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""
        return self.module.embed_tokens

    @property
    def embeddings(self) -> "Sequence[Any]":
        """The table of the vectors of the wordpieces alone."""
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
        """Weight and bias of the map to the values of all heads; several heads share one."""
        attention = self.module.self_attn
        heads = (part.unflatten(-1, (-1, attention.head_dim)) for part in linear_map(attention.v_proj))
        weight, bias = (each.repeat_interleave(attention.num_key_value_groups, -2).flatten(-2) for each in heads)
        return weight, bias

"""ModernBERT (Warner et al. 2024): norms before attention and the feed-forward network, turned queries and keys, windows in most layers.

As in `ingest.family.prelayernorm`, the residual stream runs past the norms. A token of a layer with a window sees those at most half
a window away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.family.bert import DEFAULTS, MOST, MOST_LAYERS, READ_FIELDS, Bert, BertParts, LayerPaths, trained
from ingest.family.prelayernorm import PreLayerNormLayer
from ingest.family.protocol import (
    LABELS,
    ROTATION,
    TRUTH,
    Field,
    ModelParts,
    Place,
    list_of,
    number,
    text,
    whole,
)
from store.kernels.bias import AttentionBias, LayerBias
from store.kernels.mask import Mask

if TYPE_CHECKING:
    from torch import Tensor, nn


class ModernBert(Bert):
    """The family of ModernBERT: see `ingest.family.protocol.Family`."""

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
        """By the head of masked wordpieces."""
        return model.decoder(model.head(vectors))

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":
        """By the classifier, from the first token or from the mean."""
        pooled = vectors[:, 0] if model.config.classifier_pooling == "cls" else mean_of_tokens(vectors, real)
        return model.classifier(model.head(pooled))


def mean_of_tokens(vectors: "Tensor", real: "Tensor | None") -> "Tensor":
    """Mean (sentence, feature) of vectors (sentence, token, feature), without the padding that `real` (sentence, token) tells."""
    if real is None:
        return vectors.mean(dim=1)
    weight = real.to(vectors.dtype)
    return (vectors * weight[..., None]).sum(dim=1) / weight.sum(dim=1, keepdim=True)


class ModernBertParts(BertParts):
    """Modules of a `transformers.ModernBertModel`."""

    has_token_types = False

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""
        return self.module.embeddings.tok_embeddings

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.layers

    @property
    def bias(self) -> AttentionBias:
        """A mask alone: half of a window to each side."""
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
        """To the values of all heads: the last third of what one linear layer makes."""
        weight, bias = super().value_map
        return weight[:, 2 * len(weight) :], bias[2 * len(weight) :]

    @property
    def points(self) -> Mapping[str, Place]:
        """Feature points; the sum after attention is what the norm reads."""
        return {**super().points, "attended": Place(self.norm, of_input=True)}

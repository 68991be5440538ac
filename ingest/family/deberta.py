"""DeBERTa-v2 and v3 (He et al. 2021): products of queries and keys with vectors of distances are added to scores.

transformers' modules do not ask `AttentionInterface`: this file makes them ask. Where both products are added, a score of queries
and keys is divided by sqrt(3 channels): queries are captured so that it is divided by sqrt(channels).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.family.bert import DEFAULTS, MODEL_FIELDS, MOST, READ_FIELDS, Bert, BertLayer, BertParts, trained
from ingest.family.protocol import TRUTH, Attend, Field, ModelParts, number, text, whole
from store.kernels.bias import AttentionBias, LayerBias

if TYPE_CHECKING:
    from torch import Tensor, nn

KINDS = ("c2p", "p2c")


def _are_kinds(value: Any) -> bool:
    names = [name.strip() for name in value.split("|")] if isinstance(value, str) else value
    return value is None or (isinstance(names, list) and all(name in KINDS for name in names))


class DebertaV2(Bert):
    """The family of DeBERTa-v2: see `ingest.family.protocol.Family`."""

    model_type = "deberta-v2"
    name = "DeBERTa-v2"
    config_class, encoder_class = "DebertaV2Config", "DebertaV2Model"
    implementation = "eager"
    encoder_options: Mapping[str, Any] = {}
    architectures = trained("DebertaV2")
    added = "products of the query and of the key with vectors of the distance"
    adds_products = True
    prefix = "deberta."
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("cls.predictions.transform.dense.weight",),
        "classification": ("classifier.weight", "pooler.dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.", "pooler.")
    embedding_rows: Mapping[str, str] = {"word": "vocab_size"}
    vocabulary: Sequence[str] = ("spm.model",)
    post_processor = "TemplateProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {
        "vocab_size": 128100,
        "hidden_size": 1536,
        "num_hidden_layers": 24,
        "num_attention_heads": 24,
        "intermediate_size": 6144,
        "type_vocab_size": 0,
    }
    model_fields: Mapping[str, Field] = {
        **{name: field for name, field in MODEL_FIELDS.items() if name != "classifier_dropout"},
        "type_vocab_size": whole(0, MOST),
        **dict.fromkeys(("relative_attention", "position_biased_input", "share_att_key"), TRUTH),
        "pos_att_type": Field("c2p and p2c, or one of them, in a list or as c2p|p2c, or null", _are_kinds),
        **dict.fromkeys(("max_relative_positions", "position_buckets"), whole(-1, MOST)),
        **dict.fromkeys(("norm_rel_ebd", "pooler_hidden_act"), text()),
        "pooler_dropout": number(0, 1),
    }
    fields: Mapping[str, Field] = {
        **model_fields,
        **READ_FIELDS,
        "conv_kernel_size": Field(
            "0: a convolution after the first layer is not read",
            lambda value: value == 0,
            "Choose a model without this convolution.",
        ),
    }

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return DebertaParts(model.base_model)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """Logits (sentence, label) by the classifier, from the pooler's output for the first token."""
        return model.classifier(model.pooler(vectors))


class DebertaParts(BertParts):
    """Modules of a `transformers.DebertaV2Model`."""

    @property
    def has_token_types(self) -> bool:  # type: ignore[override]
        """Whether the table of token types has a row."""
        return bool(self.module.config.type_vocab_size)

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.encoder.layer

    @property
    def shared(self) -> "Sequence[nn.Module]":
        """The vectors of distances, and their norm."""
        names = ("rel_embeddings", "LayerNorm")
        return [getattr(self.module.encoder, name) for name in names if hasattr(self.module.encoder, name)]

    @property
    def layers(self) -> "Sequence[DebertaLayer]":
        """The layers in order."""
        return list(map(DebertaLayer, self.module.encoder.layer))

    @property
    def bias(self) -> AttentionBias | None:
        """The vectors of each distance that layers multiply with queries and keys."""
        import torch
        from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

        encoder, reach = self.module.encoder, self.module.config.max_position_embeddings
        if not encoder.relative_attention:
            return None
        # Position of the query less that of the key, as transformers counts.
        distance = torch.arange(reach, -reach - 1, -1)
        most = encoder.layer[0].attention.self.max_relative_positions
        if encoder.position_buckets > 0:
            distance = make_log_bucket_position(distance, encoder.position_buckets, most).long()
        span = encoder.layer[0].attention.self.pos_ebd_size
        with torch.no_grad():
            vectors = encoder.get_rel_embedding()[: 2 * span].float()
            layers = [_layer_bias(layer.attention.self, vectors) for layer in encoder.layer]
        return AttentionBias(layers, (distance + span).clamp(0, 2 * span - 1).numpy())

    def ask(self, attend: Attend) -> None:
        """Make the self-attention of every layer ask `attend`."""
        for layer in self.module.encoder.layer:
            _ask(layer.attention.self, attend)


def _layer_bias(module: Any, vectors: "Tensor") -> LayerBias:
    """Bias of a `DisentangledSelfAttention`, from the vectors (bucket, feature) that all layers share."""

    def table(name: str, kind: str, divisor: float) -> Any:
        if kind not in module.pos_att_type:
            return None
        project = getattr(module, name if module.share_att_key else f"pos_{name}")
        heads = project(vectors).unflatten(-1, (module.num_attention_heads, -1)).transpose(0, 1) / divisor
        return heads.cpu().numpy().astype(np.float32)

    added = _added(module)
    return LayerBias(of_query=table("key_proj", "c2p", 1), of_key=table("query_proj", "p2c", added**0.5))


def _added(module: Any) -> int:
    """Number of products in a score, the product of query and key included."""
    return 1 + sum(kind in module.pos_att_type for kind in KINDS)


def _ask(module: Any, attend: Attend) -> None:
    """Make a `DisentangledSelfAttention` ask `attend` in a pass that is captured."""
    own, heads = module.forward, module.num_attention_heads

    def forward(
        hidden_states: "Tensor",
        attention_mask: "Tensor",
        output_attentions: bool = False,
        query_states: "Tensor | None" = None,
        relative_pos: "Tensor | None" = None,
        rel_embeddings: "Tensor | None" = None,
    ) -> "tuple[Tensor, Tensor | None]":
        query, key, value = (
            project(hidden_states).unflatten(-1, (heads, -1)).transpose(1, 2)
            for project in (module.query_proj, module.key_proj, module.value_proj)
        )

        def mask() -> "Tensor":
            added = query.new_zeros(1)
            if module.relative_attention:
                flat = (each.reshape(-1, *each.shape[2:]) for each in (query, key))
                added = module.disentangled_attention_bias(*flat, relative_pos, rel_embeddings, _added(module))
                added = added.unflatten(0, (-1, heads))
            return (added + query.new_zeros(attention_mask.shape)).masked_fill(
                ~attention_mask.bool(), -np.finfo(np.float16).max
            )

        context = attend(module, query, key, value, mask, scaling=(query.shape[-1] * _added(module)) ** -0.5)
        if context is None:
            outputs: tuple[Tensor, Tensor | None] = own(
                hidden_states, attention_mask, output_attentions, query_states, relative_pos, rel_embeddings
            )
            return outputs
        return context.flatten(-2), None

    module.forward = forward


class DebertaLayer(BertLayer):
    """Modules of a `DebertaV2Layer`."""

    paths = replace(BertLayer.paths, value="attention.self.value_proj")

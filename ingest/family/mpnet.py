"""MPNet (Song et al. 2020): the modules of BERT, whose layers share one table of what is added to scores by distance.

Its modules do not ask transformers' `AttentionInterface`: here they ask in its stead.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ingest.family.bert import DEFAULTS, MODEL_FIELDS, MOST, READ_FIELDS, BertLayer, LayerPaths, trained
from ingest.family.protocol import Attend, Config, Field, ModelParts, whole
from ingest.family.roberta import Roberta, RobertaParts
from store.kernels.bias import AttentionBias, LayerBias

if TYPE_CHECKING:
    from torch import Tensor, nn

#: Keys that are farther have the bucket of those, and positions begin after this number, whatever config.json says: so transformers has it.
FARTHEST, PADDING, BUCKETS = 128, 1, 32


class Mpnet(Roberta):
    """The family of MPNet: see `ingest.family.protocol.Family`."""

    model_type = "mpnet"
    name = "MPNet"
    config_class, encoder_class = "MPNetConfig", "MPNetModel"
    implementation = "eager"
    architectures = trained("MPNet")
    added = "a number by the distance of the key"
    prefix = "mpnet."
    embedding_rows: Mapping[str, str] = {"word": "vocab_size", "position": "max_position_embeddings"}
    vocabulary: Sequence[str] = ("vocab.txt",)
    defaults: Mapping[str, int] = DEFAULTS | {"vocab_size": 30527, "type_vocab_size": 1, "pad_token_id": 1}
    model_fields: Mapping[str, Field] = {
        **{name: kind for name, kind in MODEL_FIELDS.items() if name not in ("type_vocab_size", "classifier_dropout")},
        "relative_attention_num_buckets": whole(BUCKETS, MOST),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def longest_input(self, config: Config) -> int:
        """Of the positions, the first two are no token's."""
        return self.size(config, "max_position_embeddings") - PADDING - 1

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return MpnetParts(model.base_model)


class MpnetParts(RobertaParts):
    """Modules of a `transformers.MPNetModel`."""

    has_token_types = False
    padding = PADDING

    @property
    def encoder(self) -> "nn.Module":
        """All layers."""
        return self.module.encoder.layer

    @property
    def shared(self) -> "Sequence[nn.Module]":
        """The table by distance."""
        return [self.module.encoder.relative_attention_bias]

    @property
    def layers(self) -> "Sequence[MpnetLayer]":
        """The layers in order."""
        return list(map(MpnetLayer, self.module.encoder.layer))

    @property
    def bias(self) -> AttentionBias:
        """The table of all layers."""
        encoder = self.module.encoder
        table = encoder.relative_attention_bias.weight
        distances = table.new_tensor(range(-FARTHEST, FARTHEST + 1)).long()
        buckets: NDArray[np.int64] = encoder.relative_position_bucket(distances, num_buckets=BUCKETS).cpu().numpy()
        layer = LayerBias(by_bucket=table.detach().float().T.cpu().numpy())
        return AttentionBias([layer] * len(encoder.layer), buckets)

    def ask(self, attend: Attend) -> None:
        """The self-attention of every layer."""
        for layer in self.module.encoder.layer:
            _ask(layer.attention.attn, attend)


def _ask(module: Any, attend: Attend) -> None:
    """Replace what a `MPNetSelfAttention` computes, in a pass that is captured."""
    own = module.forward

    def forward(
        hidden_states: "Tensor",
        attention_mask: "Tensor | None",
        position_bias: "Tensor",
        **options: Any,
    ) -> "tuple[Tensor, ...]":
        query, key, value = (
            project(hidden_states).unflatten(-1, (module.num_attention_heads, -1)).transpose(1, 2)
            for project in (module.q, module.k, module.v)
        )
        mask = lambda: position_bias if attention_mask is None else attention_mask + position_bias  # noqa: E731
        context = attend(module, query, key, value, mask)
        if context is None:
            outputs: tuple[Tensor, ...] = own(hidden_states, attention_mask, position_bias, **options)
            return outputs
        return (module.o(context.flatten(-2)),)

    module.forward = forward


class MpnetLayer(BertLayer):
    """Modules of a `MPNetLayer`, whose attention holds the output projection too."""

    paths = LayerPaths(
        value="attention.attn.v",
        output="attention.attn.o",
        norm="attention.LayerNorm",
        attended="attention.LayerNorm",
        expanded="output.dense",
        feedforward="output",
        last_norm="output.LayerNorm",
        first="intermediate.dense",
        activation="intermediate.intermediate_act_fn",
    )

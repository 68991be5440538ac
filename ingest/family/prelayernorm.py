"""RoBERTa with the layer norm before attention and before the feed-forward network (Ott et al. 2019), as transformers has it.

The residual stream runs past the norms: a layer's input and output are not normalised, and the output of the last layer is what the
final norm makes of it, which the trained heads read. The norm that reads the sum after attention is that of the feed-forward network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.family.bert import BertLayer, trained
from ingest.family.protocol import ModelParts, Place
from ingest.family.roberta import Roberta, RobertaParts


class RobertaPreLayerNorm(Roberta):
    """The family: see `ingest.family.protocol.Family`."""

    model_type = "roberta-prelayernorm"
    name = "RoBERTa-PreLayerNorm"
    config_class, encoder_class = "RobertaPreLayerNormConfig", "RobertaPreLayerNormModel"
    architectures = trained("RobertaPreLayerNorm")
    prefix = "roberta_prelayernorm."
    norm_first = True

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return PreLayerNormParts(model.base_model)


class PreLayerNormParts(RobertaParts):
    """Modules of a `transformers.RobertaPreLayerNormModel`."""

    @property
    def layers(self) -> "Sequence[PreLayerNormLayer]":
        """The layers in order."""
        *others, last = self.module.encoder.layer
        return [*map(PreLayerNormLayer, others), PreLayerNormLayer(last, self.module.LayerNorm)]


@dataclass(frozen=True)
class PreLayerNormLayer(BertLayer):
    """Modules of a `RobertaPreLayerNormLayer`, with the final norm of the last one."""

    final_norm: Any = None

    #: The norm that reads the sum after attention is that of the feed-forward network.
    paths = replace(BertLayer.paths, norm="intermediate.LayerNorm")

    @property
    def residual_norms(self) -> Sequence[Any]:
        """The final norm, after the last layer."""
        return [self.final_norm] if self.final_norm else []

    @property
    def points(self) -> Mapping[str, Place]:
        """Feature points."""
        last = {"feedforward": Place(self.final_norm)} if self.final_norm else {}
        return {**super().points, **last}

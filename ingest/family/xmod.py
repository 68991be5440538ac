"""X-MOD (Pfeiffer et al. 2022): RoBERTa whose layers end with an adapter of a language, between two norms.

The norm after the feed-forward network is passed twice where the adapter has none of its own: before the adapter, and after it. A
checkpoint names the language whose adapters are read. A layer is not a BERT's, so ALTI, Value Zeroing and DecompX are not computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.family.bert import MOST, READ_FIELDS, BertLayer, trained
from ingest.family.protocol import TEXTS, TRUTH, Config, Field, ModelParts, text, whole
from ingest.family.roberta import RobertaParts, XlmRoberta

#: Of `transformers.XmodConfig`, where config.json leaves them out.
LANGUAGES = ("en_XX",)


class Xmod(XlmRoberta):
    """The family: see `ingest.family.protocol.Family`."""

    model_type = "xmod"
    name = "X-MOD"
    config_class, encoder_class = "XmodConfig", "XmodModel"
    architectures = trained("Xmod")
    model_fields: Mapping[str, Field] = {
        **XlmRoberta.model_fields,
        "pre_norm": Field("false", lambda value: value is False),
        "adapter_reduction_factor": whole(1, MOST),
        "adapter_layer_norm": TRUTH,
        "adapter_reuse_layer_norm": TRUTH,
        "ln_before_adapter": TRUTH,
        "languages": Field("a list of names", lambda value: isinstance(value, list) and TEXTS.accepts(value)),
        "default_language": text(none=True),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def misfits(self, config: Config) -> Mapping[str, str]:
        """The language that is read has adapters."""
        if config.get("default_language") in config.get("languages", LANGUAGES):
            return {}
        return {"default_language": "one of languages, as XmodModel.set_default_language sets it"}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return XmodParts(model.base_model)


class XmodParts(RobertaParts):
    """Modules of a `transformers.XmodModel`."""

    @property
    def layers(self) -> "Sequence[XmodLayer]":
        """The layers in order."""
        return list(map(XmodLayer, self.module.encoder.layer))


@dataclass(frozen=True)
class XmodLayer(BertLayer):
    """Modules of a `transformers.XmodLayer`: its output is that of no module inside it, as the last norm is passed twice."""

    paths = replace(BertLayer.paths, attended="attention.output.LayerNorm", feedforward="", first="", activation="")

    @property
    def residual_norms(self) -> Sequence[Any]:
        """With the norm before the adapter, where the residual runs through it."""
        attended, last = super().residual_norms
        output = self.module.output
        before = output.adapter_layer_norm or (last if output.adapter_reuse_layer_norm else None)
        return [attended, *([before] if before is not None and output.ln_before_adapter else []), last]

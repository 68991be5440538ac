"""RoBERTa (Liu et al. 2019) and families built like it: the modules of BERT, whose positions begin after the number of the padding.

Further families here change its layers: RoBERTa-PreLayerNorm, ESM, X-MOD and MPNet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
from ingest.family.protocol import TEXTS, TRUTH, Attend, Config, Field, ModelParts, Place, number, text, whole
from store.kernels.bias import AttentionBias, LayerBias

if TYPE_CHECKING:
    from torch import Tensor, nn

#: Fields of BERT that ESM lacks.
NOT_OF_ESM = ("hidden_act", "type_vocab_size", "classifier_dropout")
#: Languages of X-MOD as `transformers.XmodConfig` has them, where config.json leaves them out.
LANGUAGES = ("en_XX",)
#: MPNet in transformers, whatever config.json says: distance beyond which keys share a bucket, number of the padding, after
#: which positions begin, and number of buckets.
FARTHEST, PADDING, BUCKETS = 128, 1, 32


class Roberta(Bert):
    """The family of RoBERTa: see `ingest.family.protocol.Family`."""

    model_type = "roberta"
    name = "RoBERTa"
    config_class = "RobertaConfig"
    encoder_class = "RobertaModel"
    architectures = trained("Roberta")
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("lm_head.dense.weight",),
        "classification": ("classifier.out_proj.weight", "classifier.dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.",)
    prefix = "roberta."
    vocabulary: Sequence[str] = ("vocab.json", "merges.txt")
    post_processor = "RobertaProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {"vocab_size": 50265, "pad_token_id": 1}
    model_fields: Mapping[str, Field] = MODEL_FIELDS | {"pad_token_id": whole(0, MOST)}
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def longest_input(self, config: Config) -> int:
        """Number of positions without those up to the padding's, which no token has."""
        return super().longest_input(config) - self.size(config, "pad_token_id") - 1

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return RobertaParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) by the head of masked wordpieces."""
        return model.lm_head(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """Logits (sentence, label) by the classifier, which takes the first token."""
        return model.classifier(vectors)


class XlmRoberta(Roberta):
    """XLM-RoBERTa (Conneau et al. 2020): RoBERTa in a hundred languages, with a tokenizer of sentencepiece."""

    model_type = "xlm-roberta"
    name = "XLM-RoBERTa"
    config_class, encoder_class = "XLMRobertaConfig", "XLMRobertaModel"
    architectures = trained("XLMRoberta")
    vocabulary: Sequence[str] = ("sentencepiece.bpe.model",)
    post_processor = "TemplateProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {"pad_token_id": 1}


class Camembert(XlmRoberta):
    """CamemBERT (Martin et al. 2020): RoBERTa in French, with a tokenizer of sentencepiece."""

    model_type = "camembert"
    name = "CamemBERT"
    config_class, encoder_class = "CamembertConfig", "CamembertModel"
    architectures = trained("Camembert")


class Data2VecText(Roberta):
    """data2vec (Baevski et al. 2022) of text: RoBERTa trained on its own vectors."""

    model_type = "data2vec-text"
    name = "data2vec"
    config_class, encoder_class = "Data2VecTextConfig", "Data2VecTextModel"
    architectures = trained("Data2VecText")
    prefix = "data2vec_text."
    defaults: Mapping[str, int] = DEFAULTS | {"pad_token_id": 1}


@dataclass(frozen=True)
class RobertaParts(BertParts):
    """Modules of a `transformers.RobertaModel`."""

    @property
    def padding(self) -> int:
        """Number of the padding's wordpiece: positions begin after it."""
        padding: int = self.module.config.pad_token_id
        return padding

    def positions(self, token_ids: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions, counted from the padding's number on; padding in a text is not counted, and has that number itself."""
        real = token_ids != self.padding
        counted, start = np.cumsum(real), np.arange(len(place)) - place
        in_sentence = counted - counted[start] + real[start]
        positions: NDArray[np.int64] = in_sentence * real + self.padding
        return positions


class RobertaPreLayerNorm(Roberta):
    """RoBERTa with the layer norm before attention and before the feed-forward network (Ott et al. 2019), as transformers has it.

    The residual stream runs past the norms: a layer's input and output are not normalised, and the output of the last layer is what
    the final norm makes of it, which the trained heads read. The norm that reads the sum after attention is that of the feed-forward
    network.
    """

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
        """The final norm, in the last layer; no norm in the others."""
        return [self.final_norm] if self.final_norm else []

    @property
    def points(self) -> Mapping[str, Place]:
        """Feature points of the layer, by kind."""
        last = {"feedforward": Place(self.final_norm)} if self.final_norm else {}
        return {**super().points, **last}


class Esm(Roberta):
    """ESM-1b and ESM-2 (Rives et al. 2021, Lin et al. 2023) of proteins: the modules of BERT with norms before them, a token for each letter.

    ESM-2 turns queries and keys by their positions; the older model adds a vector. Queries are scaled before they are turned.
    """

    model_type = "esm"
    name = "ESM"
    config_class, encoder_class = "EsmConfig", "EsmModel"
    norm_first = True
    architectures = trained("Esm")
    prefix = "esm."
    vocabulary: Sequence[str] = ("vocab.txt",)
    post_processor = "TemplateProcessing"
    embedding_rows: Mapping[str, str] = {"word": "vocab_size"}
    defaults: Mapping[str, int] = DEFAULTS | {"max_position_embeddings": 1026, "type_vocab_size": 1, "pad_token_id": 1}
    model_fields: Mapping[str, Field] = {
        **{name: field for name, field in MODEL_FIELDS.items() if name not in NOT_OF_ESM},
        "pad_token_id": whole(0, MOST),
        "mask_token_id": whole(0, MOST, none=True),
        "rope_theta": number(0, 1e12),
        "position_embedding_type": Field(
            "absolute, rotary or null", lambda value: value in ("absolute", "rotary", None)
        ),
        "emb_layer_norm_before": Field("true, false or null", lambda value: value in (True, False, None)),
        "token_dropout": TRUTH,
    }
    fields: Mapping[str, Field] = {**READ_FIELDS, **model_fields}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return EsmParts(model.base_model)


class EsmParts(RobertaParts):
    """Modules of a `transformers.EsmModel`."""

    has_token_types = False

    @property
    def layers(self) -> "Sequence[EsmLayer]":
        """The layers in order."""
        *others, last = self.module.encoder.layer
        return [*map(EsmLayer, others), EsmLayer(last, self.module.encoder.emb_layer_norm_after)]

    def positions(self, token_ids: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place in the sentence where queries and keys are turned, else as RoBERTa counts."""
        turns = self.module.config.position_embedding_type == "rotary"
        return place if turns else super().positions(token_ids, place)


class EsmLayer(PreLayerNormLayer):
    """Modules of an `EsmLayer`, whose own layer norm is that of the feed-forward network."""

    paths = replace(PreLayerNormLayer.paths, norm="LayerNorm")


class Xmod(XlmRoberta):
    """X-MOD (Pfeiffer et al. 2022): RoBERTa whose layers end with an adapter of a language, between two norms.

    The norm after the feed-forward network is passed twice where the adapter has none of its own: before the adapter, and after it. A
    checkpoint names the language whose adapters are read. A layer is not a BERT's, so ALTI, Value Zeroing and DecompX are not computed.
    """

    model_type = "xmod"
    name = "X-MOD"
    config_class, encoder_class = "XmodConfig", "XmodModel"
    architectures = trained("Xmod")
    model_fields: Mapping[str, Field] = {
        **XlmRoberta.model_fields,
        "pre_norm": Field(
            "false: norms before attention are not read",
            lambda value: value is False,
            "Choose a model with norms after attention.",
        ),
        "adapter_reduction_factor": whole(1, MOST),
        "adapter_layer_norm": TRUTH,
        "adapter_reuse_layer_norm": TRUTH,
        "ln_before_adapter": TRUTH,
        "languages": Field("a list of names", lambda value: isinstance(value, list) and TEXTS.accepts(value)),
        "default_language": text(none=True),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def misfits(self, config: Config) -> Mapping[str, str]:
        """The default language, where it has no adapters: the model reads the adapters of that language."""
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
        """The norms of a BERT layer, and between them the norm before the adapter, where the residual runs through it."""
        attended, last = super().residual_norms
        output = self.module.output
        before = output.adapter_layer_norm or (last if output.adapter_reuse_layer_norm else None)
        return [attended, *([before] if before is not None and output.ln_before_adapter else []), last]


class Mpnet(Roberta):
    """MPNet (Song et al. 2020): the modules of BERT, whose layers share one table of what is added to scores by distance.

    transformers' modules do not ask `AttentionInterface`: this file makes them ask.
    """

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
        """Number of positions without the first two, which no token has."""
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
        """The table of the bias by distance."""
        return [self.module.encoder.relative_attention_bias]

    @property
    def layers(self) -> "Sequence[MpnetLayer]":
        """The layers in order."""
        return list(map(MpnetLayer, self.module.encoder.layer))

    @property
    def bias(self) -> AttentionBias:
        """The bias by distance, which all layers share."""
        encoder = self.module.encoder
        table = encoder.relative_attention_bias.weight
        distances = table.new_tensor(range(-FARTHEST, FARTHEST + 1)).long()
        buckets: NDArray[np.int64] = encoder.relative_position_bucket(distances, num_buckets=BUCKETS).cpu().numpy()
        layer = LayerBias(by_bucket=table.detach().float().T.cpu().numpy())
        return AttentionBias([layer] * len(encoder.layer), buckets)

    def ask(self, attend: Attend) -> None:
        """Make the self-attention of every layer ask `attend`."""
        for layer in self.module.encoder.layer:
            _ask_mpnet(layer.attention.attn, attend)


def _ask_mpnet(module: Any, attend: Attend) -> None:
    """Make a `MPNetSelfAttention` ask `attend` in a pass that is captured."""
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

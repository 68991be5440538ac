"""GPT-2 (Radford et al. 2019): a token sees itself and the tokens before it, and nothing stands before or after a text.

Norms come before attention and the feed-forward network, as in ModernBERT. Its linear layers are transformers' `Conv1D`, whose
weights lie the other way round; one of them makes queries, keys and values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.family.bert import DEFAULTS, MODEL_FIELDS, MOST, MOST_LAYERS, READ_FIELDS, Bert, BertParts, LayerPaths
from ingest.family.protocol import TRUTH, Config, Field, ModelParts, number, padding_of, text, whole
from ingest.family.rotary import ModernBertLayer
from store.kernels.bias import AttentionBias, LayerBias, Mask

if TYPE_CHECKING:
    from torch import Tensor

_SHARED = ("vocab_size", "initializer_range", "pad_token_id", "tie_word_embeddings", "id2label", "problem_type")


class Gpt2(Bert):
    """The family of GPT-2: see `ingest.family.protocol.Family`."""

    model_type = "gpt2"
    name = "GPT-2"
    config_class, encoder_class = "GPT2Config", "GPT2Model"
    encoder_options: Mapping[str, Any] = {}
    norm_first = True
    causal = True
    architectures: Mapping[str, str] = {"next": "GPT2LMHeadModel", "classification": "GPT2ForSequenceClassification"}
    prefix, layers_prefix = "transformer.", "h."
    #: Buffers that older versions of transformers wrote.
    buffers: tuple[str, ...] = (".attn.masked_bias",)
    head_weights: Mapping[str, Sequence[str]] = {"classification": ("score.weight",)}
    new_weights: tuple[str, ...] = ("score.",)
    embedding_weight = "wte.weight"
    layer_weight = "h.{}.mlp.c_proj.weight"
    vocabulary: Sequence[str] = ("vocab.json", "merges.txt")
    post_processor = ""
    names: Mapping[str, str] = {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
        "intermediate_size": "n_inner",
    }
    defaults: Mapping[str, int] = DEFAULTS | {
        "vocab_size": 50257,
        "max_position_embeddings": 1024,
        "type_vocab_size": 1,
    }
    model_fields: Mapping[str, Field] = {
        **{name: MODEL_FIELDS[name] for name in _SHARED},
        "n_embd": whole(1, MOST),
        "n_layer": whole(1, MOST_LAYERS),
        "n_head": whole(1, MOST),
        "n_positions": whole(3, MOST),
        "n_inner": whole(1, MOST, none=True),
        "activation_function": text(),
        "layer_norm_epsilon": number(0, 1),
        **{name: number(0, 1) for name in ("resid_pdrop", "embd_pdrop", "attn_pdrop")},
        **dict.fromkeys(("scale_attn_weights", "scale_attn_by_inverse_layer_idx"), TRUTH),
        "eos_token_id": whole(0, MOST, none=True),
    }
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def size(self, config: Config, field: str) -> int:
        """A size from a checked config.json, or its default; by default the feed-forward network is four times as wide as a layer."""
        if field == "intermediate_size" and config.get("n_inner") is None:
            return 4 * self.size(config, "hidden_size")
        return super().size(config, field)

    def weight_shapes(self, config: Config) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the weights whose sizes config.json sets; the weight of a layer has its inputs first."""
        size = self.size(config, "hidden_size")
        return {
            self.embedding_weight: (self.size(config, "vocab_size"), size),
            "wpe.weight": (self.size(config, "max_position_embeddings"), size),
            self.layer_weight.format(self.size(config, "num_hidden_layers") - 1): (
                self.size(config, "intermediate_size"),
                size,
            ),
        }

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model, which pads with the end of a text and keeps no keys for a next call."""
        config = model.config
        config.use_cache = False
        config.pad_token_id = padding_of(config)
        return Gpt2Parts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Logits (token, wordpiece) by the head of the next wordpiece."""
        return model.lm_head(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":
        """Logits (sentence, label) by the classifier, from the last token: it alone sees the whole text."""
        last = vectors[:, -1] if real is None else vectors[list(range(len(vectors))), real.sum(dim=1) - 1]
        return model.score(last)


class Gpt2Parts(BertParts):
    """Modules of a `transformers.GPT2Model`."""

    #: Whether the model takes token types; GPT-2 reads that argument as wordpieces.
    has_token_types = False

    @property
    def embedding(self) -> Any:
        """The table of the vectors of the wordpieces."""
        return self.module.wte

    @property
    def embeddings(self) -> Sequence[Any]:
        """The tables of wordpieces and positions, and the dropout that reads their sum."""
        return [self.module.wte, self.module.wpe, self.module.drop]

    @property
    def encoder(self) -> Any:
        """All layers."""
        return self.module.h

    @property
    def layers(self) -> "Sequence[Gpt2Layer]":
        """The layers in order."""
        *others, last = self.module.h
        return [*map(Gpt2Layer, others), Gpt2Layer(last, self.module.ln_f)]

    @property
    def bias(self) -> AttentionBias:
        """A mask alone: a query sees no key after it."""
        return AttentionBias([LayerBias(Mask(causal=True))] * len(self.module.h))


@dataclass(frozen=True)
class Gpt2Layer(ModernBertLayer):
    """Modules of a `GPT2Block`, whose output is the layer's."""

    paths = LayerPaths(
        value="attn.c_attn", output="attn.c_proj", norm="ln_2", attended="ln_2", expanded="mlp", feedforward=""
    )

    @property
    def value_map(self) -> "tuple[Tensor, Tensor]":
        """Weight and bias of the map to the values of all heads: the last third of one linear layer."""
        linear = self.module.get_submodule(self.paths.value)
        size = len(linear.weight)
        return linear.weight[:, 2 * size :], linear.bias[2 * size :]

    @property
    def output_map(self) -> "tuple[Tensor, Tensor]":
        """Weight and bias of the output projection."""
        return self.output.weight, self.output.bias

"""A BERT whose hooks capture the queries, keys, values and layer inputs of its attention heads.

The model runs on its fast attention path (sdpa), which never hands out a pattern; whoever needs one computes it from
the captured queries and keys of a batch and drops it.
"""

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ingest.encode.counted_attention import CountedAttention, Sentences
from ingest.encode.packed_linear import can_pack, pack_linears
from ingest.encode.weights import check_shapes, check_values, refused, stored_tensors, wrapper_of
from ingest.run.checkpoint import Checkpoint
from ingest.run.config import model_config
from ingest.run.errors import IngestError
from ingest.run.parallel import side_by_side
from store.kernels.attention import expansion_rate, output_gram
from store.kernels.mixing import attended_part, mixing_ratios, own_part

#: transformers' class of a model that tells labels apart.
CLASSIFIER = "BertForSequenceClassification"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass
class Capture:
    """Tensors captured in one forward pass, one per layer: (sentence, token, feature)."""

    query: list[Tensor] = field(default_factory=list)
    key: list[Tensor] = field(default_factory=list)
    value: list[Tensor] = field(default_factory=list)
    layer_input: list[Tensor] = field(default_factory=list)
    #: Output of the output projection, bias included.
    projected: list[Tensor] = field(default_factory=list)
    #: By the name of the feature point; empty unless `Bert.listen_at_points`.
    points: dict[str, Tensor] = field(default_factory=dict)


class _Passing(threading.local):
    """The capture of the pass that runs in this thread, and the sentences whose patterns it counts."""

    capture: Capture
    sentences: Sentences | None = None


class Bert:
    """A loaded checkpoint on a device. Layers, heads and sizes are those of the model.

    `packed` makes a forward pass faster on a CPU and its weights unchangeable, see `packed_linear`.
    """

    def __init__(
        self, checkpoint: Checkpoint, *, device: torch.device, dtype: torch.dtype, packed: bool = False
    ) -> None:
        self.device = device
        self.dtype = dtype
        # cuDNN plans attention anew for every shape of a batch, and in every thread, for longer than the batch takes.
        torch.backends.cuda.enable_cudnn_sdp(False)
        self.model = load_model(checkpoint, "BertModel", add_pooling_layer=False).to(device).eval()
        if packed and can_pack(device, dtype):
            pack_linears(self.model.encoder)
        self.layers: int = self.model.config.num_hidden_layers
        self.heads: int = self.model.config.num_attention_heads
        self.channels: int = self.model.config.hidden_size // self.heads
        self._passing = _Passing()
        for layer in self.model.encoder.layer:
            self._listen(layer)

    def _listen(self, layer: nn.Module) -> None:
        attention: Any = layer.attention
        layer.register_forward_pre_hook(self._keep_input)
        for name in ("query", "key", "value"):
            getattr(attention.self, name).register_forward_hook(self._keep_output(name))
        attention.output.dense.register_forward_hook(self._keep_output("projected"))

    def listen_at_points(self, points: Sequence[str]) -> None:
        """From now on also capture the vectors at these feature points (`store.schema.features`)."""
        embeddings: Any = self.model.embeddings
        self._keep_point(embeddings.word_embeddings, "embedding", points)
        self._keep_point(embeddings, "position", points)
        for number, layer in enumerate(self.model.encoder.layer):
            places = {
                "projected": layer.attention.output.dense,
                "attended": layer.attention.output,
                "expanded": layer.output.dense,
                "feedforward": layer.output,
            }
            for kind, module in places.items():
                self._keep_point(module, f"L{number:02d}.{kind}", points)
            layer.attention.output.dense.register_forward_pre_hook(self._keep_mixed(f"L{number:02d}.mixed"))

    def _keep_point(self, module: nn.Module, point: str, points: Sequence[str]) -> None:
        def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            self._passing.capture.points[point] = output

        if point in points:
            module.register_forward_hook(hook)

    def _keep_mixed(self, point: str) -> Callable[..., None]:
        def hook(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            self._passing.capture.points[point] = inputs[0]

        return hook

    def _keep_output(self, name: str) -> Callable[..., None]:
        def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            getattr(self._passing.capture, name).append(output)

        return hook

    def _keep_input(self, _module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._passing.capture.layer_input.append(inputs[0])

    def run(self, token_ids: Tensor, real: Tensor | None, segment: Tensor | None = None) -> Capture:
        """One forward pass over (sentence, token); `real` is None where nothing is padding.

        `segment` (sentence, token) says which sentence of a pair a token is of; None: all are of the first.
        """
        mask = None if real is None else real.long()
        return self._pass(input_ids=token_ids, attention_mask=mask, token_type_ids=segment)

    def count_patterns(self, grams: Sequence[Tensor]) -> None:
        """From now on `run_counted` can be called, on a CPU in float32; `grams` are the model's `output_grams`."""
        for layer, gram in zip(self.model.encoder.layer, grams, strict=True):
            layer.attention.self = CountedAttention(layer.attention.self, gram, lambda: self._passing.sentences)

    def run_counted(self, token_ids: Tensor, sentences: Sentences) -> Capture:
        """One forward pass over the tokens of `sentences` (token,), whose patterns are counted.

        The tensors captured are of one sentence, (1, token, feature).
        """
        self._passing.sentences = sentences
        try:
            return self._pass(input_ids=token_ids[None], position_ids=torch.from_numpy(sentences.positions)[None])
        finally:
            self._passing.sentences = None

    def _pass(self, **inputs: Tensor | None) -> Capture:
        self._passing.capture = capture = Capture()
        with torch.inference_mode(), torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            self.model(**inputs)
        return capture

    def split_heads(self, tensor: Tensor) -> Tensor:
        """(sentence, token, head, channel) in float32 from a captured (sentence, token, feature)."""
        return tensor.float().unflatten(-1, (self.heads, self.channels))

    def output_grams(self) -> list[Tensor]:
        """Per layer, the Gram matrices (head, channel, channel) of the heads' parts of the output projection."""
        return [
            output_gram(output.weight.unflatten(0, (self.heads, self.channels))) for output in self.output_projections()
        ]

    def output_projections(self) -> list["OutputProjection"]:
        """The output projection of every layer."""
        return [OutputProjection.of(layer.attention.output) for layer in self.model.encoder.layer]

    def expansion_rates(self) -> list[float]:
        """Expansion rate of every layer: how much x -> f(x) lengthens a vector (Kobayashi et al. 2021)."""
        parts = [(layer.attention.self.value, layer.attention.output.dense) for layer in self.model.encoder.layer]
        weights = [(v.weight.T, v.bias, o.weight.T, o.bias) for v, o in parts]
        exact = [[weight.detach().cpu().double() for weight in own] for own in weights]
        # On one core each: several threads would add the squares in an order of their own.
        return side_by_side(lambda own: expansion_rate(*own), exact)


@dataclass(frozen=True)
class OutputProjection:
    """The output projection of a layer, in float32: `weight` (head and channel, feature), `bias` and `gain` (feature).

    The gain is gamma of the layer norm after it.
    """

    weight: Tensor
    bias: Tensor
    gain: Tensor

    @classmethod
    def of(cls, output: Any) -> "OutputProjection":
        """The output projection of a layer, from its `attention.output`."""
        weight, bias, gain = (
            part.detach().float() for part in (output.dense.weight, output.dense.bias, output.LayerNorm.weight)
        )
        return cls(weight.T, bias, gain)

    def mixing(self, pattern: Tensor, value: Tensor, layer_input: Tensor, projected: Tensor | None = None) -> Tensor:
        """Mixing ratios (ratio, ..., token); see `store.kernels.mixing`.

        From p(i,j) (..., head, query_token, key_token), values (..., token, head, channel), and the captured `layer_input`
        of the layer (..., token, feature). What the model `projected` itself saves two products; in 16 bits it is not
        exact enough, and computed here.
        """
        to_self = pattern.diagonal(0, -2, -1).transpose(-2, -1)
        if projected is not None and projected.dtype == torch.float32:
            attended = projected - self.bias
        else:
            attended = attended_part(pattern, value, self.weight)
        return mixing_ratios(to_self, attended, own_part(to_self, value, self.weight), layer_input.float(), self.gain)


def find_device(name: str) -> torch.device:
    """The device of the flag --device; `auto` takes the fastest one available."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind, available in there.items() if available))
    if not there.get(name, False):
        raise IngestError(
            f"There is no device {name!r} here. Give --device={', '.join(kind for kind, ok in there.items() if ok)} or auto."
        )
    return torch.device(name)


def find_dtype(name: str, device: torch.device) -> torch.dtype:
    """The dtype of the matrix products; `auto` is `cuda_dtype` on cuda and float32 elsewhere."""
    if name == "auto":
        return cuda_dtype() if device.type == "cuda" else torch.float32
    if name not in DTYPES:
        raise IngestError(f"--dtype={name} is not known. Give one of auto, {', '.join(DTYPES)}.")
    return DTYPES[name]


def cuda_dtype() -> torch.dtype:
    """The 16 bits that the GPU multiplies in: bfloat16 where it does not merely emulate it, which would be slower."""
    return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16


def load_model(
    checkpoint: Checkpoint,
    architecture: str,
    *,
    fresh: tuple[str, ...] = (),
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """One of transformers' classes with the checkpoint's weights, in float32 on the fast attention path.

    Weights whose names begin with one of `fresh` may be missing or of another shape: they are then random. Fields of `config`
    replace those of config.json.
    """
    import transformers

    check_shapes(checkpoint)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    options |= {"attn_implementation": "sdpa", "dtype": torch.float32, "output_loading_info": True}
    if wrapper := wrapper_of(stored_tensors(checkpoint)):
        options["key_mapping"] = {f"^{re.escape(wrapper)}": ""}
    try:
        loaded: Any = getattr(transformers, architecture).from_pretrained(
            checkpoint.folder, config=model_config(checkpoint.config, **(config or {})), **options
        )
    except Exception as error:  # transformers lets through whatever a file makes of it
        raise refused(checkpoint, type(error).__name__) from error
    model, info = loaded
    absent = info["missing_keys"] | {name for name, *_shapes in info["mismatched_keys"]}
    _check_encoder(checkpoint, info["unexpected_keys"])
    missing = {name for name in absent if not name.startswith(fresh)}
    if missing:
        raise refused(checkpoint, f"no weights that fit {min(missing)}")
    check_values(checkpoint, model.state_dict())
    return model


def import_libraries() -> None:
    """Import what `load_model` needs, which takes seconds."""
    from transformers import BertModel  # noqa: F401


def _check_encoder(checkpoint: Checkpoint, unexpected: Iterable[str]) -> None:
    """Weights of the layers that transformers leaves out make another model; heads of training and buffers do not."""
    left_out = [name for name in unexpected if name.removeprefix("bert.").startswith("encoder.")]
    if left_out:
        raise IngestError(
            f"{checkpoint.name} has weights that are not those of a BERT ({min(left_out)}). Give a checkpoint with the layers of a BERT alone."
        )

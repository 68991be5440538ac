"""A model whose hooks capture the queries, keys, values and layer inputs of its attention heads.

The model runs on its fast attention path (sdpa), which never returns a pattern; callers that need a pattern compute it from
the captured queries and keys of a batch and drop it. `SentenceModel` gives everything that the heads compute of one
sentence or pair, as they are or with the patterns of some heads replaced.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.encode.capture import (
    CAPTURED,
    NOTHING,
    AttendInLayer,
    Capture,
    Pass,
    Replaced,
    attend_in_pass,
    keep,
    keep_point,
    running,
)
from ingest.encode.counted_attention import can_pack, pack_linears
from ingest.encode.loading import class_names, classifier_class, find_device, find_dtype, load_model
from ingest.family.protocol import LayerParts, Place
from ingest.run.checkpoint import Checkpoint, longest_input
from ingest.run.errors import IngestError, short
from ingest.run.parallel import side_by_side
from ingest.text.tokenizer import Pair, Tokenizer, Tokens
from store.kernels.attention import (
    attention_pattern,
    expansion_rate,
    output_gram,
    value_norm,
)
from store.kernels.bias import AttentionBias
from store.kernels.mixing import ProductMap, ResidualNorms, attended_part, mixing_products, mixing_ratios, own_part
from store.schema.model import RATIOS

#: Number of wordpieces that a model is tried on, beyond the reach of its bias by distance, where it has one.
PROBED = 24
#: Largest allowed difference of a weight from transformers' own: sums in float32 depend on their order.
LARGEST_ERROR = 1e-4


def _as_it_is(vectors: Tensor) -> Tensor:
    return vectors


class LinearStep(NamedTuple):
    """A linear layer in a pass, with its input `given` and its output `made`: (sentence, feature)."""

    linear: Any
    given: Tensor
    made: Tensor


class HookedModel:
    """A loaded checkpoint on a device. Layers, heads and sizes are those of the model.

    `packed` makes a forward pass faster on a CPU and its weights unchangeable, see `PackedLinear`; with `classifies` it
    has the classifier of the checkpoint, too. `loaded` is a model in memory, whose modules get hooks; None loads the checkpoint.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: torch.device,
        dtype: torch.dtype,
        packed: bool = False,
        classifies: bool = False,
        loaded: Any = None,
    ) -> None:
        self.device = device
        self.dtype = dtype
        # cuDNN plans attention anew for every shape of a batch, and in every thread, for longer than the batch takes.
        torch.backends.cuda.enable_cudnn_sdp(False)
        self._family = family = checkpoint.family
        if loaded is None:
            loaded = (
                load_model(checkpoint, classifier_class(checkpoint))
                if classifies
                else load_model(checkpoint, family.encoder_class, **family.encoder_options)
            )
        self._loaded: Any = loaded.to(device).eval()
        self.parts = family.parts(self._loaded)
        self._attend_by(CAPTURED)
        self.parts.ask(attend_in_pass)
        if packed and can_pack(device, dtype):
            pack_linears(self.parts.encoder)
        self.config: Any = self._loaded.config
        self.longest = checkpoint.family.longest_input(checkpoint.config)
        self.layers: int = self.config.num_hidden_layers
        self.heads: int = self.config.num_attention_heads
        self.channels: int = self.config.hidden_size // self.heads
        for layer in self._layers:
            keep(Place(layer.module, of_input=True), lambda capture, vectors: capture.layer_input.append(vectors))
            keep(Place(layer.output), lambda capture, vectors: capture.projected.append(vectors))

    @property
    def family_name(self) -> str:
        """Name of the model's family, as people call it."""
        return self._family.name

    @property
    def bias(self) -> AttentionBias | None:
        """Bias that the model adds to q.k / sqrt(channels), from its weights as they are now."""
        return self.parts.bias

    @property
    def _layers(self) -> list[LayerParts]:
        """The layers that have modules of their own: some families run the same modules as several layers."""
        return list({id(layer.module): layer for layer in self.parts.layers}.values())

    def listen_at_points(self, points: Sequence[str]) -> None:
        """Register hooks that also capture the vectors at these feature points (`store.schema.features`)."""
        keep_point(Place(self.parts.embedding), "embedding", points, self.parts.in_layer_size)
        keep_point(Place(self.parts.embeddings[-1]), "position", points, _as_it_is)
        for layer in self._layers:
            for kind, place in layer.points.items():
                keep_point(place, kind, points, _as_it_is)

    def run(self, token_ids: Tensor, real: Tensor | None, segment: Tensor | None = None) -> Capture:
        """Tensors of one forward pass over wordpieces (sentence, token); `real` is None where nothing is padding.

        `segment` (sentence, token) says which sentence of a pair a token is of; None: all are of the first.
        """
        return self._run(Pass(), token_ids, real, segment)

    def run_replaced(self, token_ids: Tensor, segment: Tensor, replaced: Replaced) -> Capture:
        """Tensors of one forward pass over (sentence, token) without padding, in which some heads have other patterns."""
        return self._run(Pass(replaced=replaced), token_ids, None, segment)

    def _run(self, passing: Pass, token_ids: Tensor, real: Tensor | None, segment: Tensor | None) -> Capture:
        mask = None if real is None else real.long()
        kinds = {"token_type_ids": segment} if self.parts.has_token_types else {}
        return self._pass(passing, input_ids=token_ids, attention_mask=mask, **kinds)

    def run_unpadded(self, token_ids: Tensor, place_in_sentence: NDArray[np.int64], attend: AttendInLayer) -> Capture:
        """Tensors of one forward pass on a CPU over sentences in one row (token,); `attend` keeps the sentences apart."""
        positions = torch.from_numpy(self.parts.positions(token_ids.numpy(), place_in_sentence))
        return self._pass(Pass(instead=attend), input_ids=token_ids[None], position_ids=positions[None])

    def attention_error(self) -> float:
        """Largest difference between a weight of transformers' own pattern and that of the captured queries and keys, in float32.

        Measured on a row of wordpieces. Infinite where other layers or heads attend than the config says, NaN where a weight is NaN.
        """
        vocab = torch.arange(min(PROBED + 1, self.config.vocab_size), device=self.device)
        # Repeated as often as needed: a single token always gets all attention.
        bias = self.bias
        tokens = min(PROBED + (0 if bias is None else bias.reach), self.longest)
        padding = self.config.pad_token_id
        words = vocab if padding is None else vocab[vocab != padding]
        token_ids = words.repeat(tokens)[None, :tokens]
        module: Any = self.parts.module
        with torch.inference_mode(), running(Pass()) as capture:
            module(input_ids=token_ids)
        self._attend_by("eager")
        try:
            with torch.inference_mode():
                patterns = module(input_ids=token_ids, output_attentions=True).attentions
        finally:
            self._attend_by(CAPTURED)
        seen = {tuple(vectors.shape[2:]) for vectors in capture.query}
        if not len(capture.query) == len(patterns) == self.layers or seen != {(self.heads, self.channels)}:
            return float("inf")
        found = (
            attention_pattern(*(each[0].float().transpose(0, 1) for each in vectors), bias=bias and bias.part(layer))
            for layer, vectors in enumerate(zip(capture.query, capture.key, strict=True))
        )
        errors = [(own - pattern[0]).abs().max() for own, pattern in zip(found, patterns, strict=True)]
        return float(torch.stack(errors).max())

    def _attend_by(self, implementation: str) -> None:
        """Change transformers' kind of attention; not in families that are loaded with `eager`, the only kind that they know."""
        if self._family.implementation != "eager":
            self._loaded.set_attn_implementation(implementation)

    def guess_labels(self, last: Tensor) -> Tensor:
        """Logits (sentence, label) of a model that classifies, from the output of the last layer (sentence, token, feature)."""
        return self._family.guess_labels(self._loaded, last)

    def answer_steps(self, last: Tensor) -> list["LinearStep"]:
        """Inputs and outputs of the linear layers of a classifier, in the order of their calls, from the last vectors (token, feature)."""
        steps: list[LinearStep] = []

        def keep_step(module: Any, inputs: Any, made: Tensor) -> None:
            steps.append(LinearStep(module, inputs[0].detach(), made.detach()))

        linear = [module for module in self._loaded.modules() if isinstance(module, torch.nn.Linear)]
        hooks = [module.register_forward_hook(keep_step) for module in linear]
        try:
            with torch.no_grad():
                self.guess_labels(last[None])
        finally:
            for hook in hooks:
                hook.remove()
        return steps

    def _pass(self, passing: Pass, **inputs: Tensor | None) -> Capture:
        halves = torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)
        with torch.inference_mode(), halves, running(passing) as capture:
            capture.last = self.parts.module(**inputs)[0]
        return capture

    def output_grams(self) -> list[Tensor]:
        """Per layer, the Gram matrices (head, channel, channel) of the heads' parts of the output projection."""
        return [
            output_gram(output.weight.unflatten(0, (self.heads, self.channels))) for output in self.output_projections()
        ]

    def output_projections(self) -> list["OutputProjection"]:
        """The output projection of every layer."""
        return list(map(OutputProjection.of, self.parts.layers))

    def product_maps(self) -> list[ProductMap]:
        """Maps of every layer that give the inner products of context mixing, in float32."""
        return [self._product_map(layer) for layer in self.parts.layers]

    def _product_map(self, layer: LayerParts) -> ProductMap:
        weight, _ = layer.output_map
        norms = ResidualNorms([norm.weight.detach().float() for norm in layer.residual_norms], layer.centres)
        return ProductMap.of(weight.detach().float().unflatten(0, (self.heads, self.channels)), norms)

    def expansion_rates(self) -> list[float]:
        """Expansion rate of every layer: how much x -> f(x) lengthens a vector (Kobayashi et al. 2021)."""
        maps = [(*layer.value_map, *layer.output_map) for layer in self.parts.layers]
        exact = [[part.detach().cpu().double() for part in own] for own in maps]
        # One core for each layer: several threads would add the squares in a varying order.
        return side_by_side(lambda own: expansion_rate(*own), exact)


def check_attention(model: HookedModel, name: str) -> float:
    """The error of a model, see `HookedModel.attention_error`; refused where its attention is not the softmax of its queries and keys.

    Raises
    ------
    IngestError
        Says how much the weights differ, or that they are no numbers, or that other layers or heads attend.
    """
    error = model.attention_error()
    if not error <= LARGEST_ERROR:
        raise IngestError(
            f"{_other_attention(short(name), error)} Give another model, or report the family of this one."
        )
    return error


def _other_attention(name: str, error: float) -> str:
    """How a model's attention differs from the softmax of its queries and keys, as a sentence."""
    if math.isnan(error):
        return f"The attention weights of {name} are not finite numbers."
    unseen = "a layer did not ask for attention, or for other heads than its config says"
    how = unseen if math.isinf(error) else f"a weight differs by {error:.2g}, at most {LARGEST_ERROR:g} is allowed"
    return f"{name} attends otherwise than its queries and keys say: {how}."


@dataclass(frozen=True)
class OutputProjection:
    """The output projection of a layer, in float32: `weight` (head and channel, feature), `bias` and `gain` (feature).

    `gain` is gamma of the layer norm after it; `centres` says whether that norm subtracts the mean of a vector.
    """

    weight: Tensor
    bias: Tensor
    gain: Tensor
    centres: bool

    @classmethod
    def of(cls, layer: LayerParts) -> "OutputProjection":
        """The output projection of a layer."""
        weight, bias, gain = (part.detach().float() for part in (*layer.output_map, layer.norm.weight))
        return cls(weight, bias, gain, layer.centres)

    def mixing(self, pattern: Tensor, value: Tensor, layer_input: Tensor, projected: Tensor | None = None) -> Tensor:
        """Mixing ratios (ratio, ..., token); see `store.kernels.mixing`.

        Takes p(i,j) (..., head, query_token, key_token), values (..., token, head, channel), and the captured `layer_input`
        of the layer (..., token, feature). The captured output `projected` saves two products; in 16 bits it is not exact
        enough, and is computed here.
        """
        to_self = pattern.diagonal(0, -2, -1).transpose(-2, -1)
        if projected is not None and projected.dtype == torch.float32:
            attended = projected - self.bias
        else:
            attended = attended_part(pattern, value, self.weight)
        own = own_part(to_self, value, self.weight)
        return mixing_ratios(to_self, attended, own, layer_input.float(), self.gain, centred=self.centres)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Queries, keys and further vectors of every head in one sentence, in float32."""

    query: NDArray[np.float32]  # (layer, head, token, channel), before the 1/sqrt(channels) scale
    key: NDArray[np.float32]  # (layer, head, token, channel)
    value_norm: NDArray[np.float32]  # (layer, head, token), ||f(x)||
    mixing: NDArray[np.float32]  # (ratio, layer, token), `store.schema.model.RATIOS`
    products: NDArray[np.float32] | None  # (layer, product, token), `store.kernels.mixing`; None where not asked for
    last: NDArray[np.float32]  # (token, feature), the output of the last layer
    answer: NDArray[np.float32]  # (label,), logits of a classifier; empty of another model


class SentenceModel:
    """A checkpoint with its tokenizer, on the fastest device available, in the dtype of an ingest. One thread at a time.

    With `loaded`, that model on its own device, without its classifier; its modules get hooks.
    """

    def __init__(self, checkpoint: Checkpoint, *, max_length: int, dtype: str, loaded: Any = None) -> None:
        longest = min(max_length, longest_input(checkpoint))
        self.tokenizer = Tokenizer(checkpoint.folder, max_length=longest, name=checkpoint.name)
        device = find_device("auto") if loaded is None else loaded.device
        #: Names of a classifier's labels; empty for another model.
        self.class_names = tuple(class_names(checkpoint)) if loaded is None else ()
        classifies = bool(self.class_names)
        #: The model that reads the sentences.
        self.hooked = HookedModel(
            checkpoint, device=device, dtype=find_dtype(dtype, device), classifies=classifies, loaded=loaded
        )
        if loaded is not None:
            check_attention(self.hooked, checkpoint.name)
        self._last = f"L{self.hooked.layers - 1:02d}.feedforward"
        self.hooked.listen_at_points([self._last])
        self._grams = self.hooked.output_grams()
        self._projections = self.hooked.output_projections()
        #: Bias that the model adds to q.k / sqrt(channels).
        self.bias = self.hooked.bias
        self._token_types = checkpoint.family.size(checkpoint.config, "type_vocab_size")

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return sum(parameter.nbytes for parameter in self.hooked.parts.module.parameters())

    def tokenize(self, text: str, second: str, *, most: int | None = None) -> Pair:
        """Wordpieces of a pair, or of one sentence where `second` is empty; at most `most`."""
        tokenizer = self.tokenizer if most is None else self.tokenizer.cut_at(most)
        if second:
            return tokenizer.tokenize_pair(text, second)
        tokens = tokenizer.tokenize([text])
        first = np.zeros(len(tokens.token_id), np.uint8)
        return Pair(tokens, first, first)

    def without_vector(self, tokens: Tokens) -> list[str]:
        """Wordpieces that the embedding of the model has no row for: its tokenizer may know more."""
        rows = int(self.hooked.config.vocab_size)
        return [self.tokenizer.vocab[number] for number in tokens.token_id if number >= rows]

    def run(
        self, tokens: Tokens, token_type: NDArray[np.uint8], replaced: Replaced = NOTHING, *, products: bool = False
    ) -> Vectors:
        """Vectors of one forward pass; the patterns in `replaced` have as many tokens as the pass."""
        capture = self.capture(tokens, token_type, replaced)
        with torch.inference_mode():
            return self._vectors(capture, replaced, self._products(capture) if products else None)

    def capture(self, tokens: Tokens, token_type: NDArray[np.uint8], replaced: Replaced = NOTHING) -> Capture:
        """Tensors that the hooks capture in one forward pass, see `run`."""
        rows = (tokens.token_id, self.known_types(token_type))
        token_ids, segments = (torch.from_numpy(row.astype(np.int64))[None] for row in rows)
        device = self.hooked.device
        return self.hooked.run_replaced(token_ids.to(device), segments.to(device), replaced)

    def outputs(self, capture: Capture) -> Vectors:
        """Outputs of the model in a pass: `last` and `answer`; the other arrays have no tokens."""
        layers, heads, channels = self.hooked.layers, self.hooked.heads, self.hooked.channels
        with torch.inference_mode():
            last, answer = self._outputs(capture)
        return Vectors(
            query=np.empty((layers, heads, 0, channels), np.float32),
            key=np.empty((layers, heads, 0, channels), np.float32),
            value_norm=np.empty((layers, heads, 0), np.float32),
            mixing=np.empty((len(RATIOS), layers, 0), np.float32),
            products=None,
            last=last,
            answer=answer,
        )

    def last_vectors(self, capture: Capture) -> Tensor:
        """The output of the last layer in a pass (token, feature)."""
        return capture.points[self._last][0].float()

    def _outputs(self, capture: Capture) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The output of the last layer (token, feature), and the logits of a classifier (label,)."""
        last = self.last_vectors(capture)
        answer = self.hooked.guess_labels(last[None])[0] if self.class_names else torch.zeros(0)
        return last.cpu().numpy(), answer.cpu().numpy()

    def known_types(self, token_type: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Token types (token,) that the model knows: some checkpoints know only one."""
        return np.minimum(token_type, max(0, self._token_types - 1))

    def _vectors(self, capture: Capture, replaced: Replaced, products: NDArray[np.float32] | None) -> Vectors:
        query, key, value = (
            [layer[0].float().transpose(0, 1) for layer in layers]
            for layers in (capture.query, capture.key, capture.value)
        )
        norms = [value_norm(vectors, gram) for vectors, gram in zip(value, self._grams, strict=True)]
        mixing = [
            self._mixing(layer, capture, replaced, *query_key_value)
            for layer, query_key_value in enumerate(zip(query, key, value, strict=True))
        ]
        last, answer = self._outputs(capture)
        return Vectors(
            query=torch.stack(query).cpu().numpy(),
            key=torch.stack(key).cpu().numpy(),
            value_norm=torch.stack(norms).cpu().numpy(),
            mixing=torch.stack(mixing, dim=1).cpu().numpy(),
            products=products,
            last=last,
            answer=answer,
        )

    def _products(self, capture: Capture) -> NDArray[np.float32]:
        """Inner products that context mixing follows from (layer, product, token)."""
        layers = zip(capture.value, capture.layer_input, self._maps, strict=True)
        products = [mixing_products(value[0].float(), x[0].float(), of_layer).T for value, x, of_layer in layers]
        found: NDArray[np.float32] = torch.stack(products).cpu().numpy()
        return found

    @cached_property
    def _maps(self) -> list[ProductMap]:
        return self.hooked.product_maps()

    def _mixing(
        self, layer: int, capture: Capture, replaced: Replaced, query: Tensor, key: Tensor, value: Tensor
    ) -> Tensor:
        """Mixing ratios of a layer (ratio, token) from its vectors (head, token, channel)."""
        bias, layer_input = self.bias and self.bias.part(layer), capture.layer_input[layer][0]
        pattern = attention_pattern(query, key, bias=bias)
        for (of, head), weights in replaced.items():
            if of == layer:
                pattern[head] = torch.as_tensor(weights, dtype=pattern.dtype, device=pattern.device)
        return self._projections[layer].mixing(pattern, value.transpose(0, 1), layer_input)

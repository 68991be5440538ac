"""Shares of each token in each token of one sentence, with the model: ALTI, Value Zeroing and DecompX.

For models with layer norms after attention and after a feed-forward network of two linear layers, as BERT has. With y_ij of
`store.kernels.mixing` and LN the norms:

- ALTI (Ferrando et al. 2022, section 3): max(0, |y_i|_1 - |y_i - t_ij|_1), t_ij is y_ij after LN of attention, y_i the output of LN.
- Value Zeroing (Mohebbi et al. 2023, section 3): cosine distance of the output of a layer for token i to that with the value of token j set to 0.
  The sum after attention loses its part of j, so that the norms and the feed-forward network alone are computed again.
- DecompX (Modarressi et al. 2023, section 3): the vector of each token as a sum over input tokens, carried through all layers. Attention
  and norms are linear for given weights and deviations; the activation is a factor act(z) / z of each unit; a bias is shared out in
  proportion to |bias . z_k| of the parts z_k. The parts sum to the vector of the model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import layer_norm, linear, normalize

from ingest.encode.capture import Capture
from ingest.encode.hooked_model import HookedModel, LinearStep
from ingest.family.protocol import LayerParts
from ingest.run.errors import IngestError
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias
from store.kernels.mixing import roll_out
from store.schema.mixing import MOST_BYTES

#: Pairs of tokens whose vectors are computed at once: vectors of a feed-forward network then fit into a cache.
PAIRS = 1_024
#: Magnitude of a sum of parts below which its activation gets the slope at 0.
SMALL = 1e-9
#: Added to the share of the token itself, so that a row of zeros sums to 1, too.
LEAST = 1e-12
DECOMPX = "decompx"
#: Largest difference between logits and the sums of their parts, as a share of the largest logit; beyond it no parts are given.
LARGEST_MISS = 1e-3
#: Advice where a method needs layers that a model lacks, and where a text is too long for it.
INSTEAD = "Choose globenc, or a model with BERT's layers."
SHORTER = "Choose alti, or a shorter text."


@dataclass(frozen=True)
class Affine:
    """A linear layer: `weight` (input, output), `bias` (output)."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor) -> "Affine":
        """The layer of a weight and a bias, without gradients."""
        return cls(weight.detach(), bias.detach())


@dataclass(frozen=True)
class Norm:
    """A layer norm: `gain` and `shift` (feature), and `epsilon`, which is added to the variance."""

    gain: Tensor
    shift: Tensor
    epsilon: float

    @classmethod
    def of(cls, module: Any) -> "Norm":
        """The norm of a `torch.nn.LayerNorm`, without gradients."""
        return cls(module.weight.detach(), module.bias.detach(), module.eps)

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (..., feature) after the norm."""
        return layer_norm(vectors, self.gain.shape, self.gain, self.shift, self.epsilon)

    def linear(self, parts: Tensor, whole: Tensor) -> Tensor:
        """Parts (..., feature) of vectors after the norm, without the shift, by the deviation of the whole vectors."""
        deviation = (whole.var(-1, unbiased=False, keepdim=True) + self.epsilon).sqrt()
        return (parts - parts.mean(-1, keepdim=True)).mul_(self.gain / deviation)


@dataclass(frozen=True)
class TracedLayer:
    """A layer with its tensors from one pass over one sentence.

    Attributes
    ----------
    query, key
        (head, token, channel); the model adds `bias` to their logits.
    value
        (token, head, channel).
    layer_input
        (token, feature).
    to_value, output
        The maps to the values of all heads side by side, and from these to what is added to the residual.
    norms
        After attention, and after the feed-forward network.
    first, second
        Linear layers of that network, with `activation` between.
    """

    query: Tensor
    key: Tensor
    bias: AttentionBias | None
    value: Tensor
    layer_input: Tensor
    to_value: Affine
    output: Affine
    norms: tuple[Norm, Norm]
    first: Affine
    second: Affine
    activation: Callable[[Tensor], Tensor]

    @property
    def pattern(self) -> Tensor:
        """Attention weights (head, query_token, key_token)."""
        pattern: Tensor = attention_pattern(self.query, self.key, bias=self.bias)
        return pattern

    def parts(self) -> Iterator[tuple[slice, Tensor]]:
        """Vectors y_ij without the residual, by blocks of i: the block, and its vectors (query_token, key_token, feature)."""
        heads, tokens, _ = self.query.shape
        brought = torch.einsum("jhc,hcd->jhd", self.value, self.output.weight.unflatten(0, (heads, -1)))
        by_key = self.pattern.permute(2, 1, 0)
        for block in blocks(tokens):
            yield block, torch.matmul(by_key[:, block], brought).transpose(0, 1)

    def output_vectors(self) -> Tensor:
        """Output of the layer (token, feature) from its input, pattern and values."""
        added = torch.cat([parts.sum(1) for _, parts in self.parts()])
        return self.after_attention(added + self.output.bias + self.layer_input)

    def after_attention(self, summed: Tensor) -> Tensor:
        """Output of the layer (..., feature) from the sum after attention, with the bias of the output projection in it."""
        attended = self.norms[0](summed)
        expanded = self.activation(linear(attended, self.first.weight.T, self.first.bias))
        return self.norms[1](linear(expanded, self.second.weight.T, self.second.bias).add_(attended))


def blocks(tokens: int) -> Iterator[slice]:
    """Some tokens of a sentence at a time: `PAIRS` pairs with all tokens."""
    size = max(1, PAIRS // tokens)
    return (slice(start, min(tokens, start + size)) for start in range(0, tokens, size))


def trace(
    model: HookedModel, token_ids: Tensor, segment: Tensor | None = None, *, instead: str = INSTEAD
) -> list[TracedLayer]:
    """The layers of a model after a pass over one sentence, or a pair with the `segment` of each token (token,); see `traced`."""
    capture = model.run(token_ids[None], None, None if segment is None else segment[None])
    return traced(model, capture, instead=instead)


def traced(model: HookedModel, capture: Capture, *, instead: str = INSTEAD) -> list[TracedLayer]:
    """The layers of a model after a pass over one sentence that captured these tensors.

    Raises
    ------
    IngestError
        Where the layers are built otherwise; its message ends with `instead`.
    """
    return [_traced(model, parts, capture, layer, instead) for layer, parts in enumerate(model.parts.layers)]


def _traced(model: HookedModel, parts: LayerParts, capture: Capture, layer: int, instead: str) -> TracedLayer:
    norms = parts.residual_norms
    feedforward = parts.feedforward if len(norms) == 2 and parts.centres else None
    if feedforward is None:
        raise IngestError(f"{model.family_name} cannot be decomposed: its layers are not those of a BERT. {instead}")
    first, second, activation = feedforward
    exact = parts.value_map[0].dtype  # dtype of the weights: vectors have 16 bits where the model multiplies in 16
    query, key, value, layer_input = (
        vectors[layer][0].detach().to(exact)
        for vectors in (capture.query, capture.key, capture.value, capture.layer_input)
    )
    bias = model.bias
    return TracedLayer(
        query.transpose(0, 1),
        key.transpose(0, 1),
        bias and bias.part(layer),
        value,
        layer_input,
        Affine.of(*parts.value_map),
        Affine.of(*parts.output_map),
        (Norm.of(norms[0]), Norm.of(norms[1])),
        Affine.of(first.weight.T, first.bias),
        Affine.of(second.weight.T, second.bias),
        activation,
    )


def _shares(lengths: Tensor) -> Tensor:
    """Rows (query_token, key_token) divided by their sums; a row of zeros gives all to the token itself."""
    lengths = lengths.clamp(min=0) + LEAST * torch.eye(len(lengths), dtype=lengths.dtype, device=lengths.device)
    return lengths / lengths.sum(-1, keepdim=True)


#: Function that is called before each part of a layer is computed.
Tell = Callable[[], None]


def _nobody() -> None:
    """Do nothing: nobody follows the progress."""


def alti(layer: TracedLayer, tell: Tell = _nobody) -> Tensor:
    """ALTI of one layer (query_token, key_token); rows sum to 1."""
    lengths = []
    for block, parts in layer.parts():
        tell()
        rows = torch.arange(len(parts))
        parts[rows, rows + block.start] += layer.layer_input[block]
        summed = parts.sum(1) + layer.output.bias
        after = layer.norms[0](summed)
        without = after[:, None] - layer.norms[0].linear(parts, summed[:, None])
        lengths.append(after.abs().sum(-1)[:, None] - without.abs().sum(-1))
    return _shares(torch.cat(lengths))


def value_zeroing(layer: TracedLayer, tell: Tell = _nobody) -> Tensor:
    """Value Zeroing of one layer (query_token, key_token); rows sum to 1."""
    distances = []
    for block, parts in layer.parts():
        tell()
        summed = parts.sum(1) + layer.output.bias + layer.layer_input[block]
        changed = layer.after_attention(summed[:, None] - parts)  # the residual stays
        distances.append(_cosine_distance(changed, layer.after_attention(summed)[:, None]))
    return _shares(torch.cat(distances))


def _cosine_distance(vectors: Tensor, others: Tensor) -> Tensor:
    """1 - cosine (...) of vectors (..., feature), as |a - b|^2 / 2 of unit vectors: only so is a small distance exact in float32."""
    return (normalize(vectors, dim=-1) - normalize(others, dim=-1)).square().sum(-1) / 2


#: Methods that give a matrix of each layer by itself.
OF_LAYER: Mapping[str, Callable[[TracedLayer, Tell], Tensor]] = {"alti": alti, "value_zeroing": value_zeroing}


def length_shares(parts: Tensor) -> Tensor:
    """Shares of the input tokens in the lengths of the parts: (token, input_token); rows sum to 1."""
    lengths = parts.norm(dim=-1)
    return lengths / lengths.sum(-1, keepdim=True)


def decompose(
    layers: Sequence[TracedLayer], tell: Callable[[int], None] = lambda _: None, *, instead: str = SHORTER
) -> Iterator[Tensor]:
    """The vectors of the tokens after each layer as sums over input tokens: (token, input_token, feature).

    All layers yield the same tensor, which the next layer changes. `tell` gets the number of the layer, before each part of the layer.

    Raises
    ------
    IngestError
        Where the sentence is so long that its vectors do not fit into memory; its message ends with `instead`.
    """
    tokens, features = layers[0].layer_input.shape
    longest = isqrt(MOST_BYTES // (features * layers[0].layer_input.element_size()))
    if tokens > longest:
        raise IngestError(
            f"DecompX takes a vector for each pair of tokens: of this model at most {longest:,} tokens fit, and the text has {tokens:,}. {instead}"
        )
    parts = layers[0].layer_input.new_zeros(tokens, tokens, features)
    parts[torch.arange(tokens), torch.arange(tokens)] = layers[0].layer_input
    for number, layer in enumerate(layers):
        _decompose_layer(layer, parts, partial(tell, number))
        yield parts


def _decompose_layer(layer: TracedLayer, parts: Tensor, tell: Tell) -> None:
    """Change the parts of a layer's input to the parts of its output."""
    weights = _attend(layer, parts, tell)
    bias = layer.to_value.bias @ layer.output.weight + layer.output.bias
    for block in blocks(len(parts)):
        tell()
        attended = _normed(layer.norms[0], torch.addcmul(parts[block], _rows_to_one(weights[block])[..., None], bias))
        parts[block] = _normed(layer.norms[1], _feed_forward(layer, attended).add_(attended))


def _attend(layer: TracedLayer, parts: Tensor, tell: Tell) -> Tensor:
    """Add the parts that attention brings, without its bias; returns |bias . part| of each added part (token, input_token)."""
    pattern, bias = layer.pattern, layer.to_value.bias @ layer.output.weight + layer.output.bias
    weights = parts.new_empty(parts.shape[:2])
    for block in blocks(len(parts)):
        tell()
        value = (parts[:, block] @ layer.to_value.weight).unflatten(-1, (len(pattern), -1))
        context = pattern @ value.permute(2, 0, 1, 3).flatten(2)
        added = context.unflatten(-1, value.shape[1::2]).permute(1, 2, 0, 3).flatten(2) @ layer.output.weight
        weights[:, block] = (added @ bias).abs()
        parts[:, block] += added
    return weights


def _feed_forward(layer: TracedLayer, attended: Tensor) -> Tensor:
    """Parts (token, input_token, feature) of what the feed-forward network adds."""
    first, second = layer.first, layer.second
    share = _rows_to_one((attended @ (first.weight @ first.bias)).abs())
    whole = attended.sum(1) @ first.weight + share.sum(1)[:, None] * first.bias
    safe = torch.where(whole.abs() > SMALL, whole, torch.full_like(whole, SMALL))
    slope = layer.activation(safe) / safe
    made = (attended @ first.weight).mul_(slope[:, None]) @ second.weight
    made.addcmul_(share[..., None], ((slope * first.bias) @ second.weight)[:, None])
    return _with_bias(made, second.bias)


def _with_bias(parts: Tensor, bias: Tensor) -> Tensor:
    """Parts (token, input_token, feature) with the bias of their sum shared out in proportion to |bias . part|."""
    return torch.addcmul(parts, _rows_to_one((parts @ bias).abs())[..., None], bias)


def _rows_to_one(weights: Tensor) -> Tensor:
    """Weights (token, input_token) divided by the sums of their rows."""
    return weights / weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)


def _normed(norm: Norm, parts: Tensor) -> Tensor:
    return _with_bias(norm.linear(parts, parts.sum(1, keepdim=True)), norm.shift)


def shares_by(
    layers: Sequence[TracedLayer],
    method: str,
    *,
    rolled_out: bool = True,
    tell: Callable[[int], None] = lambda _: None,
) -> tuple[NDArray[np.floating], Tensor | None]:
    """Shares (layer, query_token, key_token) by a method, of input tokens or, not `rolled_out`, of what enters the layer.

    DecompX always gives shares of input tokens, and the parts of the last vectors (token, input_token, feature).
    """
    matrices, parts = [], None
    if method == DECOMPX:
        for parts in decompose(layers, tell):
            matrices.append(length_shares(parts).cpu().numpy())
        return np.stack(matrices), parts
    for number, layer in enumerate(layers):
        matrices.append(OF_LAYER[method](layer, partial(tell, number)).cpu().numpy())
    return np.asarray(roll_out(matrices) if rolled_out else np.stack(matrices)), None


@dataclass(frozen=True)
class Answer:
    """The logits (label,) of a classifier, and the steps from the vectors of the last layer to them."""

    steps: Sequence[LinearStep]
    logits: Tensor

    @classmethod
    def of(cls, model: HookedModel, last: Tensor) -> "Answer":
        """The answer of a model, from the vectors of its last layer (token, feature)."""
        with torch.inference_mode():
            return cls(model.answer_steps(last), model.guess_labels(last[None])[0])


def decompose_answer(answer: Answer, parts: Tensor) -> Tensor | None:
    """The logits of a classifier as sums over input tokens: (input_token, label).

    Parts pass the linear layers of the classifier as they pass the model's, so the sums are exact. None for a classifier that is not
    linear layers with activations between, which read one token or the mean of all.

    Parameters
    ----------
    answer
        Answer for the same sentence.
    parts
        Parts of the last layer's vectors: (token, input_token, feature).
    """
    steps, logits = answer.steps, answer.logits
    own = _read_by(steps[0].given, parts) if steps else None
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if own is None or own.shape[-1] != step.linear.weight.shape[1]:
            return None
        given, made = own @ step.linear.weight.detach().T, step.made
        own = given if step.linear.bias is None else _with_bias(given, step.linear.bias.detach())
        if after is not None:
            if after.given.shape != made.shape:
                return None
            safe = torch.where(made.abs() > SMALL, made, torch.full_like(made, SMALL))
            own = own * (after.given / safe)[:, None]
    return own[0] if own is not None and _sums_to(own[0], logits) else None


def _read_by(given: Tensor, parts: Tensor) -> Tensor | None:
    """Parts (1, input_token, feature) of a classifier's input (1, feature): one token or the mean of all; None for another input."""
    if given.shape != parts[:1, 0].shape:
        return None
    last = parts.sum(1)
    for token in (0, len(last) - 1):
        if torch.allclose(given[0], last[token], atol=1e-4):
            return parts[token : token + 1]
    return parts.mean(0, keepdim=True) if torch.allclose(given[0], last.mean(0), atol=1e-4) else None


def _sums_to(parts: Tensor, logits: Tensor) -> bool:
    return float((parts.sum(0) - logits).abs().max()) <= LARGEST_MISS * max(1.0, float(logits.abs().max()))

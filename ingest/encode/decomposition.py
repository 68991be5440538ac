"""What each token adds to each token of one sentence, with the model: ALTI, Value Zeroing and DecompX.

Of models with layer norms after attention and after a feed-forward network of two linear layers, as BERT has. With y_ij of
`store.kernels.mixing` and LN the norms:

- ALTI (Ferrando et al. 2022, section 3): max(0, |y_i|_1 - |y_i - t_ij|_1), t_ij what LN after attention makes of y_ij and y_i its output.
- Value Zeroing (Mohebbi et al. 2023, section 3): cosine distance of the output of a layer for token i to that with the value of token j set to 0.
  The sum after attention loses its part of j, so that the norms and the feed-forward network alone are computed again.
- DecompX (Modarressi et al. 2023, section 3): the vector of each token as a sum over input tokens, carried through all layers. Attention
  and norms are linear for given weights and deviations; the activation is a factor act(z) / z of each unit; a bias is shared out in
  proportion to |bias . z_k| of the parts z_k. The parts sum to the vector of the model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ingest.encode.capture import Capture
from ingest.encode.hooked_model import HookedModel
from ingest.family.protocol import LayerParts
from ingest.run.errors import IngestError
from store.kernels.attention import attention_pattern

#: Tokens of a sentence that is decomposed: vectors of every pair of tokens are in memory at once.
LONGEST = 128
#: A sum of parts below which its activation has the slope at 0.
SMALL = 1e-9
#: Share of a row that goes to the token itself where nothing is left of any: a row must sum to 1.
LEAST = 1e-12
DECOMPX = "decompx"
#: By how much the parts of logits may miss them, as a share of the largest: beyond it the classifier is built otherwise.
LARGEST_MISS = 1e-3


@dataclass(frozen=True)
class Affine:
    """A linear layer: `weight` (input, output), `bias` (output)."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor) -> "Affine":
        """Without gradients."""
        return cls(weight.detach(), bias.detach())


@dataclass(frozen=True)
class Norm:
    """A layer norm: `gain` and `shift` (feature), and what is added to the variance."""

    gain: Tensor
    shift: Tensor
    epsilon: float

    @classmethod
    def of(cls, module: Any) -> "Norm":
        """That of a `torch.nn.LayerNorm`, without gradients."""
        return cls(module.weight.detach(), module.bias.detach(), module.eps)

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (..., feature) after it."""
        return self.linear(vectors, vectors) + self.shift

    def linear(self, parts: Tensor, whole: Tensor) -> Tensor:
        """Parts (..., feature) of vectors after it, without the shift, by the deviation of the whole."""
        deviation = (whole.var(-1, unbiased=False, keepdim=True) + self.epsilon).sqrt()
        return (parts - parts.mean(-1, keepdim=True)) / deviation * self.gain


@dataclass(frozen=True)
class TracedLayer:
    """A layer with what one pass over one sentence left in it.

    Attributes
    ----------
    pattern, value
        (head, query_token, key_token) and (token, head, channel).
    layer_input
        (token, feature).
    to_value, output
        The maps to the values of all heads side by side, and from these to what is added to the residual.
    norms
        After attention, and after the feed-forward network.
    first, second
        Linear layers of that network, with `activation` between.
    """

    pattern: Tensor
    value: Tensor
    layer_input: Tensor
    to_value: Affine
    output: Affine
    norms: tuple[Norm, Norm]
    first: Affine
    second: Affine
    activation: Callable[[Tensor], Tensor]

    @property
    def parts(self) -> Tensor:
        """y_ij: what token j adds to the sum of token i after attention, with the residual: (query_token, key_token, feature)."""
        heads, tokens, _ = self.pattern.shape
        brought = torch.einsum("jhc,hcd->jhd", self.value, self.output.weight.unflatten(0, (heads, -1)))
        parts = torch.einsum("hij,jhd->ijd", self.pattern, brought)
        parts[torch.arange(tokens), torch.arange(tokens)] += self.layer_input
        return parts

    def after_attention(self, summed: Tensor) -> Tensor:
        """Output of the layer (..., feature) from the sum after attention, with the bias of the output projection in it."""
        attended = self.norms[0](summed)
        expanded = self.activation(attended @ self.first.weight + self.first.bias)
        return self.norms[1](attended + expanded @ self.second.weight + self.second.bias)


def trace(model: HookedModel, token_ids: Tensor, segment: Tensor | None = None) -> list[TracedLayer]:
    """The layers of a model after a pass over one sentence, or a pair with the `segment` of each token (token,).

    Raises
    ------
    IngestError
        Where the sentence is too long, or the layers are built otherwise.
    """
    if len(token_ids) > LONGEST:
        raise IngestError(
            f"A sentence of {len(token_ids):,} tokens is too long to be decomposed. Give one of at most {LONGEST}, or choose globenc."
        )
    capture, bias = model.run(token_ids[None], None, None if segment is None else segment[None]), model.bias
    patterns = [
        attention_pattern(
            query[0].float().transpose(0, 1), key[0].float().transpose(0, 1), bias=bias and bias.part(layer)
        )
        for layer, (query, key) in enumerate(zip(capture.query, capture.key, strict=True))
    ]
    return [
        _traced(model, parts, pattern, capture, layer)
        for layer, (parts, pattern) in enumerate(zip(model.parts.layers, patterns, strict=True))
    ]


def _traced(model: HookedModel, parts: LayerParts, pattern: Tensor, capture: Capture, layer: int) -> TracedLayer:
    norms = parts.residual_norms
    feedforward = parts.feedforward if len(norms) == 2 and parts.centres else None
    if feedforward is None:
        raise IngestError(
            f"A {model.family_name} cannot be decomposed: its layers are not those of a BERT. Choose globenc, or a model with BERT's layers."
        )
    first, second, activation = feedforward
    exact = parts.value_map[0].dtype  # of the weights: vectors have 16 bits where the model multiplies in 16
    value, layer_input = (vectors[layer][0].detach().to(exact) for vectors in (capture.value, capture.layer_input))
    return TracedLayer(
        pattern.detach().to(layer_input.dtype),
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
    """Rows (query_token, key_token) divided by their sums; a row of zeros is of the token itself."""
    lengths = lengths.clamp(min=0) + LEAST * torch.eye(len(lengths), dtype=lengths.dtype, device=lengths.device)
    return lengths / lengths.sum(-1, keepdim=True)


def alti(layer: TracedLayer) -> Tensor:
    """ALTI of one layer (query_token, key_token); rows sum to 1."""
    parts = layer.parts
    summed = parts.sum(1) + layer.output.bias
    after = layer.norms[0](summed)
    without = after[:, None] - layer.norms[0].linear(parts, summed[:, None])
    return _shares(after.abs().sum(-1)[:, None] - without.abs().sum(-1))


def value_zeroing(layer: TracedLayer) -> Tensor:
    """Value Zeroing of one layer (query_token, key_token); rows sum to 1."""
    parts = layer.parts
    tokens = torch.arange(len(parts))
    summed = parts.sum(1) + layer.output.bias
    parts[tokens, tokens] -= layer.layer_input  # the residual stays
    changed = layer.after_attention(summed[:, None] - parts)
    return _shares(1 - torch.cosine_similarity(changed, layer.after_attention(summed)[:, None], dim=-1))


#: Methods that give a matrix of each layer by itself.
OF_LAYER: Mapping[str, Callable[[TracedLayer], Tensor]] = {"alti": alti, "value_zeroing": value_zeroing}


def length_shares(parts: Tensor) -> Tensor:
    """Shares of the input tokens in the lengths of the parts: (token, input_token); rows sum to 1."""
    lengths = parts.norm(dim=-1)
    return lengths / lengths.sum(-1, keepdim=True)


def decompose(layers: Sequence[TracedLayer]) -> Iterator[Tensor]:
    """The vectors of the tokens after each layer as sums over input tokens: (token, input_token, feature)."""
    tokens, features = layers[0].layer_input.shape
    parts = layers[0].layer_input.new_zeros(tokens, tokens, features)
    parts[torch.arange(tokens), torch.arange(tokens)] = layers[0].layer_input
    for layer in layers:
        parts = _decomposed(layer, parts)
        yield parts


def _decomposed(layer: TracedLayer, parts: Tensor) -> Tensor:
    heads = len(layer.pattern)
    to_value = layer.to_value.weight.unflatten(1, (heads, -1))
    value = torch.einsum("jkd,dhc->hjkc", parts, to_value)
    context = torch.einsum("hij,hjkc->ikhc", layer.pattern, value).flatten(2)
    bias = layer.to_value.bias @ layer.output.weight + layer.output.bias
    attended = _normed(layer.norms[0], _with_bias(context @ layer.output.weight, bias) + parts)
    expanded = _with_bias(attended @ layer.first.weight, layer.first.bias)
    whole = expanded.sum(1, keepdim=True)
    safe = torch.where(whole.abs() > SMALL, whole, torch.full_like(whole, SMALL))
    activated = expanded * (layer.activation(safe) / safe)
    return _normed(layer.norms[1], _with_bias(activated @ layer.second.weight, layer.second.bias) + attended)


def _with_bias(parts: Tensor, bias: Tensor) -> Tensor:
    """Parts (token, input_token, feature) with the bias of their sum shared out in proportion to |bias . part|."""
    weight = (parts @ bias).abs()
    return parts + (weight / weight.sum(1, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny))[..., None] * bias


def _normed(norm: Norm, parts: Tensor) -> Tensor:
    return _with_bias(norm.linear(parts, parts.sum(1, keepdim=True)), norm.shift)


def decompose_answer(model: HookedModel, parts: Tensor) -> Tensor | None:
    """The logits of a classifier as sums over input tokens: (input_token, label).

    Through the linear layers of the classifier as through those of the model, so exactly. None where it is built otherwise than from
    linear layers with activations between that read one token, or their mean.

    Parameters
    ----------
    parts
        Those of the last layer: (token, input_token, feature).
    """
    last = parts.sum(1)
    steps = model.answer_steps(last)
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
    with torch.inference_mode():
        logits = model.guess_labels(last[None])[0]
    return own[0] if own is not None and _sums_to(own[0], logits) else None


def _read_by(given: Tensor, parts: Tensor) -> Tensor | None:
    """The parts (1, input_token, feature) of what a classifier reads (1, feature): of one token, or of the mean of all; None of else."""
    if given.shape != parts[:1, 0].shape:
        return None
    last = parts.sum(1)
    for token in (0, len(last) - 1):
        if torch.allclose(given[0], last[token], atol=1e-4):
            return parts[token : token + 1]
    return parts.mean(0, keepdim=True) if torch.allclose(given[0], last.mean(0), atol=1e-4) else None


def _sums_to(parts: Tensor, logits: Tensor) -> bool:
    return float((parts.sum(0) - logits).abs().max()) <= LARGEST_MISS * max(1.0, float(logits.abs().max()))

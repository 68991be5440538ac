"""The model for one sentence or pair: everything that its heads compute."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.encode.hooked_model import Capture, HookedModel
from ingest.encode.loading import find_device, find_dtype
from ingest.run.checkpoint import Checkpoint, longest_input
from ingest.text.tokenizer import Pair, Tokenizer, Tokens
from store.kernels.attention import attention_pattern, value_norm


@dataclass(frozen=True, eq=False)
class Vectors:
    """Queries, keys and further vectors of every head in one sentence, in float32."""

    query: NDArray[np.float32]  # (layer, head, token, channel), before the 1/sqrt(channels) scale
    key: NDArray[np.float32]  # (layer, head, token, channel)
    value_norm: NDArray[np.float32]  # (layer, head, token), ||f(x)||
    mixing: NDArray[np.float32]  # (ratio, layer, token), `store.schema.model.RATIOS`


class SentenceModel:
    """A checkpoint with its tokenizer, on the fastest device available, in the dtype of an ingest. One thread at a time."""

    def __init__(self, checkpoint: Checkpoint, *, max_length: int, dtype: str) -> None:
        self.tokenizer = Tokenizer(checkpoint.folder, max_length=min(max_length, longest_input(checkpoint)))
        device = find_device("auto")
        self._model = HookedModel(checkpoint, device=device, dtype=find_dtype(dtype, device))
        self._grams = self._model.output_grams()
        self._projections = self._model.output_projections()
        self._token_types = checkpoint.family.size(checkpoint.config, "type_vocab_size")

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return sum(parameter.nbytes for parameter in self._model.parts.module.parameters())

    def tokenize(self, text: str, second: str) -> Pair:
        """Wordpieces of a pair, or of one sentence where there is no second."""
        if second:
            return self.tokenizer.tokenize_pair(text, second)
        tokens = self.tokenizer.tokenize([text])
        first = np.zeros(len(tokens.token_id), np.uint8)
        return Pair(tokens, first, first)

    def without_vector(self, tokens: Tokens) -> list[str]:
        """Wordpieces that the embedding of the model has no row for: its tokenizer may know more."""
        rows = int(self._model.config.vocab_size)
        return [self.tokenizer.vocab[number] for number in tokens.token_id if number >= rows]

    def run(self, tokens: Tokens, token_type: NDArray[np.uint8]) -> Vectors:
        """One forward pass."""
        # Some checkpoints know one token type only.
        known = np.minimum(token_type, self._token_types - 1)
        token_ids, segments = (torch.from_numpy(row.astype(np.int64))[None] for row in (tokens.token_id, known))
        capture = self._model.run(token_ids.to(self._model.device), None, segments.to(self._model.device))
        with torch.inference_mode():
            return self._vectors(capture)

    def _vectors(self, capture: Capture) -> Vectors:
        query, key, value = (
            [self._heads(layer) for layer in layers] for layers in (capture.query, capture.key, capture.value)
        )
        norms = [value_norm(vectors, gram) for vectors, gram in zip(value, self._grams, strict=True)]
        mixing = [
            self._mixing(layer, capture, *query_key_value)
            for layer, query_key_value in enumerate(zip(query, key, value, strict=True))
        ]
        stacked = [torch.stack(layers) for layers in (query, key, norms)]
        return Vectors(*(array.cpu().numpy() for array in (*stacked, torch.stack(mixing, dim=1))))

    def _mixing(self, layer: int, capture: Capture, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Mixing ratios of a layer (ratio, token) from its vectors (head, token, channel)."""
        pattern, layer_input = attention_pattern(query, key), capture.layer_input[layer][0]
        return self._projections[layer].mixing(pattern, value.transpose(0, 1), layer_input)

    def _heads(self, tensor: Tensor) -> Tensor:
        """(head, token, channel) of the only sentence."""
        return self._model.split_heads(tensor)[0].transpose(0, 1)

"""A sentence with everything its model makes of it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from store.kernels.attention import attention_pattern


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence as its model sees it: of the corpus, or typed by a reader. Views cannot tell them apart."""

    text: str  # of a pair: first; second is its own field
    second: str  # "" where there is none
    label: str  # "" where there is none
    wordpieces: tuple[str, ...]
    flags: NDArray[np.uint8]  # (token,), store.schema token flags
    word_index: NDArray[np.int16]  # (token,), -1 for special tokens; of a pair counted on through both
    segment: NDArray[np.uint8]  # (token,), 0 for sentence A, 1 for sentence B ([CLS] A [SEP] are 0, B [SEP] are 1)
    query: NDArray[np.float32]  # (layer, head, token, channel)
    key: NDArray[np.float32]  # (layer, head, token, channel)
    value_norm: NDArray[np.float32]  # (layer, head, token), ||f(x)|| (store.kernels.attention.value_norm)
    cut: bool  # whether the text was longer than the model allows

    @cached_property
    def pattern(self) -> NDArray[np.float32]:
        """Attention (layer, head, query_token, key_token); rows sum to 1."""
        return attention_pattern(self.query, self.key)

"""Which keys the queries of a layer see: all of their sentence, none after them, or those that are near."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray


@dataclass(frozen=True)
class Mask:
    """Which keys a query sees. It always sees itself.

    Attributes
    ----------
    causal
        Whether a query sees no key after it.
    window
        How far a key may be for a query to see it, in tokens; None: as far as the sentence reaches.
    """

    causal: bool = False
    window: int | None = None

    @property
    def hides(self) -> bool:
        """Whether some query of a sentence that is long enough does not see some key."""
        return self.causal or self.window is not None

    def seen(self, distance: AnyArray) -> AnyArray:
        """Which keys a query sees, by how far they stand after it: (..., key_token), bool."""
        near = abs(distance) <= self.window if self.window is not None else distance == distance
        return near & (distance <= 0) if self.causal else near

    def pairs(self, tokens: int) -> NDArray[np.bool_]:
        """Which keys each query of a sentence of so many tokens sees: (query_token, key_token)."""
        position = np.arange(tokens)
        pairs: NDArray[np.bool_] = self.seen(position - position[:, None])
        return pairs

    def seen_keys(self, tokens: int) -> NDArray[np.int64]:
        """How many keys each query of a sentence of so many tokens sees: (query_token,)."""
        before = np.arange(tokens)
        after = np.zeros_like(before) if self.causal else before[::-1]
        farthest = tokens if self.window is None else self.window
        keys: NDArray[np.int64] = np.minimum(before, farthest) + np.minimum(after, farthest) + 1
        return keys

    def even(self, tokens: int) -> NDArray[np.float64]:
        """Even attention of each query to the keys that it sees: (query_token, key_token)."""
        even: NDArray[np.float64] = self.pairs(tokens) / self.seen_keys(tokens)[:, None]
        return even

    def within(self, tokens: int) -> "Mask":
        """The mask that hides the same in sentences of at most so many tokens: without a window that reaches from end to end."""
        return Mask(self.causal) if self.window is not None and self.window >= tokens - 1 else self


#: The mask of a BERT: every query sees every key.
EVERY_KEY = Mask()

"""Which tokens of a long sentence are shown: a window of its queries and one of its keys. A short sentence is shown whole."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Tokens of a window: as many as an ingest keeps of a sentence by default.
WINDOW = 128


@dataclass(frozen=True)
class Window:
    """Tokens `first` to `stop` - 1 of so many."""

    first: int
    stop: int
    tokens: int

    @classmethod
    def at(cls, first: int, tokens: int) -> "Window":
        """The window from a token on, at the end a shorter one; a short sentence is one window, and nothing is before the first token."""
        first = max(0, first)
        last = max(0, tokens - 1) // WINDOW * WINDOW
        start = 0 if tokens <= WINDOW else first if first < tokens else last
        return cls(start, min(tokens, start + WINDOW), tokens)

    @classmethod
    def around(cls, token: int, tokens: int) -> "Window":
        """The window that a token is in, of those that follow each other: the same for all its tokens, so that a selection does not move it."""
        return cls.at(token - token % WINDOW, tokens)

    @property
    def is_whole(self) -> bool:
        """Whether it has all tokens."""
        return self.stop - self.first == self.tokens

    @property
    def name(self) -> str:
        """Such as `tokens 1 to 128 of 8,000`."""
        return f"tokens {self.first + 1:,} to {self.stop:,} of {self.tokens:,}"

    @property
    def positions(self) -> NDArray[np.intp]:
        """Those of its tokens, where these are all of a sentence."""
        return np.arange(self.first, self.stop)

    def of(self, tokens: Any) -> Any:
        """Those in it."""
        return tokens[self.first : self.stop]

    def __contains__(self, token: int) -> bool:
        return self.first <= token < self.stop

"""Where a tokenizer puts its special tokens around one text, or around the two of a pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A text that any tokenizer splits into at least one wordpiece.
SAMPLE = "a"
#: The owner of a special token.
SPECIAL = -1


@dataclass(frozen=True)
class Slot:
    """A special token, or the place of a text."""

    owner: int
    token_id: int
    token_type: int


@dataclass(frozen=True)
class LaidOut:
    """Texts with the special tokens around them: arrays (token,).

    Attributes
    ----------
    owner
        Number of the text, -1 for a special token of the tokenizer.
    segment
        1 from the place of the second text on, else 0.
    token_type
        Token type that the model reads, which some tokenizers set to 0 for both texts of a pair.
    """

    token_id: NDArray[np.int32]
    owner: NDArray[np.int8]
    segment: NDArray[np.uint8]
    token_type: NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """The tokenizer's own way to encode one text or a pair, found by encoding a short one.

    A tokenizer that is told to cut a pair also returns every part of one text with every part of the other, which takes
    time and memory quadratic in the length: texts are cut first, and laid out here.
    """

    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, tokenizer: Any, *, texts: int) -> "Layout":
        """That of one text, or of two."""
        [encoded] = tokenizer(*[[SAMPLE]] * texts).encodings
        types = encoded.type_ids if "token_type_ids" in tokenizer.model_input_names else [0] * len(encoded)
        owners = (SPECIAL if owner is None else owner for owner in encoded.sequence_ids)
        tokens = list(map(Slot, owners, encoded.ids, types))
        parted = groupby(enumerate(tokens), lambda numbered: _part(*numbered))
        return cls(tuple(next(part)[1] for _, part in parted))

    @property
    def special(self) -> int:
        """How many special tokens it adds."""
        return sum(slot.owner == SPECIAL for slot in self.slots)

    @property
    def before(self) -> int:
        """How many of them stand before the first text."""
        return next(place for place, slot in enumerate(self.slots) if slot.owner != SPECIAL)

    @property
    def after(self) -> int:
        """How many stand after the last text."""
        return next(place for place, slot in enumerate(reversed(self.slots)) if slot.owner != SPECIAL)

    def fill(self, texts: Sequence[Sequence[int]]) -> LaidOut:
        """The wordpieces of the texts in their places."""
        parts = [[slot.token_id] if slot.owner == SPECIAL else texts[slot.owner] for slot in self.slots]
        sizes, owners = [len(part) for part in parts], np.array([slot.owner for slot in self.slots], np.int8)
        return LaidOut(
            np.array([number for part in parts for number in part], np.int32),
            np.repeat(owners, sizes),
            np.repeat(np.maximum.accumulate(owners == 1).astype(np.uint8), sizes),
            np.repeat(np.array([slot.token_type for slot in self.slots], np.uint8), sizes),
        )


def _part(place: int, slot: Slot) -> tuple[int, int]:
    """What the tokens of a text have in common; a special token is a part of its own."""
    return (slot.owner, place if slot.owner == SPECIAL else SPECIAL)

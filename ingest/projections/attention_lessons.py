"""What projection `attention` is trained on: batches of sentences, and queries with keys from anywhere in the corpus.

Each has its target, which depends on nothing that is trained: it is computed at the first draw and kept for the next.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.projections.attention_loss import Target, across_sentences, in_sentence

#: Tokens of a batch: sentences of like length, one after the other in their order by length. Three times as many took two and
#: a half times as long, and no measure of a picture differed by more than 0.003.
TOKENS = 128
#: Weight of the loss over keys from anywhere, how many queries and keys it takes a step, and how many such sets there are.
ACROSS, ANYWHERE, SETS = 0.3, 96, 128
#: Numbers of targets that are kept, in all; those that do not fit are computed at every draw.
KEPT = 1 << 27


@dataclass(frozen=True)
class Lesson:
    """Some tokens and what they are trained for.

    Attributes
    ----------
    rows
        Tokens in the sample: those whose queries, and those whose keys are placed, (role, token).
    shape
        Of the places of each role, without head and component: (sentence, token), or (token,).
    target
        What they are trained for, of all heads.
    """

    rows: Tensor
    shape: tuple[int, ...]
    target: Target


@dataclass(frozen=True)
class Batches:
    """Rows of the sample in batches of sentences of like length.

    Attributes
    ----------
    rows, real
        Of each batch, (sentence, token): rows of the sample, and False for padding.
    of_sentence
        The batch of every sentence: (sentence,).
    """

    rows: list[Tensor]
    real: list[Tensor]
    of_sentence: Tensor

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> "Batches":
        """Batches of sentences of these lengths, which lie one after the other."""
        order = np.argsort(sizes, kind="stable")
        starts, ordered = (np.cumsum(sizes) - sizes)[order], sizes[order]
        rows, real, counts, first = [], [], [], 0
        while first < len(ordered):
            some = slice(first, first + max(1, TOKENS // int(ordered[first])))
            offset, size = np.arange(ordered[some].max()), ordered[some, None]
            rows.append(torch.from_numpy(starts[some, None] + np.minimum(offset, size - 1)))
            real.append(torch.from_numpy(offset < size))
            counts.append(len(size))
            first += len(size)
        return cls(rows, real, torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts)))


class Lessons:
    """The lessons of some heads, from their queries and keys (head, role, token, channel) and the lengths of the sentences."""

    def __init__(self, vectors: Tensor, sizes: NDArray[np.int64], generator: torch.Generator) -> None:
        self._vectors, self._batches, self._generator = vectors, Batches.of(sizes), generator
        count = vectors.shape[2]
        self._sets = torch.randint(count, (SETS, 2, min(ANYWHERE, count)), generator=generator)
        self._kept: dict[tuple[str, int], Lesson] = {}
        self._numbers = 0

    def draw(self) -> list[Lesson]:
        """A batch, as likely as it has sentences, and a set of queries and keys from anywhere."""
        sentence, place = (
            int(torch.randint(count, (1,), generator=self._generator))
            for count in (len(self._batches.of_sentence), SETS)
        )
        batch = int(self._batches.of_sentence[sentence])
        return [
            self._kept_or("sentences", batch, self._of_batch),
            self._kept_or("anywhere", place, self._of_set),
        ]

    def _kept_or(self, kind: str, number: int, compute: Callable[[int], Lesson]) -> Lesson:
        lesson = self._kept.get((kind, number)) or compute(number)
        size = lesson.target.shares.numel() * (1 if lesson.target.order is None else 2)
        if (kind, number) not in self._kept and self._numbers + size <= KEPT:
            self._kept[kind, number] = lesson
            self._numbers += size
        return lesson

    def _of_batch(self, number: int) -> Lesson:
        rows, real = self._batches.rows[number], self._batches.real[number].to(self._vectors.device)
        both = vectors_at(self._vectors, rows.flatten().expand(2, -1)).unflatten(2, rows.shape)
        target = in_sentence(both[:, 0], both[:, 1], real)
        return Lesson(rows.flatten().expand(2, -1), tuple(rows.shape), target)

    def _of_set(self, number: int) -> Lesson:
        rows = self._sets[number]
        both = vectors_at(self._vectors, rows)
        return Lesson(rows, (rows.shape[1],), across_sentences(both[:, 0], both[:, 1], weight=ACROSS))


def vectors_at(vectors: Tensor, rows: Tensor) -> Tensor:
    """Vectors (head, role, token, channel) of the rows of each role (role, token)."""
    heads, roles, tokens, channels = vectors.shape
    # As one axis: torch copies all of them before it selects from one role.
    flat = (rows + tokens * torch.arange(roles)[:, None]).flatten().to(vectors.device)
    return vectors.view(heads, -1, channels).index_select(1, flat).view(heads, roles, -1, channels)

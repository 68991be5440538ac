"""Mentions of a corpus with their head words, and what a head or a rule takes for their antecedents."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.kernels.coreference import MentionHeads
from store.schema.coreference import GAP, GENDERS, KINDS
from store.schema.words import NO_GOVERNOR

if TYPE_CHECKING:
    from store.words import Words

#: Universal parts of speech of head words -> kind of the mention.
_KIND_OF = {"PRON": "pronoun", "PROPN": "proper"}


class Mentions:
    """Mentions of the sentences of a corpus, from gold coreference; their head words are those of the corpus' own words.

    Parameters
    ----------
    group
        The group `/corpus/<key>/mentions`.
    words
        Words of the same sentences.

    Attributes
    ----------
    scheme
        How they stand: `chains`, or in threes of a pronoun and two names (`gap`).
    """

    def __init__(self, group: xr.Dataset, words: "Words") -> None:
        self.scheme: str = group.attrs["scheme"]
        self._words, self._group = words, group

    def __repr__(self) -> str:
        return f"<Mentions: {self.table.sizes['mention']:,} mentions ({self.scheme})>"

    @cached_property
    def table(self) -> xr.Dataset:
        """Numbers of a mention (mention): `sentence`, `character_start`, `character_stop`, `entity`, `head_word`.

        `head_word` is a row of the word axis, -1 where the mention was cut off with its sentence. Loaded at first use.
        """
        sizes = self._group.mention_size.values[: len(self._words.size)]
        table = self._group.drop_dims("sentence").isel(mention=slice(0, int(sizes.sum()))).load()
        table = table.assign(sentence=("mention", np.repeat(np.arange(len(sizes)), sizes)))
        spans = zip(*(table[name].values for name in ("sentence", "character_start", "character_stop")), strict=True)
        first, last, governor = (
            self._words.table[name].values for name in ("character_start", "character_stop", "governor")
        )
        heads: list[int] = []
        for sentence, start, stop in spans:
            rows = self._words.rows(int(sentence))
            head = head_word(first[rows], last[rows], governor[rows], int(start), int(stop))
            heads.append(-1 if head is None else rows.start + head)
        return table.assign(head_word=("mention", np.array(heads, np.int64)))

    @cached_property
    def kinds(self) -> NDArray[np.intp]:
        """Kind of each mention, an index into `store.schema.coreference.KINDS`: (mention,)."""
        names = [*self._words.names("part_of_speech"), ""]
        codes = np.array([KINDS.index(_KIND_OF.get(name, "nominal")) for name in names])
        kinds: NDArray[np.intp] = codes[self._words.table.part_of_speech.values[self.table.head_word.values]]
        return kinds

    @cached_property
    def texts(self) -> list[str]:
        """Mentions as they are spelled in the text."""
        spans = (self.table[name].values for name in ("sentence", "character_start", "character_stop"))
        return [self._words.text(sentence)[start:stop] for sentence, start, stop in zip(*spans, strict=True)]

    @cached_property
    def genders(self) -> list[str]:
        """Gender of each pronoun of GAP, "" for its names: (mention,)."""
        return [GENDERS.get(text.lower(), "") for text in self.texts]

    def within(self, sentence: int) -> slice:
        """Rows of the mention axis that are of a sentence."""
        start, stop = np.searchsorted(self.table.sentence.values, (sentence, sentence + 1))
        return slice(int(start), int(stop))

    def heads(self, sentence: int) -> MentionHeads:
        """Head words of the mentions of a sentence that the model sees, as indices in the sentence, and their entities."""
        rows = np.arange(self.within(sentence).start, self.within(sentence).stop)
        rows = rows[self.table.head_word.values[rows] >= 0]
        words = self._words.table.word_in_sentence.values[self.table.head_word.values[rows]]
        return MentionHeads(rows, words.astype(np.int64), self.table.entity.values[rows].astype(np.int64))

    @cached_property
    def links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Head word of every mention that has an antecedent, and that of its nearest one, as rows of the word axis."""
        found: list[tuple[int, int]] = []
        for sentence in np.unique(self.table.sentence.values):
            heads = self.heads(int(sentence))
            linked = self._answers(heads) if self.scheme == GAP else heads.nearest_antecedents()
            first = self._words.rows(int(sentence)).start
            found += [(first + int(heads.word[one]), first + int(heads.word[other])) for one, other in linked]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @staticmethod
    def _answers(heads: MentionHeads) -> Iterator[tuple[int, int]]:
        """Every pronoun of GAP with the name it stands for, wherever that stands."""
        for mention, row in enumerate(heads.rows):
            same = heads.entity == heads.entity[mention]
            for name in np.flatnonzero(same & (heads.rows // 3 == row // 3) & (heads.rows != row) & (row % 3 == 0)):
                yield mention, int(name)


def head_word(
    first: NDArray[np.integer], stop: NDArray[np.integer], governor: NDArray[np.integer], begin: int, end: int
) -> int | None:
    """The first word of a mention whose governor is outside of it; where no governor is known its last word.

    Parameters
    ----------
    first, stop, governor
        First character, the one after the last, and governor of the words of the sentence: (word,).
    begin, end
        Characters of the mention.

    Returns
    -------
    Its index in the sentence; None where the mention was cut off with its sentence.
    """
    inside = (first < end) & (stop > begin)
    if not inside.any() or stop[inside].max() < end:
        return None
    above = np.where(governor >= 0, inside[governor], False)
    heads = np.flatnonzero(inside & (governor != NO_GOVERNOR) & ~above)
    return int(heads[0] if len(heads) else np.flatnonzero(inside)[-1])

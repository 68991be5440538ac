"""Which tokens normalisations and pictures are fitted on, and on which sentences they are judged."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.blocks import Block, content_hash
from ingest.corpus import PlannedCorpus
from ingest.tensors import ModelGroup
from store.groups import array_of
from store.schema import ROLES
from store.writer import Writer

#: Fitted on the first whole sentences within so many tokens, a uniform sample of the corpus.
FIT_TOKENS = 20_000
#: How many sentences after these judge.
JUDGED_SENTENCES = 100

Spans = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """The first sentences of a plan.

    Attributes
    ----------
    spans
        First row and end of every sentence on the token axis: (sentence, 2).
    rows
        Rows of their tokens on the token axis: (token,).
    judged
        Spans of sentences that no fit sees; the last of the sample where there are no others.
    """

    spans: Spans
    rows: NDArray[np.int64]
    judged: Spans
    held_out: bool

    @property
    def sentences(self) -> int:
        """How many sentences."""
        return len(self.spans)

    @property
    def tokens(self) -> int:
        """How many tokens."""
        return len(self.rows)

    @property
    def judged_on(self) -> str:
        """What a person reads below a measure."""
        whose = "no fit has seen" if self.held_out else "of the fit, as there are no others"
        return f"{len(self.judged):,} sentences {whose}"

    def first(self, tokens: int) -> "Sample":
        """Its first sentences within so many tokens; at least one."""
        sentences = max(1, int(np.searchsorted(np.cumsum(lengths(self.spans)), tokens, side="right")))
        count = int(lengths(self.spans[:sentences]).sum())
        return Sample(self.spans[:sentences], self.rows[:count], self.judged, self.held_out)

    def content_hash(self, model: ModelGroup, corpus: PlannedCorpus, **identity: object) -> int:
        """Changes when a fit on it would: with its rows, or the numbers of the blocks they stand in."""
        blocks = corpus.blocks[: int(self.rows[-1]) // corpus.blocks[0].length + 1]
        return content_hash(identity, self.rows, np.array([model.block_hash(block) for block in blocks], np.uint64))


def take_sample(corpus: PlannedCorpus) -> Sample:
    """The sample of a plan."""
    whole = whole_sample(corpus)
    sample = whole.first(FIT_TOKENS)
    held_out = sample.sentences < whole.sentences
    first = sample.sentences if held_out else max(0, whole.sentences - JUDGED_SENTENCES)
    return Sample(sample.spans, sample.rows, whole.spans[first : first + JUDGED_SENTENCES], held_out)


def whole_sample(corpus: PlannedCorpus) -> Sample:
    """All of a plan, judged on itself."""
    spans = sentence_spans(corpus)
    rows = np.concatenate([block.index * block.length + np.arange(block.tokens) for block in corpus.blocks])
    return Sample(spans, rows, spans, False)


def take_sentences(corpus: PlannedCorpus, chosen: NDArray[np.integer]) -> Block:
    """Some sentences of a plan, one after the other."""
    sizes, ids, flags = (
        np.concatenate([getattr(block, name) for block in corpus.blocks])
        for name in ("lengths", "token_ids", "token_flags")
    )
    stop = np.cumsum(sizes)
    rows = span_rows(np.stack([stop - sizes, stop], axis=-1)[chosen])
    return Block(0, len(rows), int(chosen[0]), sizes[chosen], ids[rows], flags[rows])


def sentence_spans(corpus: PlannedCorpus) -> Spans:
    """First row and end of every sentence of a plan on the token axis: (sentence, 2)."""
    starts = [block.rows.start + np.cumsum(block.lengths) - block.lengths for block in corpus.blocks]
    sizes = np.concatenate([block.lengths for block in corpus.blocks])
    first = np.concatenate(starts)
    return np.stack([first, first + sizes], axis=-1).astype(np.int64)


def lengths(spans: Spans) -> NDArray[np.int64]:
    """Tokens of every sentence."""
    return spans[:, 1] - spans[:, 0]


def evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most so many of `count` places, at even steps."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def span_rows(spans: Spans) -> NDArray[np.int64]:
    """Rows of the sentences' tokens."""
    return np.concatenate([np.arange(*span) for span in spans])


def read_rows(
    writer: Writer, model: ModelGroup, layer: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Queries and keys (head, token, channel) of a layer at ascending rows of the token axis."""
    source, stop = writer.group(model.path), int(rows[-1]) + 1
    start = int(rows[0])
    query, key = (
        np.asarray(array_of(source, name)[layer, :, start:stop])[:, rows - start].astype(np.float32) for name in ROLES
    )
    return query, key

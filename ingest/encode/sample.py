"""The sample that normalisations and pictures are fitted on, and the held-out sentences that judge them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.encode.tensors import ModelGroup
from ingest.text.blocks import Block, content_hash
from ingest.text.corpus import PlannedCorpus
from store.phrases import many
from store.repository.arrays import read_vectors
from store.repository.writer import Writable
from store.schema.model import ROLES

#: Fitted on the first whole sentences within so many tokens, a uniform sample of the corpus.
FIT_TOKENS = 20_000
#: How many sentences judge a fit; of a small corpus one in so many.
JUDGED_SENTENCES, HELD_OUT_ONE_IN = 100, 5

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
    """

    spans: Spans
    rows: NDArray[np.int64]

    @property
    def sentences(self) -> int:
        """How many sentences."""
        return len(self.spans)

    @property
    def tokens(self) -> int:
        """How many tokens."""
        return len(self.rows)

    def first(self, tokens: int) -> "Sample":
        """Its first sentences within so many tokens; at least one."""
        return self.first_sentences(max(1, int(np.searchsorted(np.cumsum(lengths(self.spans)), tokens, side="right"))))

    def first_sentences(self, sentences: int) -> "Sample":
        """Its first sentences."""
        spans = self.spans[:sentences]
        return Sample(spans, self.rows[: int(lengths(spans).sum())])

    def content_hash(self, model: ModelGroup, corpus: PlannedCorpus, **identity: object) -> int:
        """Hash of everything a fit on this sample depends on: its rows, and the numbers of their blocks."""
        blocks = corpus.blocks[: int(self.rows[-1]) // corpus.blocks[0].length + 1]
        return content_hash(identity, self.rows, np.array([model.block_hash(block) for block in blocks], np.uint64))


@dataclass(frozen=True)
class Split:
    """Sentences that normalisations and pictures are fitted on, and the sentences after them, which judge the fits.

    Attributes
    ----------
    fitted
        The first sentences of the plan.
    held_out
        Spans of sentences that no fit sees: (sentence, 2); empty where the plan has too few to spare any.
    """

    fitted: Sample
    held_out: Spans

    @property
    def judging(self) -> Spans:
        """The held-out sentences; sentences of the fit where there are none."""
        return self.held_out if len(self.held_out) else self.fitted.spans[-JUDGED_SENTENCES:]

    @property
    def judged_on(self) -> str:
        """The sentences that judge the fits, in words."""
        if len(self.held_out):
            return f"{len(self.held_out):,} held-out sentences"
        return f"{many(len(self.judging), 'sentence')} of the fit, as the corpus is too small to hold any out"


def split_sentences(corpus: PlannedCorpus) -> Split:
    """Split a plan into fitted and held-out sentences; a small plan holds out a share of its sentences."""
    whole = whole_sample(corpus)
    spared = min(JUDGED_SENTENCES, whole.sentences // HELD_OUT_ONE_IN)
    fitted = whole.first_sentences(whole.sentences - spared).first(FIT_TOKENS)
    return Split(fitted, whole.spans[fitted.sentences :][:JUDGED_SENTENCES])


def take_sample(corpus: PlannedCorpus) -> Sample:
    """The first sentences of a plan within so many tokens: a uniform sample."""
    return whole_sample(corpus).first(FIT_TOKENS)


def whole_sample(corpus: PlannedCorpus) -> Sample:
    """All sentences of a plan."""
    rows = np.concatenate([block.index * block.length + np.arange(block.tokens) for block in corpus.blocks])
    return Sample(sentence_spans(corpus), rows)


def take_sentences(corpus: PlannedCorpus, chosen: NDArray[np.integer]) -> Block:
    """Some sentences of a plan, one after the other."""
    sizes, ids, flags = (
        np.concatenate([getattr(block, name) for block in corpus.blocks])
        for name in ("lengths", "token_ids", "token_flags")
    )
    stop = np.cumsum(sizes)
    rows = span_rows(np.stack([stop - sizes, stop], axis=-1)[chosen])
    return Block(0, len(rows), sizes[chosen], ids[rows], flags[rows])


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
    """At most `most` evenly spaced indices below `count`."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def span_rows(spans: Spans) -> NDArray[np.int64]:
    """Rows of the sentences' tokens."""
    return np.concatenate([np.arange(*span) for span in spans])


def read_rows(
    writer: Writable, model: ModelGroup, layer: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Queries and keys (head, token, channel) of a layer at ascending rows of the token axis."""
    source, start = writer.group(model.path), int(rows[0])
    span = slice(start, int(rows[-1]) + 1)
    whole = slice(0, None) if span.stop - start == len(rows) else rows - start  # a slice makes no copy
    query, key = (read_vectors(source, role, layer, span)[:, whole] for role in ROLES)
    return query, key

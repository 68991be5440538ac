"""The sample that normalisations and pictures are fitted on, the held-out sentences that judge them, and token sets.

A token set has the tokens whose feature points are computed: the sample of the corpus, or a whole review as one input.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint, longest_input
from ingest.run.errors import IngestError
from ingest.run.settings import USUAL, Limits
from ingest.text.blocks import Block, PlannedCorpus, content_hash
from ingest.text.reviews import Review, Reviews
from ingest.text.sentences import NUPUNKT, split_text
from ingest.text.tokenizer import Tokenizer
from store.phrases import many
from store.repository.arrays import array_of, read_vectors
from store.repository.writer import Writable, Writer
from store.schema.features import SAMPLE
from store.schema.model import ROLES

#: In a small corpus, one sentence in this many judges a fit.
HELD_OUT_ONE_IN = 5
#: Largest number of tokens of a sentence that judge a fit: the work grows with its square, for every head.
JUDGED_TOKENS = 512

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
        """Number of sentences."""
        return len(self.spans)

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return len(self.rows)

    def first(self, tokens: int) -> "Sample":
        """The first sentences of the sample with at most `tokens` tokens together; at least one sentence."""
        return self.first_sentences(max(1, int(np.searchsorted(np.cumsum(lengths(self.spans)), tokens, side="right"))))

    def first_sentences(self, sentences: int) -> "Sample":
        """The first `sentences` sentences of the sample."""
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
        Spans of sentences that no fit sees, or of their beginnings: (sentence, 2); empty where the plan has too few to spare any.
    most_judging
        Largest number of sentences that judge the fits; sentences of the fit do where none is held out.
    """

    fitted: Sample
    held_out: Spans
    most_judging: int = Limits.judged_sentences

    @property
    def judging(self) -> Spans:
        """The held-out sentences; sentences of the fit where there are none."""
        return self.held_out if len(self.held_out) else beginnings(self.fitted.spans[-self.most_judging :])

    @property
    def judged_on(self) -> str:
        """The sentences that judge the fits, in words."""
        if len(self.held_out):
            return f"{len(self.held_out):,} held-out sentences"
        return f"{many(len(self.judging), 'sentence')} of the fit, as the corpus is too small to hold any out"


def split_sentences(corpus: PlannedCorpus, limits: Limits = USUAL) -> Split:
    """Split a plan into fitted and held-out sentences; a small plan holds out a share of its sentences."""
    whole = whole_sample(corpus)
    most = limits.judged_sentences
    spared = min(most, whole.sentences // HELD_OUT_ONE_IN)
    fitted = whole.first_sentences(whole.sentences - spared).first(limits.fit_tokens)
    return Split(fitted, beginnings(whole.spans[fitted.sentences :][:most]), most)


def beginnings(spans: Spans) -> Spans:
    """The spans of the first `JUDGED_TOKENS` tokens of sentences: (sentence, 2)."""
    first, stop = spans.T
    return np.stack([first, np.minimum(stop, first + JUDGED_TOKENS)], axis=-1)


def take_sample(corpus: PlannedCorpus, limits: Limits = USUAL) -> Sample:
    """The first sentences of a plan with at most `limits.fit_tokens` tokens: a uniform sample."""
    return whole_sample(corpus).first(limits.fit_tokens)


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


#: Largest number of wordpieces of a review, [CLS] and [SEP] included; less where the model reads fewer.
REVIEW_TOKENS = 512


@dataclass(frozen=True)
class TokenSet:
    """Inputs of the model one after the other, and what their tokens are; arrays are (token,).

    Attributes
    ----------
    block
        The inputs: the sentences of a sample, or a review as one.
    columns
        The arrays of `store.features.TOKEN_ARRAYS`.
    label
        Label of the token's review, -1 where there is none.
    facts
        Further attributes of the token set in the store.
    """

    name: str
    block: Block
    columns: dict[str, NDArray[Any]]
    label: NDArray[np.int64]
    facts: dict[str, Any]


def sample_token_set(writer: Writer, corpus: PlannedCorpus, sample: Sample) -> TokenSet:
    """The tokens of the corpus' sample."""
    group = writer.group(f"corpus/{corpus.key}")
    stop = int(sample.rows[-1]) + 1
    names = ("token_id", "position", "word_index", "token_flags", "sentence_index")
    columns = {name: np.asarray(array_of(group, name)[:stop])[sample.rows] for name in names}
    labels = np.asarray(array_of(group, "label")[: sample.sentences]).astype(np.int64)
    title = f"the first {sample.sentences:,} sentences of the corpus, {sample.tokens:,} tokens"
    return TokenSet(
        SAMPLE,
        take_sentences(corpus, np.arange(sample.sentences)),
        {"row": sample.rows, **columns},
        labels[columns["sentence_index"]],
        {"says": title, "sentences": sample.sentences},
    )


def review_token_set(checkpoint: Checkpoint, reviews: Reviews, number: int, *, splitter: str = NUPUNKT) -> TokenSet:
    """A whole review between the special tokens of one text, cut where the model reads no further."""
    review = find_review(checkpoint, reviews, number)
    columns, cut = _as_one_input(
        checkpoint, list(split_text(review.text, splitter)), min(REVIEW_TOKENS, longest_input(checkpoint))
    )
    tokens, sentences = len(columns["token_id"]), int(columns["sentence_index"][-1]) + 1
    title = f"review {number} of the data, {'its first' if cut else 'all of its'} {tokens:,} tokens"
    block = Block(0, tokens, np.array([tokens], np.int32), columns["token_id"], columns["token_flags"])
    facts = {"says": title, "sentences": sentences, "document": number, "label": review.label, "cut": cut}
    return TokenSet(f"review-{number}", block, columns, np.full(tokens, review.label), facts)


def find_review(checkpoint: Checkpoint, reviews: Reviews, number: int) -> Review:
    """The review by its index in the data.

    Raises
    ------
    IngestError
        Where the data has no such review, or the review is empty.
    """
    if not 0 <= number < len(reviews):
        raise IngestError(
            f"There is no review {number}: the data has reviews 0 to {len(reviews) - 1}. Give --reviews=0, or other numbers in this range."
        )
    if not has_review(checkpoint, reviews, number):
        raise IngestError(f"Review {number} is empty: it has no wordpieces. Give another in --reviews=...")
    return reviews[number]


def has_review(checkpoint: Checkpoint, reviews: Reviews, number: int) -> bool:
    """Whether the review exists and has wordpieces."""
    sentences = list(split_text(reviews[number].text)) if number < len(reviews) else []
    tokenizer = _tokenizer(checkpoint)
    return bool(sentences) and bool((tokenizer.tokenize(sentences).lengths > tokenizer.layout.special).any())


def _tokenizer(checkpoint: Checkpoint) -> Tokenizer:
    """A tokenizer that cuts nothing."""
    return Tokenizer(checkpoint.folder, max_length=1 << 30)


def _as_one_input(checkpoint: Checkpoint, sentences: list[str], longest: int) -> tuple[dict[str, NDArray[Any]], bool]:
    """Columns of the sentences as one text, with a space between two, and whether something was cut.

    They are tokenized together: a wordpiece of some vocabularies begins with the space before it.
    """
    tokenizer, text = _tokenizer(checkpoint), " ".join(sentences)
    every, [spans], layout = tokenizer.tokenize([text]), tokenizer.spans([text]), tokenizer.layout
    stops = np.cumsum([len(sentence) + 1 for sentence in sentences])
    owner = np.maximum.accumulate(np.searchsorted(stops, np.maximum(0, spans[:, 1] - 1), side="right"))
    inner = np.arange(layout.before, len(spans) - layout.after)
    kept = inner[: longest - layout.special]
    rows = np.concatenate([np.arange(layout.before), kept, np.arange(len(spans) - layout.after, len(spans))])
    columns = {
        "row": np.full(len(rows), -1, np.int64),
        "token_id": every.token_id[rows],
        "position": np.arange(len(rows), dtype=np.int16),
        "word_index": every.word_index[rows],
        "token_flags": every.token_flags[rows],
        "sentence_index": np.minimum(owner[rows], owner[kept[-1]]).astype(np.int32),
    }
    return columns, len(kept) < len(inner)

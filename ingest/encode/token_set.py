"""The tokens whose feature points are computed: the sample of the corpus, or a whole review as one input."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import Sample, take_sentences
from ingest.run.checkpoint import Checkpoint, longest_input
from ingest.run.errors import IngestError
from ingest.text.blocks import Block
from ingest.text.corpus import PlannedCorpus
from ingest.text.reviews import Review, Reviews
from ingest.text.rules import NUPUNKT, split_text
from ingest.text.tokenizer import Tokenizer
from store.repository.arrays import array_of
from store.repository.writer import Writer
from store.schema.features import SAMPLE

#: Wordpieces of a review, [CLS] and [SEP] included, where the model reads so many.
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
        What else the store says of it.
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
        Where there is none, or nothing in it.
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
    """Columns of the sentences between the special tokens of one text, and whether something was cut."""
    tokenizer = _tokenizer(checkpoint)
    each, layout = tokenizer.tokenize(sentences), tokenizer.layout
    stops = np.cumsum(each.lengths)
    place = np.arange(len(each.token_id)) - np.repeat(stops - each.lengths, each.lengths)
    inner = (place >= layout.before) & (place < np.repeat(each.lengths, each.lengths) - layout.after)
    owner = np.repeat(np.arange(len(sentences)), each.lengths)
    words = np.array(
        [int(each.word_index[stop - length : stop].max()) + 1 for stop, length in zip(stops, each.lengths, strict=True)]
    )
    counted_on = each.word_index + (np.cumsum(words) - words)[owner]
    inner_rows = np.flatnonzero(inner)[: longest - layout.special]
    first, last = np.arange(layout.before), np.arange(len(place) - layout.after, len(place))
    rows = np.concatenate([first, inner_rows, last])
    columns = {
        "row": np.full(len(rows), -1, np.int64),
        "token_id": each.token_id[rows],
        "position": np.arange(len(rows), dtype=np.int16),
        "word_index": np.where(each.word_index[rows] < 0, -1, counted_on[rows]).astype(np.int16),
        "token_flags": each.token_flags[rows],
        "sentence_index": np.minimum(owner[rows], owner[inner_rows[-1]]).astype(np.int32),
    }
    return columns, len(inner_rows) < int(inner.sum())

"""Input in the form of Clark et al. 2019: [CLS] A [SEP] B [SEP] of 128 wordpieces, here packed from reviews.

After preprocess_unlabeled.py of clarkkev/attention-analysis: sentences of a text are packed until there are 125
wordpieces, split between two sentences at a random place, and cut at the longer side, at its front or its back, until
they fit. A rest that is too short at the end of a text is left out, so that all segments are equally long.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ingest.text.blocks import Block, plan
from ingest.text.reviews import Review
from ingest.text.sentences import split_text
from ingest.text.tokenizer import Tokenizer
from store.schema import BLOCK

ROOM = 125
TOKENS = ROOM + 3
SEPARATORS = 2

#: Wordpieces with their flags: (token, 2).
Pieces = NDArray[np.int64]


def review_segments(reviews: Iterable[Review], tokenizer: Tokenizer, *, count: int, seed: int) -> list[Block]:
    """Blocks of the first `count` segments of the reviews."""
    generator = np.random.default_rng(seed)
    texts = (_pieces(tokenizer, list(split_text(review.text))) for review in reviews)
    segments = chain.from_iterable(pack(sentences, ends, generator) for sentences, ends in texts if sentences)
    taken = np.concatenate(list(islice(segments, count)))
    lengths = np.full(len(taken) // TOKENS, TOKENS, np.int32)
    return plan(lengths, taken[:, 0].astype(np.int32), taken[:, 1].astype(np.uint8), length=BLOCK)


def pack(sentences: Sequence[Pieces], ends: Pieces, generator: np.random.Generator) -> Iterator[Pieces]:
    """Segments of one text; `ends` are [CLS] and [SEP]."""
    chunk: list[Pieces] = []
    for sentence in sentences:
        chunk.append(sentence)
        if sum(map(len, chunk)) < ROOM:
            continue
        if len(chunk) == 1:
            return  # no pair without a second sentence; the original code also ends the text here
        split = int(generator.integers(1, len(chunk)))
        pair = cut(np.concatenate(chunk[:split]), np.concatenate(chunk[split:]), generator)
        yield join(*pair, ends)
        chunk = []


def cut(first: Pieces, second: Pieces, generator: np.random.Generator) -> tuple[Pieces, Pieces]:
    """The pair, cut to fit: each cut takes a wordpiece from the longer side, at its front or its back."""
    while len(first) + len(second) > ROOM:
        front = generator.random() < 0.5
        if len(first) > len(second):
            first = first[1:] if front else first[:-1]
        else:
            second = second[1:] if front else second[:-1]
    return first, second


def join(first: Pieces, second: Pieces, ends: Pieces) -> Pieces:
    """The segment [CLS] first [SEP] second [SEP]."""
    cls, sep = ends[:1], ends[1:]
    return np.concatenate([cls, first, sep, second, sep])


def _pieces(tokenizer: Tokenizer, sentences: list[str]) -> tuple[list[Pieces], Pieces]:
    """Wordpieces of every sentence, and [CLS] and [SEP]."""
    if not sentences:
        return [], np.zeros((0, 2), np.int64)
    tokens = tokenizer.tokenize(sentences)
    rows = np.stack([tokens.token_id, tokens.token_flags], axis=-1).astype(np.int64)
    own = np.split(rows, np.cumsum(tokens.lengths)[:-1])
    return [segment[1:-1] for segment in own], own[0][[0, -1]]

"""Sentences of chosen or random numbers, for tests of what pages show of a sentence."""

import numpy as np

from dashboard.sentence.sentence import Sentence
from store.kernels.mixing import count_products
from store.schema.corpus import CLS, CONTINUATION, SEP
from store.schema.model import RATIOS

#: [CLS] the zany film [SEP] was good [SEP]: two sentences, the second word of the first split in two.
PIECES = ("[CLS]", "the", "zan", "##y", "film", "[SEP]", "was", "good", "[SEP]")
WORDS = (-1, 0, 1, 1, 2, -1, 3, 4, -1)
SEGMENTS = (0, 0, 0, 0, 0, 0, 1, 1, 1)
FLAGS = (CLS, 0, 0, CONTINUATION, 0, SEP, 0, 0, SEP)


def a_pair(*, layers: int = 2, heads: int = 3, channels: int = 4, seed: int = 0) -> Sentence:
    """The pair of sentences above with random queries, keys and norms."""
    draw = np.random.default_rng(seed)
    shape = (layers, heads, len(PIECES))
    return Sentence(
        text="The zany film",
        second="was good",
        label="",
        wordpieces=PIECES,
        texts=tuple(piece.removeprefix("##") for piece in PIECES),
        flags=np.array(FLAGS, np.uint8),
        word_index=np.array(WORDS, np.int16),
        segment=np.array(SEGMENTS, np.uint8),
        query=(2 * draw.standard_normal((*shape, channels))).astype(np.float32),
        key=(2 * draw.standard_normal((*shape, channels))).astype(np.float32),
        value_norm=draw.uniform(0.1, 9, shape).astype(np.float32),
        mixing=draw.uniform(0, 1, (len(RATIOS), layers, shape[-1])).astype(np.float32),
        cut=False,
    )


def one_sentence(*, layers: int = 2, heads: int = 3, tokens: int = 3, seed: int = 0) -> Sentence:
    """A sentence of [CLS], words of one wordpiece each, and [SEP]."""
    draw, shape = np.random.default_rng(seed), (layers, heads, tokens)
    words = tokens - 2
    return Sentence(
        text=" ".join(["film"] * words),
        second="",
        label="positive",
        wordpieces=("[CLS]", *["film"] * words, "[SEP]"),
        texts=("[CLS]", *["film"] * words, "[SEP]"),
        flags=np.array([CLS, *[0] * words, SEP], np.uint8),
        word_index=np.array([-1, *range(words), -1], np.int16),
        segment=np.zeros(tokens, np.uint8),
        query=draw.standard_normal((*shape, 4)).astype(np.float32),
        key=draw.standard_normal((*shape, 4)).astype(np.float32),
        value_norm=draw.uniform(0.1, 9, shape).astype(np.float32),
        mixing=draw.uniform(0, 1, (len(RATIOS), layers, shape[-1])).astype(np.float32),
        cut=False,
        products=draw.uniform(1, 2, (layers, count_products(heads), tokens)).astype(np.float32),
    )

"""The attention weights of a sentence as a notebook keeps them: in as many levels as fit a cell, deflated."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.sentence import Sentence
from store.text import Window

#: Most bytes of a cell's weights; a notebook writes them as base64, a third longer.
MOST_BYTES = 575_000
#: Numbers of levels between no attention and all of it, the most exact first. From 255 up they are as exact as the screen.
LEVELS = (65_535, 4_095, 1_023, 255, 127, 63)
#: Levels of a sentence for which none of `LEVELS` fits.
FEWEST = 255


@dataclass(frozen=True)
class PackedWeights:
    """Weights [layer, head, key, query] in levels, deflated; more than 255 levels are two planes, the high bytes first."""

    packed: bytes
    levels: int

    @property
    def error(self) -> float:
        """Largest error of a weight."""
        return 0.5 / self.levels


def window_pattern(sentence: Sentence, window: Window) -> NDArray[np.float32]:
    """Attention between the tokens of a window (layer, head, query_token, key_token), of the softmax over the whole sentence."""
    rows = (sentence.rows(layer, window.positions) for layer in range(len(sentence.query)))
    return np.stack([each[..., window.first : window.stop] for each in rows])


def pack_weights(pattern: NDArray[np.float32], most: int = MOST_BYTES) -> PackedWeights:
    """The weights of all heads (layer, head, query_token, key_token), in at most `most` bytes where some of `LEVELS` fit.

    Keys come first: a key that many queries attend to alike is a run of equal numbers. A search for runs alone takes 0.03 s;
    a search for repetitions takes 2.2 s and saves 5%.
    """
    weights = pattern.swapaxes(-1, -2)
    for levels in LEVELS:
        if packed := _packed(weights, levels, most):
            return PackedWeights(packed, levels)
    return PackedWeights(_packed(weights, FEWEST, weights.nbytes), FEWEST)


def _packed(weights: NDArray[np.float32], levels: int, most: int) -> bytes:
    """The weights, deflated layer by layer; empty as soon as they take more than `most` bytes."""
    deflate, packed = zlib.compressobj(strategy=zlib.Z_RLE), b""
    for shift in (8, 0) if levels > 255 else (0,):
        for layer in weights:
            codes = np.rint(layer * np.float32(levels)).astype(np.uint16) >> shift
            packed += deflate.compress((codes & 255).astype(np.uint8).tobytes())
            if len(packed) > most:
                return b""
    packed += deflate.flush()
    return packed if len(packed) <= most else b""

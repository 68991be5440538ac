"""Data of published pictures, which need no server: tokens and their strongest lines in each head, and weights of sentences with a page.

Format of the bytes of a head, little-endian: `HSL1`, then u32 tokens, lines a point, bytes a position (1 or 2); then f32 attention
received and f32 entropy of every token; then of every token as query and as key the weights of its lines, u16, of which 65535 is
all attention; then their other ends, positions in the sentence. A point with fewer partners has weights of 0.
"""

import struct
from dataclasses import asdict
from typing import Any

import numpy as np

from dashboard.notebook.weights import PackedWeights, pack_weights, window_pattern
from dashboard.overview.role_cards import example_of, heads_of_cards
from dashboard.points.clicked_point import PARTNERS
from dashboard.roles.evidence import patterns_of
from dashboard.sentence.sentence import PatternOptions, stored_sentence, unhidden_units
from dashboard.ui.theme import PALETTE, head_colours
from store import Corpus
from store.kernels.statistics import entropy
from store.schema.model import ROLES
from store.text import Window

MAGIC = b"HSL1"
#: Most tokens that are drawn of a head: with their lines a page stays well below 1 MB.
MOST_TOKENS = 6_000
#: Code of a weight of 1.
LEVELS = 65_535
#: Positions that one byte can hold.
OF_BYTE = 256
#: Most sentences with a page; fewest and most tokens of one: as many lines as a window has room for.
MOST_SENTENCES, SHORTEST, LONGEST = 36, 6, 24
#: Most bytes of the weights of a sentence.
MOST_BYTES = 200_000


def drawn_sentences(corpus: Corpus, most: int = MOST_TOKENS) -> int:
    """Number of first sentences that have at most `most` tokens together; at least one."""
    ends = np.cumsum(corpus.sentences.row_size.values[: corpus.n_sentences])
    return max(1, int(np.searchsorted(ends, most, side="right")))


def drawn_tokens(corpus: Corpus, sentences: int, *, text: bool) -> dict[str, Any]:
    """Content of the cards and labels of the tokens of the first sentences; see `DrawnTokens` of assets/types/notebook.d.ts.

    Without text a wordpiece is called by its position.
    """
    rows = corpus.rows[: count_tokens(corpus, sentences)]
    positions = corpus.tokens.position.values[rows].tolist()
    pieces = (
        [(piece.name, piece.spaced) for number in range(sentences) for piece in corpus.sentence_pieces(number)]
        if text
        else [(f"#{position}", f" #{position}") for position in positions]
    )
    different = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    return {
        "ids": [different[piece] for piece in pieces],
        "pieces": [name for name, _ in different],
        "texts": [spaced for _, spaced in different],
        "positions": positions,
        "sentences": corpus.tokens.sentence_index.values[rows].tolist(),
    }


def count_tokens(corpus: Corpus, sentences: int) -> int:
    """Number of tokens of the first sentences."""
    return int(corpus.sentences.row_size.values[:sentences].sum())


def encode_lines(corpus: Corpus, layer: int, head: int, sentences: int) -> bytes:
    """The strongest lines of every query and key of a head in the first sentences, as bytes."""
    sizes = corpus.sentences.row_size.values[:sentences]
    tokens, dtype = int(sizes.sum()), "<u1" if sizes.max() <= OF_BYTE else "<u2"
    numbers = np.zeros((2, tokens), "<f4")
    weights = np.zeros((tokens, len(ROLES), PARTNERS), "<u2")
    partners = np.zeros(weights.shape, dtype)
    first = 0
    for pattern in patterns_of(corpus, layer, head, range(sentences)):
        own = slice(first, first + len(pattern))
        numbers[:, own] = pattern.sum(axis=0), entropy(pattern)
        for role, of_role in enumerate((pattern, pattern.T)):
            strongest = np.argsort(-of_role, axis=1, kind="stable")[:, :PARTNERS]
            shown = slice(strongest.shape[1])
            weights[own, role, shown] = np.rint(LEVELS * np.take_along_axis(of_role, strongest, axis=1))
            partners[own, role, shown] = strongest
        first = own.stop
    header = MAGIC + struct.pack("<3I", tokens, PARTNERS, np.dtype(dtype).itemsize)
    return header + b"".join(part.tobytes() for part in (numbers, weights, partners))


def chosen_sentences(corpus: Corpus, count: int = MOST_SENTENCES) -> list[int]:
    """Sentences with a page: those of the cards of heads, then the first short ones, a uniform sample."""
    examples = (example_of(corpus, of) for of in heads_of_cards(corpus))
    of_cards = [example.sentence for example in examples if example]
    sizes = corpus.sentences.row_size.values[: corpus.n_sentences]
    short = np.flatnonzero((sizes >= SHORTEST) & (sizes <= LONGEST)).tolist()
    return sorted(list(dict.fromkeys([*of_cards, *(short or range(len(sizes)))]))[:count])


def sentence_files(corpus: Corpus, number: int, source: str) -> tuple[dict[str, Any], PackedWeights]:
    """Content of the views of a sentence, see `SentenceContent` of assets/types/notebook.d.ts, and the packed weights."""
    sentence = stored_sentence(corpus, number)
    window = Window.at(0, len(sentence.wordpieces))
    pattern = window_pattern(sentence, window)
    packed = pack_weights(pattern, MOST_BYTES)
    layers, heads, tokens = pattern.shape[:3]
    units = [unit for unit in unhidden_units(sentence, PatternOptions())[0] if unit.positions[0] in window]
    return {
        "kind": "sentence",
        "name": corpus.title,
        "units": list(map(asdict, units)),
        "weights": {"layers": layers, "heads": heads, "first": 0, "tokens": tokens, "levels": packed.levels},
        "colours": head_colours(heads),
        "palette": PALETTE,
        "source": f"{source}; weights within {packed.error:.1g}",
        "stem": f"{corpus.name}-sentence-{number}",
    }, packed

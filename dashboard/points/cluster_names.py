"""The name of a group of points: the wordpieces, or the token type or positions, that it has more of than the rest.

By the log-odds ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008, section 3.3.2).
"""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dashboard.points.columns import KINDS, kinds_of
from dashboard.points.drawn import Drawn

#: Points that the prior counts as: the frequencies of all points.
PRIOR = 500.0
#: Standard deviations by which a log-odds ratio is above 0, and the ratio of the odds, at least.
CERTAIN, TIMES = 5.0, 2.0
#: Wordpieces of a name, and the share of the points from which on those that are named suffice.
PIECES, ENOUGH = 3, 0.8
#: The share of the points that a type or positions are named from.
MOST = 0.5
#: First positions of the bands of positions.
BANDS = (0, 1, 2, 4, 8, 16, 32, 64)
#: Token types that say more than their wordpieces.
NAMED_KINDS = ("full stop or comma", "symbol", "continuation")
#: Marks whose names in Unicode are not those of a reader.
MARKS = {"'": "apostrophe", "-": "hyphen", "/": "slash", "(": "(", ")": ")"}
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def log_odds(inside: NDArray[np.integer], outside: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """Log-odds ratios of terms in a group against the rest, and these in standard deviations: (term,) each.

    `inside` and `outside` count the terms; each occurs somewhere, and there are two or more.
    """
    total = (inside + outside).astype(np.float64)
    prior = PRIOR * total / total.sum()
    logits = [_logit(counts + prior) for counts in (inside, outside)]
    ratio = logits[0] - logits[1]
    return ratio, ratio / np.sqrt(1 / (inside + prior) + 1 / (outside + prior))


def _logit(counts: Floats) -> Floats:
    return np.log(counts) - np.log(counts.sum() - counts)


def over_represented(codes: Codes, member: NDArray[np.bool_]) -> list[tuple[int, float]]:
    """Codes (point,) that a group has more of than the rest, the most certain first, each with its share of the group."""
    counts = np.bincount(codes)
    terms = np.flatnonzero(counts)
    if len(terms) < 2:
        return []
    inside = np.bincount(codes[member], minlength=len(counts))[terms]
    ratio, deviations = log_odds(inside, counts[terms] - inside)
    order = np.argsort(-deviations, kind="stable")
    found = [term for term in order if deviations[term] >= CERTAIN and ratio[term] >= np.log(TIMES)]
    return [(int(terms[term]), float(inside[term] / inside.sum())) for term in found]


def name_of(drawn: Drawn, member: NDArray[np.bool_]) -> str:
    """The name of a group of the drawn tokens (token,); empty where nothing tells it from the rest."""
    pieces = _most_certain(over_represented(drawn.of_tokens("token_id").astype(np.int64), member))
    names, texts = drawn.corpus.vocab, drawn.corpus.piece_texts
    words = [_spelled(str(names[code]), str(texts[code])) for code, _ in pieces]
    covered = sum(share for _, share in pieces)
    kinds = () if covered >= MOST else _of_kind(drawn, member)
    return " · ".join([*kinds, *words[: PIECES - len(kinds)]])


def _spelled(piece: str, text: str) -> str:
    """A wordpiece; a mark, which is hardly seen, by the name in Unicode of its text."""
    return piece if len(text) != 1 or text.isalnum() else MARKS.get(text, unicodedata.name(text, text).lower())


def _most_certain(found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The first few, no more than are enough."""
    named: list[tuple[int, float]] = []
    for term in found[:PIECES]:
        if sum(share for _, share in named) < ENOUGH:
            named.append(term)
    return named


def _of_kind(drawn: Drawn, member: NDArray[np.bool_]) -> list[str]:
    """The token type and the positions that most of a group have."""
    kinds = over_represented(kinds_of(drawn.of_tokens("token_flags")), member)
    bands = np.searchsorted(BANDS, drawn.of_tokens("position"), side="right").astype(np.int64) - 1
    return [
        *(KINDS[code] for code, share in kinds if share >= MOST and KINDS[code] in NAMED_KINDS),
        *(_band_name(code) for code, share in over_represented(bands, member) if share >= MOST),
    ]


def _band_name(code: int) -> str:
    first, *rest = BANDS[code : code + 2]
    last = rest[0] - 1 if rest else None
    return f"position {first}" if first == last else f"positions {first}-{last}" if last else f"positions from {first}"

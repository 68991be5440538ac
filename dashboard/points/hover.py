"""What the page of a head says about the point under the pointer."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from store import Corpus
from store.kernels.statistics import entropy

#: Keys a query attends to most, or queries that attend to a key most, named in the card.
PARTNERS = 5


@dataclass(frozen=True)
class Partner:
    """A token of the same sentence, and the attention between it and the point."""

    wordpiece: str
    position: int
    weight: float


@dataclass(frozen=True)
class PointCard:
    """A token of a head, as a query or as a key."""

    role: str
    wordpiece: str
    position: int
    sentence: int
    label: str
    wordpieces: list[str]
    received: float
    entropy: float
    partners: list[Partner]


def point_card(corpus: Corpus, *, layer: int, head: int, role: str, token: int) -> PointCard:
    """The card of the `token`-th token of the corpus (padding not counted), recomputed from its sentence."""
    row = int(corpus.rows[token])
    sentence = int(corpus.tokens.sentence_index[row])
    position = int(corpus.tokens.position[row])
    pattern = corpus.pattern(sentence, layer=layer, head=head).values
    wordpieces = corpus.wordpieces(corpus.sentence_rows(sentence))
    weights = pattern[position] if role == "query" else pattern[:, position]
    return PointCard(
        role=role,
        wordpiece=wordpieces[position],
        position=position,
        sentence=sentence,
        label=corpus.label_name(sentence),
        wordpieces=wordpieces,
        received=round(float(pattern[:, position].sum()), 3),
        entropy=round(float(entropy(pattern)[position]), 3),
        partners=_partners(weights, wordpieces),
    )


def as_json(card: PointCard) -> dict[str, object]:
    """JSON-ready data of a card."""
    return asdict(card)


def _partners(weights: NDArray[np.float32], wordpieces: list[str]) -> list[Partner]:
    strongest = np.argsort(-weights, kind="stable")[:PARTNERS]
    return [Partner(wordpieces[place], int(place), round(float(weights[place]), 4)) for place in strongest]

"""The strongest pairs of a head in the whole corpus, as rows of a table."""

from dataclasses import dataclass

import numpy as np

from store import Corpus


@dataclass(frozen=True)
class Pair:
    """A query and a key of one sentence, by their numbers among the corpus' tokens and their places in the sentence."""

    rank: int
    query_token: int
    key_token: int
    query_piece: str
    key_piece: str
    query_position: int
    key_position: int
    sentence: int
    logit: float
    weight: float


def strongest_pairs(corpus: Corpus, layer: int, head: int, *, limit: int = 100) -> list[Pair]:
    """The strongest pairs of one head, the strongest first. A StoreError where the store has none yet."""
    stored = corpus.pairs.isel(layer=layer, head=head, rank=slice(0, limit))
    there = stored.query_token.values >= 0
    query, key = (stored[name].values[there] for name in ("query_token", "key_token"))
    tokens, query_of, key_of = corpus.tokens, query.tolist(), key.tolist()
    position, sentence = tokens.position.values, tokens.sentence_index.values
    number = dict(zip([*query_of, *key_of], np.searchsorted(corpus.rows, [*query_of, *key_of]).tolist(), strict=True))
    pieces = corpus.wordpieces(query), corpus.wordpieces(key)
    strengths = stored.logit.values[there].tolist(), stored.weight.values[there].tolist()
    return [
        Pair(
            rank=rank + 1,
            query_token=number[q],
            key_token=number[k],
            query_piece=pieces[0][rank],
            key_piece=pieces[1][rank],
            query_position=int(position[q]),
            key_position=int(position[k]),
            sentence=int(sentence[q]),
            logit=strengths[0][rank],
            weight=strengths[1][rank],
        )
        for rank, (q, k) in enumerate(zip(query_of, key_of, strict=True))
    ]

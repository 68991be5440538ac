"""The table of a head's highest-scoring pairs."""

import numpy as np

from dashboard.points.pairs import stored_pairs
from store import Corpus


def test_a_pair_is_identified_by_its_tokens(two_views: Corpus) -> None:
    first = stored_pairs(two_views, 1, 0)[0]
    rows = two_views.rows[[first.query_token, first.key_token]]
    assert (first.query_piece, first.key_piece) == tuple(two_views.wordpieces(rows))
    assert [first.query_position, first.key_position] == two_views.tokens.position.values[rows].tolist()
    assert set(two_views.tokens.sentence_index.values[rows]) == {first.sentence}


def test_pairs_are_as_strong_as_their_pattern_says(two_views: Corpus) -> None:
    for pair in stored_pairs(two_views, 1, 0, limit=5):
        pattern = two_views.pattern(pair.sentence, layer=1, head=0).values
        assert np.isclose(pattern[pair.query_position, pair.key_position], pair.weight, atol=1e-3)


def test_the_strongest_come_first_and_no_more_than_asked(two_views: Corpus) -> None:
    pairs = stored_pairs(two_views, 0, 1, limit=7)
    assert [pair.rank for pair in pairs] == list(range(1, 8))
    assert [pair.logit for pair in pairs] == sorted((pair.logit for pair in pairs), reverse=True)

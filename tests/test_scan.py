"""The exact search of a head against numpy's sort of every score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.points.similar import AtOnce, Point, cosines, highest_scores, logits
from store import Corpus
from store.schema.model import ROLES

POINTS = [Point(layer, head, role, 40) for layer, head in ((0, 1), (1, 0)) for role in ROLES]


@pytest.fixture(params=[(32_768, 4_096), (16, 16), (16, 7), (7, 16)], ids=str)
def at_once(request: pytest.FixtureRequest) -> AtOnce:
    return AtOnce(*request.param)


def vectors_of(corpus: Corpus, point: Point, role: str) -> np.ndarray:
    """Vectors of all tokens, with the constant of the keys: (token, channel)."""
    vectors: np.ndarray = getattr(corpus, role)[point.layer, point.head].values[corpus.rows].astype(np.float64)
    return vectors


@pytest.mark.parametrize("point", POINTS, ids=str)
@pytest.mark.parametrize("tokens", [1, 31, None], ids=["one token", "a part", "all tokens"])
def test_logits_of_a_point_are_those_of_its_query_and_every_key(
    tiny_corpus: Corpus, point: Point, tokens: int | None, at_once: AtOnce
) -> None:
    searched = tokens or tiny_corpus.n_tokens
    own = vectors_of(tiny_corpus, point, point.role)[point.token]
    others = vectors_of(tiny_corpus, point, ROLES[1 - ROLES.index(point.role)])[:searched]
    found = logits(tiny_corpus, point, searched, at_once)
    np.testing.assert_allclose(found, others @ own / np.sqrt(len(own)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("point", POINTS, ids=str)
@pytest.mark.parametrize("tokens", [1, 31, None], ids=["one token", "a part", "all tokens"])
def test_cosines_of_a_point_are_those_of_every_vector_of_its_role(
    tiny_corpus: Corpus, point: Point, tokens: int | None, at_once: AtOnce
) -> None:
    searched = tokens or tiny_corpus.n_tokens
    vectors = vectors_of(tiny_corpus, point, point.role)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = vectors[:searched] @ vectors[point.token]
    np.testing.assert_allclose(cosines(tiny_corpus, point, searched, at_once), expected, atol=1e-5)


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_the_ten_nearest_have_the_ten_largest_of_all_scores(tiny_corpus: Corpus, point: Point, at_once: AtOnce) -> None:
    """Keys whose scores differ by the rounding of float32 may change places."""
    own = vectors_of(tiny_corpus, point, point.role)[point.token]
    others = vectors_of(tiny_corpus, point, ROLES[1 - ROLES.index(point.role)])
    scores = others @ own
    found = highest_scores(logits(tiny_corpus, point, tiny_corpus.n_tokens, at_once), 10)
    np.testing.assert_allclose(scores[found], np.sort(scores)[::-1][:10], rtol=1e-4, atol=1e-5)
    assert len(set(found.tolist())) == 10


@settings(max_examples=60)
@given(scores=st.lists(st.integers(-3, 3), min_size=1, max_size=30), count=st.integers(1, 40))
def test_equal_scores_stay_in_their_order(scores: list[int], count: int) -> None:
    expected = sorted(range(len(scores)), key=lambda token: -scores[token])[:count]
    assert highest_scores(np.array(scores, np.float32), count).tolist() == expected

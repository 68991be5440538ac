"""A clicked point: its card, lines and highest-scoring keys, against transformers' own attention."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dashboard.points.clicked_point import _partners, focus, point_card, strongest_lines
from dashboard.points.similar import Point
from store import Corpus

QUERY, KEY = Point(1, 0, "query", 40), Point(1, 0, "key", 40)
PATTERN = np.array([[0.5, 0.3, 0.2], [0.1, 0.04, 0.86], [0.9, 0.06, 0.04]])


def focus_of(corpus: Corpus, point: Point, **options: Any) -> Any:
    chosen = {"top": 2, "least": 0.05, "lines": "point", "near": 10} | options
    return focus(corpus, corpus.views[0], point, **chosen)


@pytest.mark.parametrize(
    ("lines", "role", "expected"),
    [
        ("point", "query", [(1, 2, 0.86), (1, 0, 0.1)]),
        ("point", "key", [(0, 1, 0.3), (2, 1, 0.06)]),
        ("sentence", "query", [(0, 0, 0.5), (0, 1, 0.3), (1, 2, 0.86), (1, 0, 0.1), (2, 0, 0.9), (2, 1, 0.06)]),
    ],
)
def test_lines_go_along_the_strongest_attention(lines: Any, role: str, expected: list[Any]) -> None:
    assert strongest_lines(PATTERN.__getitem__, len(PATTERN), 1, role=role, lines=lines, top=2, least=0.05) == expected


def test_keys_that_a_query_does_not_see_are_neither_listed_nor_drawn() -> None:
    weights = np.array([0.3, 0.7, 0, 0], np.float32)
    assert [(each.position, each.weight) for each in _partners(weights, list("abcd"))] == [(1, 0.7), (0, 0.3)]
    lines = strongest_lines(lambda _: weights[None], 4, 1, role="query", lines="point", top=4, least=0)
    assert [key for _, key, _ in lines] == [1, 0]


def test_no_line_is_weaker_than_asked() -> None:
    assert strongest_lines(PATTERN.__getitem__, len(PATTERN), 1, role="query", lines="point", top=3, least=0.5) == [
        (1, 2, 0.86)
    ]


def test_the_sentence_is_where_it_is_in_the_picture(tiny_corpus: Corpus) -> None:
    point_focus = focus_of(tiny_corpus, QUERY)
    row = tiny_corpus.rows[40]
    rows = tiny_corpus.sentence_rows(int(tiny_corpus.tokens.sentence_index.values[row]))
    stored = tiny_corpus.view(tiny_corpus.views[0]).coordinates[1, 0, :, rows].values / 65535
    np.testing.assert_allclose(point_focus["places"], stored.transpose(1, 0, 2), atol=6e-6)
    assert point_focus["pieces"] == tiny_corpus.wordpieces(rows)
    assert point_focus["position"] == row - rows.start


@pytest.mark.parametrize(("point", "own", "others"), [(QUERY, "query", "key"), (KEY, "key", "query")])
def test_near_are_the_largest_products_in_the_corpus(tiny_corpus: Corpus, point: Point, own: str, others: str) -> None:
    vectors = {name: getattr(tiny_corpus, name)[1, 0].values[tiny_corpus.rows].astype(float) for name in (own, others)}
    products = vectors[others] @ vectors[own][40] / np.sqrt(vectors[own].shape[1])
    pieces, shown_pieces = tiny_corpus.wordpieces(tiny_corpus.rows), Counter[str]()
    expected = []
    for token in np.argsort(-products, kind="stable"):
        shown_pieces[pieces[token]] += 1
        expected += [int(token)] if shown_pieces[pieces[token]] <= 3 else []
    near = focus_of(tiny_corpus, point)["near"]
    assert [near_token["token"] for near_token in near] == expected[:10]
    assert [near_token["score"] for near_token in near] == pytest.approx(products[expected[:10]], abs=2e-3)


@pytest.mark.parametrize(("point", "role"), [(QUERY, 1), (KEY, 0)])
def test_near_tokens_have_their_places_in_the_picture(tiny_corpus: Corpus, point: Point, role: int) -> None:
    for near_token in focus_of(tiny_corpus, point)["near"]:
        row = tiny_corpus.rows[near_token["token"]]
        stored = tiny_corpus.view(tiny_corpus.views[0]).coordinates[1, 0, role, int(row)].values / 65535
        np.testing.assert_allclose(near_token["place"], stored, atol=6e-6)
        assert near_token["same_sentence"] == (
            near_token["sentence"] == tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows[40]]
        )


def test_the_number_of_searched_tokens_is_given(tiny_corpus: Corpus) -> None:
    point_focus = focus_of(tiny_corpus, QUERY, most=50)
    assert (point_focus["searched"], point_focus["tokens"]) == (50, tiny_corpus.n_tokens)
    assert max(near_token["token"] for near_token in point_focus["near"]) < 50


def test_no_near_keys_can_be_requested(tiny_corpus: Corpus) -> None:
    assert focus_of(tiny_corpus, QUERY, near=0)["near"] == []


@pytest.fixture
def pattern(tiny_corpus: Corpus, tiny_model: Path, eager: Callable[[Path], Any]) -> np.ndarray:
    """Attention of sentence 3 in L1 H0, from transformers."""
    ids = tiny_corpus.tokens.token_id.values[tiny_corpus.sentence_rows(3)]
    with torch.no_grad():
        attentions = eager(tiny_model)(torch.tensor(ids[None]).long(), output_attentions=True).attentions
    pattern: np.ndarray = attentions[1][0, 0].numpy()
    return pattern


def token_of(corpus: Corpus, sentence: int, position: int) -> int:
    return int(np.searchsorted(corpus.rows, corpus.sentence_rows(sentence).start + position))


def test_a_query_names_the_keys_it_attends_to_most(tiny_corpus: Corpus, pattern: np.ndarray) -> None:
    card = point_card(tiny_corpus, layer=1, head=0, role="query", token=token_of(tiny_corpus, 3, 2))
    assert card.position == 2
    assert card.partners[0].position == int(pattern[2].argmax())
    assert card.partners[0].weight == pytest.approx(pattern[2].max(), abs=3e-3)


def test_a_key_names_the_queries_that_attend_to_it_most(tiny_corpus: Corpus, pattern: np.ndarray) -> None:
    card = point_card(tiny_corpus, layer=1, head=0, role="key", token=token_of(tiny_corpus, 3, 1))
    assert card.partners[0].position == int(pattern[:, 1].argmax())
    assert card.received == pytest.approx(pattern[:, 1].sum(), abs=5e-3)


def test_a_card_shows_the_token_in_its_sentence(tiny_corpus: Corpus) -> None:
    card = point_card(tiny_corpus, layer=0, head=1, role="key", token=token_of(tiny_corpus, 5, 0))
    assert (card.sentence, card.wordpiece, card.wordpieces[-1]) == (5, "[CLS]", "[SEP]")

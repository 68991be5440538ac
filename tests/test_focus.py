"""What is drawn round a clicked point, against everything multiplied out."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from dashboard.points import focus as module
from dashboard.points.focus import Point, focus, strongest_lines
from store import Corpus

QUERY, KEY = Point(1, 0, "query", 40), Point(1, 0, "key", 40)
PATTERN = np.array([[0.5, 0.3, 0.2], [0.1, 0.04, 0.86], [0.9, 0.06, 0.04]])


def asked(corpus: Corpus, point: Point, **options: Any) -> Any:
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
    assert strongest_lines(PATTERN, 1, role=role, lines=lines, top=2, least=0.05) == expected


def test_no_line_is_weaker_than_asked() -> None:
    assert strongest_lines(PATTERN, 1, role="query", lines="point", top=3, least=0.5) == [(1, 2, 0.86)]


def test_the_sentence_is_where_it_is_in_the_picture(tiny_corpus: Corpus) -> None:
    found = asked(tiny_corpus, QUERY)
    row = tiny_corpus.rows[40]
    rows = tiny_corpus.sentence_rows(int(tiny_corpus.tokens.sentence_index.values[row]))
    stored = tiny_corpus.view(tiny_corpus.views[0]).coordinates[1, 0, :, rows].values / 65535
    np.testing.assert_allclose(found["places"], stored.transpose(1, 0, 2), atol=6e-6)
    assert found["pieces"] == tiny_corpus.wordpieces(rows)
    assert found["position"] == row - rows.start


@pytest.mark.parametrize(("point", "own", "others"), [(QUERY, "query", "key"), (KEY, "key", "query")])
@pytest.mark.parametrize("tile", [16_384, 7])
def test_near_are_the_largest_products_in_the_corpus(
    tiny_corpus: Corpus, point: Point, own: str, others: str, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TILE", tile)
    vectors = {name: getattr(tiny_corpus, name)[1, 0].values[tiny_corpus.rows].astype(float) for name in (own, others)}
    products = vectors[others] @ vectors[own][40] / np.sqrt(vectors[own].shape[1])
    pieces, kept = tiny_corpus.wordpieces(tiny_corpus.rows), Counter[str]()
    expected = []
    for token in np.argsort(-products, kind="stable"):
        kept[pieces[token]] += 1
        expected += [int(token)] if kept[pieces[token]] <= 3 else []
    near = asked(tiny_corpus, point)["near"]
    assert [one["token"] for one in near] == expected[:10]
    assert [one["score"] for one in near] == pytest.approx(products[expected[:10]], abs=2e-3)


@pytest.mark.parametrize(("point", "role"), [(QUERY, 1), (KEY, 0)])
def test_what_is_near_is_where_it_is_in_the_picture(tiny_corpus: Corpus, point: Point, role: int) -> None:
    for one in asked(tiny_corpus, point)["near"]:
        row = tiny_corpus.rows[one["token"]]
        stored = tiny_corpus.view(tiny_corpus.views[0]).coordinates[1, 0, role, int(row)].values / 65535
        np.testing.assert_allclose(one["place"], stored, atol=6e-6)
        assert one["same_sentence"] == (
            one["sentence"] == tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows[40]]
        )


def test_how_far_it_was_searched_is_said(tiny_corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEARCHED", 50)
    found = asked(tiny_corpus, QUERY)
    assert (found["searched"], found["of"]) == (50, tiny_corpus.n_tokens)
    assert max(one["token"] for one in found["near"]) < 50


def test_nothing_near_is_asked_for(tiny_corpus: Corpus) -> None:
    assert asked(tiny_corpus, QUERY, near=0)["near"] == []

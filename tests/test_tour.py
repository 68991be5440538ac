"""The tour: five steps on one sentence, with the numbers of the store."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard.overview.role_cards import RoleExample, RoleHead
from dashboard.overview.tour import STEPS, Tour, TourHead, choose_head, draw_tour, every_head, read_tour, vector_rows
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.components import components


@pytest.fixture(scope="module")
def tour(tiny_store: str) -> Tour:
    context = resolve(ServedStore(tiny_store), "/", "")
    return read_tour(context.corpus, context.state)


def text_of(parts: object) -> str:
    return "".join(each for each in components(parts) if isinstance(each, str))


def test_the_score_of_the_pair_is_the_scaled_product_of_its_vectors(tour: Tour) -> None:
    product = sum(float(asks) * float(answers) for asks, answers in zip(tour.query, tour.key, strict=True))
    assert tour.scores[tour.of.example.key] == pytest.approx(product / len(tour.query) ** 0.5, abs=1e-4)


def test_the_weights_of_the_query_are_those_of_the_corpus(tour: Tour, tiny_corpus: Corpus) -> None:
    of = tour.of
    pattern = tiny_corpus.pattern(of.example.sentence, layer=of.layer, head=of.head).values
    shares = np.exp(tour.scores) / np.exp(tour.scores).sum()
    np.testing.assert_allclose(shares, pattern[of.example.query], atol=1e-3)
    np.testing.assert_array_equal(tour.weights, pattern)


def test_the_pair_is_of_two_words_and_the_strongest(tour: Tour, tiny_corpus: Corpus) -> None:
    example = tour.of.example
    special = [piece.special for piece in tiny_corpus.sentence_pieces(example.sentence)]
    assert not special[example.query] and not special[example.key]  # noqa: PT018
    others = tour.weights[1:-1, 1:-1] * ~np.eye(len(special) - 2, dtype=bool)
    assert tour.weights[example.query, example.key] == others.max()


def test_a_head_with_a_role_of_grammar_comes_first_then_the_longest_sentence() -> None:
    sizes = np.array([9, 7, 8, 11])
    examples = {
        RoleHead(role, 0, head, 3.0): RoleExample(head, 1, 2)
        for head, role in enumerate(("verb_of_object", "noun_of_modifier", "next", "self"))
    }
    assert choose_head(examples, sizes).role == "verb_of_object"
    assert choose_head({of: examples[of] for of in examples if of.head > 1}, sizes).role == "self"


def test_there_are_five_steps_with_the_numbers_of_the_pair(tour: Tour) -> None:
    steps = draw_tour(tour)
    assert len(steps) == STEPS
    example = tour.of.example
    assert f"{tour.scores[example.key]:.1f}".replace("-", "−") in text_of(steps[1])
    assert f"{100 * tour.weights[example.query, example.key]:.0f}%" in text_of(steps[2])


def test_a_head_with_a_label_alone_has_no_tested_role(tour: Tour) -> None:
    of = replace(tour.of, does="attends broadly", is_tested=False)
    assert "Over the whole corpus it attends broadly." in text_of(draw_tour(replace(tour, of=of))[3])
    of = replace(of, is_tested=True)
    assert "Over the whole corpus, a test finds its role: attends broadly." in text_of(
        draw_tour(replace(tour, of=of))[3]
    )


def test_the_role_of_a_sink_is_not_tested() -> None:
    example = RoleExample(0, 1, 0)
    assert TourHead.of_role(RoleHead("next", 0, 0, 3.0), example).is_tested
    assert not TourHead.of_role(RoleHead("cls", 0, 0, 0.0, 0.6), example).is_tested


def test_a_key_that_the_query_may_not_see_has_no_score(tour: Tour) -> None:
    scores = tour.scores.copy()
    scores[-1] = -np.inf
    assert "not seen" in text_of(draw_tour(replace(tour, scores=scores))[2])


def test_a_tokenizer_that_marks_no_ends_has_none_in_the_tour(tour: Tour) -> None:
    assert "mark its ends" in text_of(draw_tour(tour)[0])
    assert "mark its ends" not in text_of(draw_tour(replace(tour, marks_ends=False))[0])


def test_the_products_are_drawn_below_the_line_where_they_are_negative() -> None:
    _, _, *parts = vector_rows("a", "b", np.array([1.0, -2.0]), np.array([3.0, 1.0]))
    bars = [given for tag, given, *_ in parts if tag == "rect"]
    zero = [given["y1"] for tag, given, *_ in parts if tag == "line"][2]
    assert [given["y"] >= zero for given in bars[4:]] == [False, True]
    assert bars[4]["height"] == pytest.approx(1.5 * bars[5]["height"], abs=0.1)


def test_every_head_has_a_line_for_each_weight_that_counts_and_one_is_framed() -> None:
    weights = np.zeros((1, 2, 3, 3))
    weights[0, 0, 0, 1], weights[0, 0, 1, 1], weights[0, 1, 2, 0] = 0.9, 0.2, 0.1
    drawn: Any = every_head(weights, (0, 1))
    first, second = (part[2:] for part in drawn[2:] if part[0] == "g")
    assert [(path["className"], path["d"]) for _, path in first[1:]] == [
        ("weaker", "M0 6L34 6"),
        ("strong", "M0 2L34 6"),
    ]
    assert [box["className"] for _, box in (first[0], second[0])] == ["cell", "framed"]
    assert len(second) == 1

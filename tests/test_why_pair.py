"""Why a head attends from one token to another: the parts of the logit of a pair on page Sentence."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from dashboard.pages import TOPICS
from dashboard.sentence.picture import read_shown
from dashboard.sentence.why import PARTS, WHY, WhyPair, compute_why, draw_why, sentence_parts, unknown_parts, why_pair
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import open_corpus
from store.kernels.head_tables import HeadTables
from tests.components import components

NAMES = [*PARTS, "constants"]
TYPED = "?text=The+film+was+good&layer=1&head=1&heads=1"


def texts(part: object) -> str:
    return "".join(str(each) for each in components(part) if isinstance(each, str))


@pytest.fixture
def parts() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(5, 6, 6))


def test_the_weight_of_a_pair_is_that_of_the_softmax_of_the_sum_of_all_parts(parts: np.ndarray) -> None:
    assert why_pair(parts, NAMES, 2, 4)[0] == pytest.approx(softmax(parts.sum(axis=0), axis=-1)[2, 4])


def test_the_parts_without_the_constants_sum_to_how_far_the_logit_is_above_that_of_the_mean_key(
    parts: np.ndarray,
) -> None:
    parts[-1] = parts[-1, :, :1]  # equal for all keys of a query
    row = parts.sum(axis=0)[2]
    assert sum(why_pair(parts, NAMES, 2, 4)[2].values()) == pytest.approx(row[4] - row.mean())


def test_the_logit_of_a_pair_of_the_store_is_its_scaled_product(roles_store: str) -> None:
    corpus = open_corpus(roles_store)
    found = corpus.logit_parts(0, layer=1, head=1)
    rows = corpus.sentence_rows(0)
    query, key = (getattr(corpus, role).isel(layer=1, head=1, token=rows).values for role in ("query", "key"))
    expected = query.astype(np.float64) @ key.astype(np.float64).T / np.sqrt(query.shape[-1])
    difference = found.sum("part").values - expected
    # The keys of a store give logits up to a constant of each query, on which no weight depends.
    np.testing.assert_allclose(difference - difference.mean(axis=-1, keepdims=True), 0, atol=1e-4)


def shown(store: str, query: str) -> Context:
    return resolve(ServedStore(store), "sentence", query)


def below(context: Context) -> str:
    return texts(TOPICS["sentence"].layout(context).below)


def test_a_selected_pair_is_told_which_part_lifts_it_most(roles_store: str) -> None:
    text = texts(compute_why(shown(roles_store, "?sentence=0&layer=1&head=1&heads=1&queries=2&toward=1")))
    assert text.startswith("L1 H1 gives ")
    assert any(title in text for title in PARTS.values())


def test_the_parts_of_a_typed_sentence_sum_to_its_logits(roles_store: str) -> None:
    context = shown(roles_store, TYPED)
    sentence, tables = read_shown(context).sentence, context.corpus.head_tables(1, 1)
    names = context.corpus.vocab.tolist()
    parts = sentence_parts(sentence, tables, np.array(list(map(names.index, sentence.wordpieces))), 1, 1)
    query, key = (np.asarray(vectors[1, 1], np.float64) for vectors in (sentence.query, sentence.key))
    np.testing.assert_allclose(parts.sum(axis=0), query @ key.T / np.sqrt(query.shape[-1]), rtol=0, atol=1e-4)


def test_a_stored_sentence_has_the_parts_of_the_notebook(roles_store: str) -> None:
    context = shown(roles_store, "?sentence=0&layer=1&head=1")
    corpus = context.corpus
    token_id = corpus.tokens.token_id.values[corpus.sentence_rows(0)]
    parts = sentence_parts(read_shown(context).sentence, corpus.head_tables(1, 1), token_id, 1, 1)
    np.testing.assert_allclose(parts, corpus.logit_parts(0, layer=1, head=1).values, atol=1e-6)


def test_a_typed_pair_is_told_which_part_lifts_it_most(roles_store: str) -> None:
    assert texts(compute_why(shown(roles_store, f"{TYPED}&queries=2&toward=1"))).startswith("L1 H1 gives ")


@pytest.mark.parametrize("query", [TYPED, f"{TYPED}&second=It+was+good"])
def test_the_page_of_a_typed_sentence_offers_the_parts(roles_store: str, query: str) -> None:
    context = shown(roles_store, query)
    read_shown(context)  # the page shows a placeholder until the model is loaded
    assert "Select a query and a key" in below(context)


def test_what_the_tables_have_not_seen_has_no_part_of_its_own() -> None:
    tables = HeadTables(
        np.array([3, 7]), np.zeros((2, 1, 4)), np.zeros((2, 1, 6, 4)), np.zeros((2, 1, 3, 4)), np.zeros((1, 3))
    )
    pieces = list("abcdefg")
    assert unknown_parts(tables, np.array([3, 7, 8, 3, 3, 3, -1]), pieces, (0, 1)) == ()
    assert unknown_parts(tables, np.array([3, 7, 8, 3, 3, 3, -1]), pieces, (2, 6)) == ("“c”", "“g”", "position 6")


def test_the_page_says_what_has_no_part_of_its_own() -> None:
    pair = WhyPair("L1 H1", "a", "b", 0.5, 1.0, dict.fromkeys(PARTS, 1.0), ("“b”",))
    assert "New to the corpus: “b” has no part of its own" in texts(draw_why(pair))


def test_without_a_pair_the_page_says_how_to_get_the_parts(roles_store: str) -> None:
    assert "Select a query and a key" in below(shown(roles_store, "?sentence=0&layer=1&head=1"))


@pytest.mark.parametrize("query", ["&words=1", "&show=matrix&mean=heads", "&show=matrix&mean=layers"])
def test_of_words_and_of_means_of_heads_no_parts_are_shown(roles_store: str, query: str) -> None:
    assert "Why this pair" not in below(shown(roles_store, f"?sentence=0&layer=1&head=1{query}"))


def test_a_store_without_roles_shows_no_parts(tiny_store: str) -> None:
    assert "Why this pair" not in below(shown(tiny_store, "?sentence=0&layer=1&head=1"))


def test_the_bars_are_as_long_as_the_parts_and_stand_on_their_side() -> None:
    pair = WhyPair("L1 H1", "a", "b", 0.5, 1.0, dict(zip(PARTS, (2.0, -1.0, 0.0, 0.5), strict=True)))
    bars: list[Any] = [
        each for each in components(draw_why(pair)) if getattr(each, "className", "") in ("lifts", "lowers")
    ]
    assert [(bar.className, bar.style["width"]) for bar in bars] == [
        ("lifts", "50.0%"),
        ("lowers", "25.0%"),
        ("lifts", "0.0%"),
        ("lifts", "12.5%"),
    ]


def test_the_part_is_computed_after_the_page() -> None:
    assert WHY in TOPICS["sentence"].deferred

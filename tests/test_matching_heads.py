"""Heads of two models matched by their attention: against scipy, and a copy of a model whose heads are permuted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from flask.testing import FlaskClient
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax

import headscape
from dashboard.compare.data import counterpart_divergence
from dashboard.compare.matching import _of_sentence, matched_heads, matching_heads
from dashboard.compare.two_models import OF_TEXT, ModelPair, why_unlike
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.heads import divergence_between, partners
from store.repository.errors import StoreError
from tests.client import content, csv_rows
from tests.test_divergence import MAKERS

#: The new order of the heads of each layer.
ORDER = [[2, 0, 3, 1], [1, 3, 0, 2], [3, 2, 1, 0]]


def of_scipy(patterns: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Divergences (head, other_head) by scipy, mean over the queries of patterns (head, query, key)."""
    own, other = (0.999 * each.astype(np.float64) + 0.001 / each.shape[-1] for each in (patterns, others))
    return np.array([[(jensenshannon(a, b, axis=-1) ** 2).mean() for b in other] for a in own])


@MAKERS
@pytest.mark.parametrize("tile", [7, 4096])
def test_the_divergence_of_heads_of_two_models_is_that_of_scipy(make: Any, tile: int) -> None:
    draw = np.random.default_rng(0).normal
    own, others = (softmax(3 * draw(size=(heads, 20, 20)), axis=-1) for heads in (5, 3))
    sums = np.asarray(divergence_between(make(own), make(others), tile=tile))
    np.testing.assert_allclose(sums / 20, of_scipy(own, others), rtol=1e-10)


def test_partners_have_the_least_sum_not_each_the_nearest() -> None:
    assert partners([[0.1, 0.2], [0.1, 0.9]]).tolist() == [1, 0]


def test_of_more_heads_than_the_other_model_has_some_stay_without_a_partner() -> None:
    assert partners([[0.5], [0.1], [0.4]]).tolist() == [-1, 0, -1]
    assert partners([[0.5, 0.1, 0.4]]).tolist() == [1]


def permute_heads(model: Any, orders: list[list[int]]) -> None:
    """Put the heads of every layer into another order; the output of the model stays the same."""
    channels = model.config.hidden_size // model.config.num_attention_heads
    for layer, order in zip(model.encoder.layer, orders, strict=True):
        rows = torch.arange(model.config.hidden_size).view(-1, channels)[order].ravel()
        attention = layer.attention
        for part in (attention.self.query, attention.self.key, attention.self.value):
            part.weight.data, part.bias.data = part.weight.data[rows], part.bias.data[rows]
        attention.output.dense.weight.data = attention.output.dense.weight.data[:, rows]


def patterns_of(model: Any, token_ids: torch.Tensor) -> np.ndarray:
    """Attention of the heads of all layers in one sentence: (head, query, key)."""
    attentions = model(token_ids, output_attentions=True).attentions
    return torch.stack(attentions).detach()[:, 0].flatten(0, 1).numpy()


def test_a_permuted_copy_of_a_model_is_matched_head_by_head(odd_model: Path, eager: Callable[[Path], Any]) -> None:
    token_ids = torch.randint(5, 60, (1, 20), generator=torch.Generator().manual_seed(0))
    model, copy = eager(odd_model), eager(odd_model)
    permute_heads(copy, ORDER)
    with torch.no_grad():
        assert torch.allclose(model(token_ids)[0], copy(token_ids)[0], atol=1e-10)
        divergence = divergence_between(patterns_of(model, token_ids), patterns_of(copy, token_ids))
    expected = [4 * layer + order.index(head) for layer, order in enumerate(ORDER) for head in range(4)]
    assert partners(divergence).tolist() == expected


def mean_over_sentences(own: Corpus, other: Corpus, sentences: int) -> np.ndarray:
    each = [
        of_scipy(*(model.weights(sentence).reshape(-1, *model.weights(sentence).shape[2:]) for model in (own, other)))
        for sentence in range(sentences)
    ]
    return np.mean(each, axis=0)


def test_divergences_are_means_over_the_common_sentences(unlike: ModelPair) -> None:
    matching = matched_heads(unlike)
    assert (matching.sample.sentences, matching.divergence.shape) == (30, (4, 12))
    np.testing.assert_allclose(matching.divergence, mean_over_sentences(unlike.own, unlike.other, 30), rtol=1e-3)


def drawn_vectors(heads: int, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys (head, token, channel), not trained."""
    query, key = np.random.default_rng(heads).normal(size=(2, heads, tokens, 4)).astype(np.float16)
    return query, key


def test_models_with_other_numbers_of_heads_are_matched_in_a_long_sentence() -> None:
    own, other = drawn_vectors(47, 300), drawn_vectors(1, 300)
    patterns = (softmax(query @ key.swapaxes(1, 2).astype(float) / 2, axis=-1) for query, key in (own, other))
    divergence = _of_sentence(own, other, (None, None), (0, 300))
    np.testing.assert_allclose(divergence, of_scipy(*patterns), rtol=1e-3)


def test_a_head_and_its_counterpart_diverge_as_in_the_table_of_changes(alike: ModelPair) -> None:
    own = np.diagonal(matched_heads(alike).divergence)
    np.testing.assert_allclose(own, counterpart_divergence(alike).mean(axis=0).ravel(), rtol=1e-4)


def test_a_model_matches_itself_in_place(alike: ModelPair) -> None:
    matching = matched_heads(ModelPair(alike.own, alike.own))
    assert matching.in_place == len(matching.heads) == 4
    np.testing.assert_allclose(matching.least, 0, atol=1e-6)


def test_each_row_of_the_table_opens_a_head_and_its_partner(unlike: ModelPair) -> None:
    swapped = ModelPair(unlike.other, unlike.own)
    written = str(matching_heads(LinkState(page="compare", model=swapped.own.name, other=swapped.other.name), swapped))
    assert "4 of 12 heads of A have a partner among 4 heads of B." in written
    assert written.count("none left in B") == 8
    layer, head = swapped.own.layers - 1, swapped.own.heads - 1
    assert f"/head?model={swapped.own.name}&layer={layer}&head={head}" in written


def test_partners_are_a_file(three_client: FlaskClient, unlike: ModelPair) -> None:
    rows = csv_rows(content(three_client, f"{data_link(unlike.own)}/compare/{unlike.other.name}/matching.csv"))
    matching = matched_heads(unlike)
    assert [(int(row["other_layer"]), int(row["other_head"])) for row in rows] == [
        matching.partner_of(number) for number in range(4)
    ]
    np.testing.assert_allclose([float(row["divergence"]) for row in rows], matching.least, rtol=1e-6)


def test_a_notebook_gets_the_partners_as_a_table(unlike: ModelPair) -> None:
    table = headscape.match(unlike.own, unlike.other)
    matching = matched_heads(unlike)
    found = [tuple(map(int, each)) for each in table[["other_layer", "other_head"]].to_numpy()]
    assert found == [matching.partner_of(number) for number in range(4)]
    np.testing.assert_allclose(table.divergence, matching.least)


#: Attributes of the inputs that a corpus is made from.
MADE_FROM = {"tokenizer_sha256": "a", "data_identity": "b", "name": "imdb"} | dict.fromkeys(OF_TEXT, 1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tokenizer_sha256": "x", "name": "news"}, "has another tokenizer, so its tokens have no counterparts"),
        ({"data_identity": "x", "name": "news"}, "was ingested on news, not on imdb"),
        ({"data_identity": "x"}, "was ingested on other imdb data"),
        ({"max_length": 64}, "was ingested with other settings of the text (max length 64, here 1)"),
    ],
)
def test_the_page_says_why_a_model_is_not_compared(changes: dict[str, Any], why: str) -> None:
    assert why_unlike(MADE_FROM, MADE_FROM | changes) == why


def test_models_on_other_tokens_are_not_matched() -> None:
    own, other = object.__new__(Corpus), object.__new__(Corpus)
    for corpus, name in ((own, "imdb"), (other, "news")):
        corpus.title, corpus.attributes = name, {"corpus": name}
        corpus.corpus_attributes = MADE_FROM | {"name": name, "data_identity": name}
    with pytest.raises(
        StoreError, match=r"^news was ingested on news, not on imdb\. Ingest both models on the same sentences\.$"
    ):
        headscape.match(own, other)


def test_only_opened_models_are_matched() -> None:
    with pytest.raises(StoreError, match=r"^3 is no opened model\. Open one with headscape\.open\.$"):
        headscape.match(object.__new__(Corpus), cast(Corpus, 3))

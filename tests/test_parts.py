"""Means over a part of the corpus, against sums spelled out token by token."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.statistics.parts import Part, PartCounts, part_labels, part_of, uniform_entropy
from dashboard.ui.work import Job
from store import Corpus, StoreError
from store.kernels.intervals import draw_counts, order_rows
from store.kernels.statistics import source_rows
from store.means import ChosenTokens, part_means
from store.schema.corpus import CLS, PUNCTUATION, SEP, SYMBOL
from store.schema.model import SOURCES
from tests.counts import counted
from tests.stores import BLOCK

#: For each source, whether a token with these flags is one of its rows.
OF_SOURCE: dict[str, Callable[[int], bool]] = {
    "all": lambda _: True,
    "cls": lambda flags: bool(flags & CLS),
    "sep": lambda flags: bool(flags & SEP),
    "punctuation": lambda flags: bool(flags & PUNCTUATION),
    "word": lambda flags: not flags & (CLS | SEP | PUNCTUATION | SYMBOL),
    "other": lambda flags: not flags & SEP,
}


def described(corpus: Corpus) -> list[dict[str, Any]]:
    """Facts of every token, read from the store one by one."""
    pieces = corpus.wordpieces(corpus.rows)
    described = []
    for piece, row in zip(pieces, corpus.rows, strict=True):
        sentence = int(corpus.tokens.sentence_index[row])
        genre = int(corpus.columns.genre[sentence])
        described.append(
            {
                "piece": piece,
                "flags": int(corpus.tokens.token_flags[row]),
                "sentence": sentence,
                "position": int(corpus.tokens.position[row]),
                "length": int(corpus.sentences.row_size[sentence]),
                "label": corpus.label_name(sentence),
                "genre": corpus.columns.genre.attrs["names"][genre] if genre >= 0 else "",
                "frequency": pieces.count(piece),
            }
        )
    return described


def by_hand(corpus: Corpus, tokens: list[dict[str, Any]], chosen: np.ndarray) -> np.ndarray:
    """Mean over sentences of the mean over the chosen rows of each: (source, statistic, layer, head)."""
    stored = corpus.token_statistic.values[..., corpus.rows].astype(np.float64)
    means = np.full((len(SOURCES), *stored.shape[:-1]), np.nan)
    for number, source in enumerate(SOURCES):
        rows: dict[int, list[int]] = {}
        for token in np.flatnonzero(chosen).tolist():
            if OF_SOURCE[source](tokens[token]["flags"]):
                rows.setdefault(tokens[token]["sentence"], []).append(token)
        if rows:
            means[number] = np.mean([stored[..., own].mean(axis=-1) for own in rows.values()], axis=0)
    return means


@pytest.fixture(scope="module")
def tokens(two_views: Corpus) -> list[dict[str, Any]]:
    return described(two_views)


# -- numbers --------------------------------------------------------------------------------------------


def test_means_over_all_tokens_are_those_of_the_whole_corpus(two_views: Corpus) -> None:
    means = two_views.head_means(np.ones(two_views.n_tokens, bool))
    assert means.dims == two_views.head_statistic.dims
    for name in means.dims:
        np.testing.assert_array_equal(means[name], two_views.head_statistic[name])
    np.testing.assert_allclose(means, two_views.head_statistic, rtol=2e-3, atol=2e-4)


@settings(max_examples=30)
@given(seed=st.integers(0, 999), share=st.sampled_from([0.005, 0.1, 0.9]))
def test_means_over_any_tokens_are_what_one_gets_by_hand(
    two_views: Corpus, tokens: list[dict[str, Any]], seed: int, share: float
) -> None:
    chosen = np.random.default_rng(seed).random(len(tokens)) < share
    np.testing.assert_allclose(two_views.head_means(chosen), by_hand(two_views, tokens, chosen), rtol=1e-5)


CONDITIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "position:2..5": lambda token: 2 <= token["position"] <= 5,
    "sentence_length:..9": lambda token: token["length"] <= 9,
    "sentence_length:8..": lambda token: token["length"] >= 8,
    "label:negative": lambda token: token["label"] == "negative",
    "data.genre:war": lambda token: token["genre"] == "war",
    "kind:word|[CLS]": lambda token: token["flags"] == 0 or token["position"] == 0,
    "frequency:3..20": lambda token: 3 <= token["frequency"] <= 20,
    "frequency_band:once|2%20to%209%20times": lambda token: token["frequency"] < 10,
}


@settings(max_examples=40)
@given(names=st.lists(st.sampled_from(list(CONDITIONS)), max_size=4, unique=True))
def test_conditions_choose_the_tokens_that_meet_them_all(
    two_views: Corpus, tokens: list[dict[str, Any]], names: list[str]
) -> None:
    part = part_of(two_views, ";".join(names))
    expected = [all(CONDITIONS[name](token) for name in names) for token in tokens]
    assert part.rows.tolist() == expected
    assert part.tokens == sum(expected)
    assert part.sentences == len({token["sentence"] for token, own in zip(tokens, expected, strict=True) if own})
    assert part.notices == ()


@settings(max_examples=20)
@given(names=st.lists(st.sampled_from(list(CONDITIONS)), min_size=1, max_size=3, unique=True))
def test_means_of_a_part_are_what_one_gets_by_hand(
    two_views: Corpus, tokens: list[dict[str, Any]], names: list[str]
) -> None:
    part = part_of(two_views, ";".join(names))
    expected = by_hand(two_views, tokens, part.rows)
    np.testing.assert_allclose(counted(two_views, part).means, expected, rtol=2e-3, atol=2e-4)


def test_a_corpus_of_many_blocks_is_read_block_by_block(two_views: Corpus) -> None:
    chosen = np.arange(two_views.n_tokens) % 3 == 0
    at_once, by_block = (
        part_means(two_views.token_statistic, ChosenTokens(two_views.tokens, two_views.rows, chosen, block))
        for block in (two_views.tokens.sizes["token"], BLOCK)
    )
    np.testing.assert_allclose(by_block, at_once, rtol=1e-5)
    assert two_views.head_means(chosen).identical(by_block)


def test_a_part_without_tokens_has_no_means(two_views: Corpus) -> None:
    part = part_of(two_views, "position:9999..")
    assert (part.tokens, part.sentences) == (0, 0)
    assert np.isnan(counted(two_views, part).means).all()


def test_intervals_of_all_tokens_are_those_of_the_store(two_views: Corpus) -> None:
    computed = two_views.part_statistics(np.ones(two_views.n_tokens, bool))
    assert computed.interval.dims == two_views.head_interval.dims
    np.testing.assert_allclose(computed.interval, two_views.head_interval, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(computed.layer_interval, two_views.layer_interval, rtol=2e-5, atol=1e-6)


def test_intervals_of_a_part_are_those_of_its_sentences(two_views: Corpus, tokens: list[dict[str, Any]]) -> None:
    """The expected intervals are the normal approximation over the sentences' means."""
    chosen = np.array([token["position"] > 0 for token in tokens])
    computed = two_views.part_statistics(chosen).sel(source="all", statistic="entropy")
    stored = two_views.token_statistic.sel(statistic="entropy").values[..., two_views.rows].astype(np.float64)
    sentence = np.array([token["sentence"] for token in tokens])
    means = np.stack(
        [stored[..., chosen & (sentence == number)].mean(axis=-1) for number in np.unique(sentence[chosen])]
    )
    error = means.std(axis=0) / len(means) ** 0.5
    np.testing.assert_allclose(computed["mean"], means.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose((computed.interval[1] - computed.interval[0]) / (2 * 1.96 * error), 1, atol=0.25)


def test_a_mean_lies_within_its_interval(two_views: Corpus) -> None:
    computed = two_views.part_statistics(np.arange(two_views.n_tokens) % 2 == 0)
    low, high = computed.interval
    there = ~np.isnan(low.values)
    assert (low <= computed["mean"]).values[there].all()
    assert (computed["mean"] <= high).values[there].all()


# -- a part minus the rest ------------------------------------------------------------------------------


@settings(max_examples=20)
@given(names=st.lists(st.sampled_from(list(CONDITIONS)), min_size=1, max_size=2, unique=True))
def test_a_part_minus_the_rest_is_the_difference_of_two_counts_by_hand(
    two_views: Corpus, tokens: list[dict[str, Any]], names: list[str]
) -> None:
    chosen = part_of(two_views, ";".join(names)).rows
    contrast = two_views.contrast_statistics(chosen)
    expected = by_hand(two_views, tokens, chosen) - by_hand(two_views, tokens, ~chosen)
    np.testing.assert_allclose(contrast.difference, expected, rtol=1e-5, atol=1e-6)


def test_mixing_of_a_part_minus_the_rest_is_the_difference_of_two_counts(two_views: Corpus) -> None:
    part = part_of(two_views, "label:positive")
    rest = replace(part, rows=~part.rows)
    expected = counted(two_views, part).mixing - counted(two_views, rest).mixing
    xr.testing.assert_allclose(counted(two_views, replace(part, minus_rest=True)).mixing, expected)


@pytest.mark.parametrize("where", ["label:positive", "position:1..3", "kind:word"])
def test_intervals_of_a_part_minus_the_rest_are_those_of_replicates_spelled_out(two_views: Corpus, where: str) -> None:
    chosen = part_of(two_views, where).rows
    stored = two_views.token_statistic.sel(statistic="entropy").values[..., two_views.rows].astype(np.float64)
    sentence = two_views.tokens.sentence_index.values[two_views.rows]
    of_block = np.bincount(two_views.sentences.row_start.values // BLOCK)
    counts = np.concatenate([draw_counts(0, block, sentences) for block, sentences in enumerate(of_block)])
    own, rest = (_replicates(stored[..., rows], sentence[rows], counts) for rows in (chosen, ~chosen))
    expected = np.percentile(own - rest, (2.5, 97.5), axis=-1)
    interval = two_views.contrast_statistics(chosen).difference_interval.sel(source="all", statistic="entropy")
    np.testing.assert_allclose(interval, expected, rtol=1e-4, atol=1e-5)


def _replicates(values: np.ndarray, sentence: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Weighted means over sentences, one for each replicate, from values (layer, head, token)."""
    there = np.unique(sentence)
    means = np.stack([values[..., sentence == number].mean(axis=-1) for number in there], axis=-1)
    replicates: np.ndarray = means @ counts[there] / counts[there].sum(axis=0)
    return replicates


def test_counting_a_part_minus_the_rest_counts_the_part_too(two_views: Corpus) -> None:
    with TemporaryDirectory() as folder:
        counts, part = PartCounts(Path(folder)), part_of(two_views, "kind:word")
        counts.numbers(two_views, replace(part, minus_rest=True), Job())
        found = counts.find(two_views, part)
    assert found is not None
    np.testing.assert_allclose(found.means, counted(two_views, part).means)


def test_one_sentence_has_means_and_no_interval(two_views: Corpus) -> None:
    computed = two_views.part_statistics(two_views.tokens.sentence_index.values[two_views.rows] == 2)
    assert np.isfinite(computed["mean"].sel(source="all", statistic="entropy")).all()
    assert np.isnan(computed.interval).all()


def test_means_are_of_the_rows_of_each_source() -> None:
    flags, sentence = np.array([CLS, 0, SEP, CLS, 0, 0]), np.array([0, 0, 0, 2, 2, 2])
    rows = order_rows(source_rows(flags, np.ones(6, bool)), sentence)
    means = rows.means(np.array([[1, 2, 6, 1, 2, 3]], np.float16))[rows.of_source]
    of = dict(zip(SOURCES, means[:, 0].tolist(), strict=True))
    assert rows.sentences.tolist() == [0, 2]
    assert (of["all"], of["cls"], of["sep"], of["word"]) == ([3, 2], [1, 1], [6, 0], [2, 2.5])
    assert (of["other"], of["punctuation"]) == ([1.5, 2], [0, 0])


@pytest.mark.parametrize("rows", [np.ones(3, bool), np.ones(1, np.int64)])
def test_a_part_that_is_not_of_this_corpus_is_refused(two_views: Corpus, rows: np.ndarray) -> None:
    with pytest.raises(StoreError, match=f"Pass a bool for each of the {two_views.n_tokens} tokens"):
        two_views.head_means(rows)


# -- labels ---------------------------------------------------------------------------------------------


def test_labels_of_a_part_are_of_its_means(two_views: Corpus) -> None:
    means = two_views.head_statistic.copy(data=np.zeros(two_views.head_statistic.shape))
    means.loc["all", "to_next", 1, 0] = 0.9
    assert part_labels(two_views, part_of(two_views, "position:3..4"), means).values.tolist() == [
        ["", ""],
        ["next", ""],
    ]


def test_a_part_without_tokens_has_no_labels(two_views: Corpus) -> None:
    assert (part_labels(two_views, part_of(two_views, "position:9999.."), two_views.head_statistic) == "").all()


def test_labels_of_all_tokens_are_those_of_the_corpus(two_views: Corpus) -> None:
    assert part_labels(two_views, part_of(two_views, None), two_views.head_statistic) is two_views.head_labels


def test_uniform_entropy_of_a_part_is_of_the_length_of_its_sentences(
    two_views: Corpus, tokens: list[dict[str, Any]]
) -> None:
    lengths = {token["sentence"]: token["length"] for token in tokens if token["label"] == "negative"}
    expected = np.mean([np.log(length) for length in lengths.values()])
    np.testing.assert_allclose(uniform_entropy(two_views, part_of(two_views, "label:negative")), expected)


# -- parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [None, "", "position:0..", "kind:"])
def test_a_link_that_chooses_nothing_gives_the_exact_numbers_of_the_whole_corpus(
    two_views: Corpus, where: str | None
) -> None:
    assert counted(two_views, part_of(two_views, where)).means is two_views.head_statistic


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("entropy:1..2", "“attention entropy” has a value for each head"),
        ("norm:1..2", "has a value for each head"),
        ("role:key", "every token is both query and key"),
        ("beauty:1..2", "no column “beauty”"),
        ("kind:unicorn", "no “unicorn”"),
    ],
)
def test_a_filter_that_selects_no_tokens_is_ignored_with_a_notice(two_views: Corpus, where: str, says: str) -> None:
    part = part_of(two_views, f"{where};position:0..0")
    assert len(part.notices) == 1
    assert says in part.notices[0]
    assert part.tokens == part.sentences == two_views.n_sentences


def test_a_condition_that_is_about_to_be_made_chooses_everything(two_views: Corpus) -> None:
    assert part_of(two_views, "token_length:").tokens == two_views.n_tokens


def test_a_search_chooses_what_it_finds(two_views: Corpus) -> None:
    part = part_of(two_views, "position:1..5", q="FILM")
    pieces = np.array(two_views.wordpieces(two_views.rows))
    position = two_views.tokens.position.values[two_views.rows]
    np.testing.assert_array_equal(part.rows, (pieces == "film") & (position >= 1) & (position <= 5))


def test_a_cached_part_is_read_only(two_views: Corpus) -> None:
    part: Part = part_of(two_views, "kind:word")
    with pytest.raises(ValueError, match="read-only"):
        part.rows[0] = True

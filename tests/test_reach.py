"""How far tokens reach: against GlobEnc written out in float64, by class with intervals and tests against scipy, and in older stores."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import store
from store.kernels.classes import ClassMeans, compared_intervals, mean_test, sentence_counts, welch_test
from store.kernels.intervals import REPLICATES
from store.reach import _since, reach_of_sentences, target_weights
from store.repository.errors import NotIngested, StoreError
from store.schema.corpus import CLS, CONTINUATION, PUNCTUATION, SEP, SYMBOL
from store.snapshot import open_snapshot
from store.verify import verify
from tests.stores import FEATURES, rewritten
from tests.test_context_mixing import written_out
from tests.treebanks import write_treebank

Ingest = Callable[..., str]
#: Codes of tokens in five sentences; class 1 is in four of them, class 2 in one.
CODES = np.array([0, 1, 1, 0, 1, -1, 0, 0, 1, 2, 0, 1])
SENTENCES = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4])
VALUES = np.random.default_rng(4).normal(1, 1, (2, len(CODES)))


@pytest.fixture(scope="module")
def corpus(odd_model: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """A corpus of a model with different numbers of layers, heads and channels."""
    return store.open_corpus(ingest(tmp_path_factory.mktemp("reached") / "store", model=odd_model, mixing="auto"))


@pytest.fixture(scope="module")
def bank(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """A corpus of a treebank, whose words have parts of speech and relations."""
    folder = tmp_path_factory.mktemp("bank")
    data = write_treebank(folder / "bank.conllu")
    return store.open_corpus(ingest(folder / "store", data=data, annotate="auto", mixing="auto"))


@pytest.mark.parametrize("sentence", [0, 9, 39])
def test_reaches_are_the_shares_of_the_definition_over_an_even_share(
    corpus: store.Corpus, odd_model: Path, sentence: int
) -> None:
    rows = corpus.sentence_rows(sentence)
    first, second, third = written_out(odd_model, corpus.tokens.token_id.values[rows].astype(np.int64))
    through = np.stack([first, second @ first, third @ second @ first])
    found, tokens = corpus.token_reach[..., rows], through.shape[-1]
    assert found.dims == ("target", "layer", "token")
    np.testing.assert_allclose(found.sel(target="cls"), through[:, 0] * tokens, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(found.sel(target="sentence"), through.mean(axis=1) * tokens, rtol=2e-3, atol=2e-3)
    words = through[:, np.isin(corpus.tokens.token_flags.values[rows], [0, CONTINUATION])].mean(axis=1)
    np.testing.assert_allclose(found.sel(target="word"), words * tokens, rtol=2e-3, atol=2e-3)


def test_attention_beside_it_is_the_mean_of_the_heads_over_even_attention(corpus: store.Corpus) -> None:
    rows = corpus.sentence_rows(5)
    pattern, found = corpus.pattern(5).mean("head").values, corpus.mixing.received[..., rows]
    np.testing.assert_allclose(found.sel(target="cls"), pattern[:, 0] * pattern.shape[-1], rtol=2e-3)
    np.testing.assert_allclose(found.sel(target="sentence"), pattern.sum(axis=1), rtol=2e-3)


def test_a_sentence_of_more_tokens_than_are_rolled_out_has_no_reach(tiny_store: str, tiny_corpus: store.Corpus) -> None:
    group, rows = open_snapshot(tiny_store).group(f"models/{tiny_corpus.name}"), tiny_corpus.sentence_rows(2)
    span, flags = np.array([[rows.start, rows.stop]]), tiny_corpus.tokens.token_flags.values[rows]
    size = rows.stop - rows.start
    longest = [reach_of_sentences(group, span, flags, rows, longest=size - short) for short in (0, 1)]
    assert [bool(np.isnan(found["reach"]).all()) for found in longest] == [False, True]


# -- means by class -----------------------------------------------------------------------------------


def of_class(code: int, number: int) -> list[float]:
    """Mean over the tokens of a class, for each sentence with such a token."""
    own = [VALUES[number, (code == CODES) & (sentence == SENTENCES)] for sentence in range(5)]
    return [float(np.mean(values)) for values in own if len(values)]


def test_means_are_over_sentences_of_the_mean_over_the_tokens_of_a_class() -> None:
    means = ClassMeans.of(VALUES, CODES, SENTENCES)
    assert means.classes.tolist() == [0, 1, 2]
    assert means.tokens.tolist() == [5, 5, 1]
    assert means.sentences.tolist() == [4, 4, 1]
    expected = [[np.mean(of_class(code, number)) for code in range(3)] for number in range(2)]
    np.testing.assert_allclose(means.mean(), expected)


def test_the_order_of_tokens_changes_nothing() -> None:
    order = np.random.default_rng(0).permutation(len(CODES))
    shuffled = ClassMeans.of(VALUES[:, order], CODES[order], SENTENCES[order])
    for own, other in zip(ClassMeans.of(VALUES, CODES, SENTENCES)[:-1], shuffled[:-1], strict=True):
        np.testing.assert_allclose(np.asarray(own), np.asarray(other))


def test_some_classes_are_as_they_are_among_all() -> None:
    every = ClassMeans.of(VALUES, CODES, SENTENCES)
    some = every.only(np.array([True, False, True]))
    assert some.classes.tolist() == [0, 2]
    np.testing.assert_allclose(some.mean(), every.mean()[:, [0, 2]])
    np.testing.assert_allclose(some.squared_error()[:, 0], every.squared_error()[:, 0])


def test_sums_count_the_sentences_without_a_class_as_nothing() -> None:
    within = np.array([0, 2, 3, 4])
    kept = SENTENCES != 1
    sums = ClassMeans.of(VALUES[:, kept], CODES[kept], SENTENCES[kept], within)
    expected = np.array(
        [[VALUES[0, (code == CODES) & (sentence == SENTENCES)].sum() for sentence in within] for code in range(3)]
    )
    np.testing.assert_allclose(sums.mean()[0], expected.mean(axis=1))
    np.testing.assert_allclose(sums.squared_error()[0], scipy.stats.sem(expected, axis=1) ** 2)
    drawn = sentence_counts(0, 5)[within].astype(float)
    replicates = (expected @ drawn)[:, drawn.sum(axis=0) > 0] / drawn.sum(axis=0)[drawn.sum(axis=0) > 0]
    found = sums.interval(sentence_counts(0, 5))[:, 0]
    np.testing.assert_allclose(found, np.percentile(replicates, [2.5, 97.5], axis=1), rtol=1e-5)


def test_a_class_that_a_part_lacks_has_no_sentences() -> None:
    some = ClassMeans.of(VALUES, CODES, SENTENCES).only(np.array([True, False, True])).aligned(np.array([0, 1, 2]))
    assert some.sentences.tolist() == [4, 0, 1]
    assert np.isnan(some.mean()[:, 1]).all()
    np.testing.assert_allclose(some.mean()[:, 2], VALUES[:, 9])


def test_an_interval_of_a_difference_is_that_of_paired_replicates() -> None:
    counts, kept = sentence_counts(1, 5), [0, 1]
    own, other = (
        ClassMeans.of(values, CODES, SENTENCES).only(np.array([True, True, False])) for values in (VALUES, VALUES[::-1])
    )
    found = compared_intervals(own, other, counts)
    for place in kept:
        replicates = own.replicates(counts, place) - other.replicates(counts, place)
        drawn = ~np.isnan(replicates[0])
        np.testing.assert_allclose(found[2, ..., place], np.percentile(replicates[:, drawn], [2.5, 97.5], axis=1))
    np.testing.assert_allclose(found[0], own.interval(counts))
    np.testing.assert_allclose(found[1], other.interval(counts))


def test_no_class_has_no_mean() -> None:
    means = ClassMeans.of(VALUES, np.full_like(CODES, -1), SENTENCES)
    assert means.mean().shape == (2, 0)
    assert means.interval(sentence_counts(0, 5)).shape == (2, 2, 0)


def test_an_interval_is_that_of_the_replicates_written_out() -> None:
    counts = sentence_counts(3, 5)
    assert counts.shape == (5, REPLICATES)
    means, replicates = of_class(1, 0), []
    present = [sentence for sentence in range(5) if ((CODES == 1) & (sentence == SENTENCES)).any()]
    for drawn in counts.T:
        times = drawn[present].astype(float)
        if times.sum():
            replicates.append(np.dot(times, means) / times.sum())
    found = ClassMeans.of(VALUES, CODES, SENTENCES).interval(counts)[:, 0, 1]
    np.testing.assert_allclose(found, np.percentile(replicates, [2.5, 97.5]), rtol=1e-6)


def test_an_interval_is_near_that_of_scipys_bootstrap() -> None:
    random = np.random.default_rng(1)
    values = random.gamma(2, 1, (1, 300))
    found = ClassMeans.of(values, np.zeros(300, int), np.arange(300)).interval(sentence_counts(0, 300))[:, 0, 0]
    expected = scipy.stats.bootstrap((values[0],), np.mean, method="percentile", rng=random).confidence_interval
    width = expected.high - expected.low
    np.testing.assert_allclose(found, [expected.low, expected.high], atol=0.1 * width)


@given(st.integers(3, 12), st.integers(3, 12), st.integers(0, 2**32 - 1))
def test_the_tests_are_scipys(own: int, rest: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = [random.normal(0.3, 1, (2, size)) for size in (own, rest)]
    first, second = (ClassMeans.of(each, np.zeros(each.shape[1], int), np.arange(each.shape[1])) for each in values)
    welch = scipy.stats.ttest_ind(*values, axis=1, equal_var=False).pvalue
    np.testing.assert_allclose(welch_test(first, second)[:, 0], welch, rtol=1e-6)
    np.testing.assert_allclose(mean_test(first)[:, 0], scipy.stats.ttest_1samp(values[0], 0, axis=1).pvalue, rtol=1e-6)


def test_a_single_sentence_has_neither_interval_nor_test() -> None:
    means = ClassMeans.of(VALUES, CODES, SENTENCES)
    assert np.isnan(means.interval(sentence_counts(0, 5))[..., 2]).all()
    assert np.isnan(mean_test(means)[:, 2]).all()


def test_draws_of_a_sentence_do_not_depend_on_those_after_it() -> None:
    np.testing.assert_array_equal(sentence_counts(2, 5000)[:4096], sentence_counts(2, 4096))


# -- over a corpus ------------------------------------------------------------------------------------


def means_of(corpus: store.Corpus, codes: np.ndarray, values: np.ndarray, sentences: list[int]) -> dict[Any, float]:
    """Mean over sentences of the mean over the tokens of each class, by loops; `codes` and `values` have every row."""
    found: dict[Any, list[float]] = {}
    for sentence in sentences:
        rows = corpus.sentence_rows(sentence)
        for code in set(codes[rows].tolist()):
            found.setdefault(code, []).append(float(values[rows][codes[rows] == code].mean()))
    return {code: float(np.mean(own)) for code, own in found.items() if len(own) >= 2}


def test_reach_by_wordpiece_is_the_mean_over_its_sentences(tiny_corpus: store.Corpus) -> None:
    found = tiny_corpus.reach_by("wordpiece", "cls", layer=1, fewest=2).isel(layer=0)
    values = tiny_corpus.token_reach.sel(target="cls").values[1].astype(float)
    pieces = tiny_corpus.vocab[tiny_corpus.tokens.token_id.values]
    expected = means_of(tiny_corpus, pieces, values, list(range(tiny_corpus.n_sentences)))
    assert set(found.category.values) == set(expected)
    np.testing.assert_allclose(found.reach, [expected[piece] for piece in found.category.values], rtol=1e-5)
    low, high = found.reach_interval.values
    assert ((low <= found.reach.values) & (found.reach.values <= high)).all()


def test_what_is_hidden_is_the_reach_less_the_mean_attention_of_the_layers_so_far(tiny_corpus: store.Corpus) -> None:
    found = tiny_corpus.reach_by("position", "sentence", fewest=2)
    received = tiny_corpus.mixing.received.sel(target="sentence").values[:, : tiny_corpus.tokens.sizes["token"]]
    so_far = received.astype(float)[:2].mean(axis=0)
    positions = tiny_corpus.tokens.position.values
    expected = means_of(tiny_corpus, positions, so_far, list(range(tiny_corpus.n_sentences)))
    np.testing.assert_allclose(
        found.received.sel(layer=1), [expected[int(place)] for place in found.category.values], rtol=1e-5
    )
    np.testing.assert_allclose(found.hidden, found.reach - found.received, atol=1e-6)


def test_shares_of_all_positions_sum_to_one(tiny_corpus: store.Corpus) -> None:
    found = tiny_corpus.reach_by("position", "cls", fewest=1)
    np.testing.assert_allclose(found.share.sum("category"), 1, atol=1e-3)


def test_classes_of_few_sentences_are_left_out(tiny_corpus: store.Corpus) -> None:
    found = tiny_corpus.reach_by("wordpiece", fewest=10)
    assert (found.sentences >= 10).all()
    assert found.sizes["category"] < tiny_corpus.reach_by("wordpiece", fewest=2).sizes["category"]


@pytest.mark.parametrize("kind", ["part_of_speech", "relation"])
def test_grammar_is_that_of_the_word_of_a_token(bank: store.Corpus, kind: str) -> None:
    found = bank.reach_by(kind, layer=0, fewest=2).isel(layer=0)
    table, names = bank.words.table, bank.words.names(kind)
    codes = np.full(bank.tokens.sizes["token"], "", object)
    for word in range(table.sizes["word"]):
        first = int(bank.sentences.row_start[int(table.sentence[word])])
        start, stop = (first + int(table[name][word]) for name in ("token_start", "token_stop"))
        codes[start:stop] = names[int(table[kind][word])]
    values = bank.token_reach.sel(target="sentence").values[0].astype(float)
    expected = means_of(bank, codes, values, list(range(bank.n_sentences)))
    assert set(found.category.values) == set(expected) - {""}
    np.testing.assert_allclose(found.reach, [expected[name] for name in found.category.values], rtol=1e-5)


@pytest.fixture(scope="module")
def contrast(tiny_corpus: store.Corpus) -> xr.Dataset:
    """Contrast of the reach of wordpieces in positive and negative reviews."""
    return tiny_corpus.reach_contrast("wordpiece", "sentence", positive(tiny_corpus), fewest=3)


def positive(corpus: store.Corpus) -> np.ndarray:
    """Mask of the tokens in positive reviews."""
    labels: np.ndarray = corpus.sentences.label.values
    return labels[corpus.tokens.sentence_index.values[corpus.rows]] == 1


@pytest.mark.parametrize(("side", "label"), [("own", 1), ("rest", 0)])
def test_a_share_counts_the_sentences_without_the_word(
    tiny_corpus: store.Corpus, contrast: xr.Dataset, side: str, label: int
) -> None:
    values = tiny_corpus.token_reach.sel(target="sentence").values[1].astype(float)
    pieces = tiny_corpus.vocab[tiny_corpus.tokens.token_id.values]
    sentences = np.flatnonzero(tiny_corpus.sentences.label.values == label)
    for piece in ("the", "film", "good"):
        shares = []
        for rows in map(tiny_corpus.sentence_rows, sentences.tolist()):
            shares.append(values[rows][pieces[rows] == piece].sum() / (rows.stop - rows.start))
        found = contrast.sel(layer=1, category=piece)
        assert float(found[f"{side}_share"]) == pytest.approx(np.mean(shares), rel=1e-5)
        assert int(found[f"{side}_sentences"]) == np.count_nonzero(shares)


def test_a_share_beyond_that_of_the_tokens_is_the_difference_to_it(
    tiny_corpus: store.Corpus, contrast: xr.Dataset
) -> None:
    pieces, chosen = tiny_corpus.vocab[tiny_corpus.tokens.token_id.values], tiny_corpus.sentences.label.values
    even = np.zeros(2)
    for sentence, rows in enumerate(map(tiny_corpus.sentence_rows, range(tiny_corpus.n_sentences))):
        even[chosen[sentence]] += np.mean(pieces[rows] == "film") / (chosen == chosen[sentence]).sum()
    found = contrast.sel(category="film")
    assert float(found.even_difference) == pytest.approx(even[1] - even[0], abs=1e-6)
    np.testing.assert_allclose(found.excess_difference, found.share_difference - found.even_difference, atol=1e-6)


def test_the_reach_of_a_contrast_is_of_the_sentences_with_the_word(
    tiny_corpus: store.Corpus, contrast: xr.Dataset
) -> None:
    pieces = tiny_corpus.vocab[tiny_corpus.tokens.token_id.values]
    values = tiny_corpus.token_reach.sel(target="sentence").values[1].astype(float)
    labels = tiny_corpus.sentences.label.values
    own = means_of(tiny_corpus, pieces, values, np.flatnonzero(labels == 1).tolist())
    last = contrast.sel(layer=1)
    enough = (last.own_sentences >= 3).values
    assert enough.sum() > 5
    np.testing.assert_allclose(
        last.own_reach[enough], [own[piece] for piece in last.category.values[enough]], rtol=1e-5
    )
    assert np.isnan(last.own_reach[~enough]).all()


@pytest.mark.parametrize("name", ["own_share", "share_difference", "excess_difference", "rest_reach"])
def test_an_interval_of_a_contrast_holds_its_mean(contrast: xr.Dataset, name: str) -> None:
    low, high = contrast[f"{name}_interval"].values
    known = np.isfinite(low)
    assert known.any()
    assert ((low <= contrast[name].values) & (contrast[name].values <= high))[known].all()


def test_words_of_random_reviews_carry_no_sentiment(contrast: xr.Dataset) -> None:
    """The labels are random: nothing is found at 5% false discoveries."""
    assert not contrast.share_found.any()
    assert (contrast.since == -1).all()


def test_progress_is_told_and_an_error_of_it_ends_the_computation(tiny_corpus: store.Corpus) -> None:
    told: list[float] = []
    tiny_corpus.reach_contrast("position", "cls", positive(tiny_corpus), fewest=3, watch=told.append)
    assert told == sorted(told)
    assert 0.9 < told[-1] < 1

    def cancel(_: float) -> None:
        raise KeyError("cancelled")

    with pytest.raises(KeyError, match="cancelled"):
        tiny_corpus.reach_by("position", watch=cancel)


def test_a_difference_counts_from_the_layer_after_which_it_lasts() -> None:
    found = np.array([[True, False, True], [False, False, True], [True, False, True]])
    assert _since(found, np.array([0, 1, 2])).tolist() == [2, -1, 0]


def test_an_unknown_kind_or_target_is_told_with_the_known_ones(tiny_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"no kind of token 'mood'\. Choose one of: wordpiece, part_of_speech"):
        tiny_corpus.reach_by("mood")
    with pytest.raises(StoreError, match=r"no target 'sep'\. Choose one of: cls, sentence, word\."):
        tiny_corpus.reach_by("wordpiece", "sep")


@pytest.mark.parametrize("layer", [-1, 99, 1.0, True])
def test_a_layer_that_is_not_there_is_told_with_those_there_are(layer: Any, tiny_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=rf"There is no layer {layer}\. Choose one of 0 to 1\."):
        tiny_corpus.reach_by("wordpiece", layer=layer)


def test_tokens_may_be_chosen_by_a_list(tiny_corpus: store.Corpus) -> None:
    chosen = np.arange(tiny_corpus.n_tokens) % 3 > 0
    expected = tiny_corpus.reach_by("wordpiece", chosen=chosen)
    assert tiny_corpus.reach_by("wordpiece", chosen=chosen.tolist()).identical(expected)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match=r"Pass a bool for each of the"):
        tiny_corpus.reach_contrast("wordpiece", "sentence", [True])  # type: ignore[arg-type]


def test_grammar_of_a_corpus_without_words_is_told_with_what_to_do(tiny_corpus: store.Corpus) -> None:
    with pytest.raises(NotIngested, match="Words: not annotated"):
        tiny_corpus.reach_by("relation")


# -- stores -------------------------------------------------------------------------------------------


def test_a_store_without_reaches_is_sound_and_says_how_to_get_them(without_reach: str) -> None:
    assert list(verify(open_snapshot(without_reach))) == []
    with pytest.raises(NotIngested, match=r"What each token reaches: not computed\. Run `headscape ingest"):
        store.open_corpus(without_reach).reach_by()


@pytest.mark.slow
def test_the_next_ingest_adds_reaches_without_the_model(
    without_reach: str, tiny_store: str, ingest: Ingest, commits: Callable[[str], list[str]]
) -> None:
    before = len(commits(without_reach))
    ingest(without_reach, **FEATURES)
    assert not any("mixing block" in message for message in commits(without_reach)[before:])
    found, expected = (store.open_corpus(each) for each in (without_reach, tiny_store))
    xr.testing.assert_equal(found.token_reach.load(), expected.token_reach.load())
    assert list(verify(open_snapshot(without_reach))) == []


def test_verify_finds_reaches_that_do_not_follow(tiny_store: str, tmp_path: Path) -> None:
    place = str(shutil.copytree(tiny_store, tmp_path / "store"))
    corpus = store.open_corpus(place)
    rows = corpus.sentence_rows(0)
    with rewritten(place) as writer:
        reach = writer.group(f"models/{corpus.name}/mixing")["reach"]
        reach[0, 1, rows.start : rows.start + 2] = np.asarray(reach[0, 1, rows.start : rows.start + 2])[::-1]
    assert list(verify(open_snapshot(place))) == [
        f"{corpus.name}: what each token reaches does not follow from the products and the patterns."
    ]


def test_a_special_token_in_the_text_is_a_target_too() -> None:
    weights = target_weights(np.array([CLS, 0, CLS, 0], np.uint8))
    np.testing.assert_allclose(weights, [[0.5, 0, 0.5, 0], [0.25] * 4, [0, 0.5, 0, 0.5]])


def test_a_sentence_without_words_has_no_mean_of_words() -> None:
    weights = target_weights(np.array([CLS, PUNCTUATION, SYMBOL, SEP], np.uint8))
    assert np.isnan(weights[2]).all()
    np.testing.assert_allclose(weights[:2], [[1, 0, 0, 0], [0.25] * 4])


@pytest.fixture
def two_targets(tiny_store: str, tmp_path: Path) -> str:
    """A store from before the mean of the words was a target."""
    place = str(shutil.copytree(tiny_store, tmp_path / "store"))
    with rewritten(place) as writer:
        group = writer.group(f"models/{store.open_corpus(place).name}/mixing")
        for name in ("target", "reach", "received"):
            group[name].resize((2, *group[name].shape[1:]))
        group["reach_hash"][:] = 0
    return place


def test_a_store_of_two_targets_is_sound_and_says_how_to_get_the_third(two_targets: str) -> None:
    assert list(verify(open_snapshot(two_targets))) == []
    corpus = store.open_corpus(two_targets)
    assert corpus.reach_by(target="sentence").sizes["category"] > 0
    with pytest.raises(NotIngested, match=r"What reaches the mean word vector: not computed\. Run `headscape ingest"):
        corpus.reach_by(target="word")


def test_the_next_ingest_adds_the_third_target(two_targets: str, tiny_store: str, ingest: Ingest) -> None:
    ingest(two_targets, **FEATURES)
    found, expected = (store.open_corpus(each) for each in (two_targets, tiny_store))
    assert found.token_reach.target.values.tolist() == ["cls", "sentence", "word"]
    xr.testing.assert_equal(found.token_reach.load(), expected.token_reach.load())

"""The fit of rules to a head, against a general minimiser and heads made by hand; scores of predictions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from store.kernels.bias import EVERY_KEY, Mask
from store.kernels.rule_fit import RIDGE, Entries, Judge, Library, fit_weights
from store.kernels.rules import RULES, features_of, rules_for, targets_of
from tests.published.roles import rule_weights
from tests.ruled import attending, shuffled_sentence, written_sentence

NAMES = [name for name in rules_for(words=True) if name != "even"]


def library_of(tokens: list, names: list[str]) -> Library:
    return Library(Entries.of_lengths([len(each) for each in tokens]), [features_of(names, each) for each in tokens])


def no_tables(library: Library) -> np.ndarray:
    return np.zeros((1, 0, library.shared.shape[1]), np.float32)


@pytest.mark.parametrize(
    ("made_by", "chosen"),
    [("previous", "previous"), ("next", "next"), ("comma", "comma"), ("verb_of_subject", "verb_of_subject")],
)
def test_a_head_that_attends_by_one_rule_is_explained_by_it(made_by: str, chosen: str) -> None:
    tokens = [written_sentence(), written_sentence()]
    library = library_of(tokens, NAMES)
    pattern = np.concatenate([attending(RULES[made_by].targets(each)).ravel() for each in tokens])[None]
    found = library.choose(pattern, no_tables(library))[0]
    assert NAMES[found.rules[0]] == chosen
    predicted = library.entries.softmax(found.weights.astype(np.float32) @ library.shared[found.rules])[0]
    assert np.minimum(predicted, pattern[0]).sum() / np.maximum(predicted, pattern[0]).sum() > 0.95


def test_a_head_from_not_to_its_adjective_is_explained_by_adverbs() -> None:
    """The sentence has an adverb, so that a rule from adverbs fits the head as well as a rule from negations."""
    tokens = written_sentence()
    library = library_of([tokens], NAMES)
    pattern = attending(RULES["modified_by_adverb"].targets(tokens)).reshape(1, -1)
    assert NAMES[library.choose(pattern, no_tables(library))[0].rules[0]] == "modified_by_adverb"


def test_rules_of_an_even_head_have_no_weight() -> None:
    tokens = [shuffled_sentence(seed) for seed in range(3)]
    names = [name for name in rules_for(words=False) if name != "even"]
    library = library_of(tokens, names)
    pattern = library.entries.spread(1 / library.entries.sizes).astype(np.float32)[None]
    assert np.abs(library.choose(pattern, no_tables(library))[0].weights).max() < 1e-4


def test_the_fit_agrees_with_a_general_minimiser() -> None:
    generator = np.random.default_rng(0)
    entries = Entries.of_lengths([4, 7, 5])
    features = generator.normal(size=(3, int(entries.sizes.sum())))
    pattern, _ = entries.softmax(2 * generator.normal(size=features.shape[1]))
    weights, _ = fit_weights(entries, features, pattern, np.zeros(3), steps=50, tolerance=0)
    rows = [slice(start, start + size) for start, size in zip(entries.start, entries.sizes, strict=True)]
    expected = rule_weights([features[:, row] for row in rows], [pattern[row] for row in rows], RIDGE)
    np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_rules_of_a_causal_head_leave_nothing_to_later_tokens() -> None:
    tokens = [replace(written_sentence(), mask=Mask(causal=True))]
    names = ["previous", "later", "even"]
    entries = Entries.of_lengths([len(tokens[0])], Mask(causal=True))
    pattern = np.tri(len(tokens[0]), dtype=np.float32)
    pattern /= pattern.sum(axis=1, keepdims=True)
    fitted = Library(entries, [features_of(names, each) for each in tokens])
    [chosen] = fitted.choose(pattern.reshape(1, -1), np.zeros((1, 0, pattern.size), np.float32))
    features = fitted.features(chosen.rules, np.zeros((0, pattern.size), np.float32))
    predicted = entries.softmax(chosen.weights.astype(np.float32) @ features)[0]
    np.testing.assert_allclose(predicted.reshape(pattern.shape), pattern, atol=1e-4)


def test_what_a_query_does_not_see_takes_no_weight_however_large_its_logit() -> None:
    entries = Entries.of_lengths([2], Mask(causal=True))
    weights, log_sums = entries.softmax(np.array([-200, 0, 1, 1], np.float32))
    np.testing.assert_array_equal(weights, [1, 0, 0.5, 0.5])
    np.testing.assert_allclose(log_sums, [-200, 1 + np.log(2)])


def test_the_sum_of_the_exponentials_of_a_row_is_that_of_scipy_however_large_its_logits() -> None:
    logits = np.array([3, -2, 500, 501, 0, 0, -90, -91, -92, 7, 8, 9, 1000, 0, -1000], np.float64)
    entries = Entries.of_lengths([1, 1, 2, 3])
    rows = np.split(logits, entries.start[1:])
    np.testing.assert_allclose(entries.log_sums(logits), [logsumexp(row) for row in rows])


def test_no_sentence_has_no_pattern() -> None:
    assert [Entries.of_lengths([], mask).rows for mask in (Mask(causal=True), EVERY_KEY)] == [0, 0]


def test_a_head_with_a_single_key_does_not_diverge() -> None:
    tokens = written_sentence()
    entries = Entries.of_lengths([len(tokens)])
    features = features_of(["cls", "previous"], tokens).reshape(2, -1)
    pattern = targets_of(["cls"], tokens).reshape(-1)
    weights, predicted = fit_weights(entries, features, pattern, np.zeros(2))
    assert np.isfinite(weights).all()
    assert np.minimum(predicted, pattern).sum() / len(tokens) > 0.95


def test_exchanged_rules_fit_no_worse_than_those_chosen_one_by_one() -> None:
    tokens = [written_sentence(), written_sentence()]
    library = library_of(tokens, NAMES)
    made = [RULES[name].targets(tokens[0]) for name in ("governor", "comma", "earlier", "near", "same_word", "rare")]
    pattern = np.tile(np.mean([attending(targets) for targets in made], axis=0).ravel(), 2)[None]
    losses = []
    for exchanges in (0, 3):
        found = library.choose(pattern, no_tables(library), most=3, exchanges=exchanges)[0]
        predicted, _ = library.entries.softmax(found.weights.astype(np.float32) @ library.shared[found.rules])
        losses.append(-(pattern[0] * np.log(predicted)).sum())
    assert losses[1] <= losses[0] + 1e-3


@given(st.integers(0, 1000))
def test_predictions_are_rows_that_sum_to_one(seed: int) -> None:
    entries = Entries.of_lengths([3, 6])
    weights, _ = entries.softmax(np.random.default_rng(seed).normal(0, 30, int(entries.sizes.sum())))
    np.testing.assert_allclose(entries.row_sums(weights), 1)
    assert weights.min() >= 0


# -- scores -------------------------------------------------------------------------------------------


def judge_of(tokens: int) -> Judge:
    words = np.ones(tokens, bool)
    words[[0, -1]] = False
    return Judge.of([words])


def test_a_perfect_prediction_has_the_best_scores() -> None:
    pattern = attending(RULES["previous"].targets(written_sentence())).ravel()
    scores = judge_of(len(written_sentence())).scores(pattern, pattern)
    assert [
        round(float(scores[name]), 6) for name in ("iou", "sqrt_jsd", "top_key", "top_word_key", "words_share")
    ] == [1, 0, 1, 1, 1]


def test_rows_without_anything_in_common_have_the_worst_scores() -> None:
    pattern, predicted = np.eye(4, dtype=np.float32).ravel(), np.eye(4, dtype=np.float32)[::-1].ravel()
    scores = judge_of(4).scores(pattern, predicted)
    assert scores["iou"] == 0
    assert scores["sqrt_jsd"] == pytest.approx(np.log(2) ** 0.5)
    assert scores["top_key"] == 0


def test_of_keys_with_equal_weights_the_nearest_is_the_top_one() -> None:
    """Otherwise a rule that scores all keys alike would agree with any key."""
    to_first = np.zeros((4, 4), np.float32)
    to_first[:, 0] = 1
    even = np.full(16, 0.25, np.float32)
    assert judge_of(4).scores(to_first.ravel(), even)["top_key"] == 1 / 4


def test_overlap_by_hand() -> None:
    pattern = np.array([0.5, 0.5, 0, 1], np.float32)
    predicted = np.array([1, 0, 0.5, 0.5], np.float32)
    scores = Judge.of([np.ones(2, bool)]).scores(pattern, predicted)
    assert scores["iou"] == pytest.approx(1 / 3)
    assert scores["words_share"] == pytest.approx(1 / 2)

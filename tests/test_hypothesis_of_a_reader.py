"""A reader's hypothesis on what heads attend to: counted by hand, against a recount in plain Python, and on a store."""

import numpy as np
import pytest
import xarray as xr

from store import Corpus, StoreError, open_corpus
from store.hypothesis import HypothesisSentence
from store.kernels.intervals import draw_counts
from store.kernels.relations import MEASURES, HypothesisCounts, count_sentence
from store.kernels.rules import SentenceTokens
from store.rules import RuleText

#: [CLS] a b c [SEP].
IS_WORD = np.array([False, True, True, True, False])
NEXT = np.eye(5, k=1, dtype=bool)


def attending_to_next(share: float = 1.0) -> np.ndarray:
    """A pattern of one head: each token gives `share` to the next, the last word to itself; the rest goes evenly to all words."""
    pattern = np.full((5, 5), (1 - share) / 3) * IS_WORD
    for query, key in ((0, 1), (1, 2), (2, 3), (3, 3), (4, 3)):
        pattern[query, key] += share
    return pattern[None].astype(np.float32)


def counted(pattern: np.ndarray, named: np.ndarray, is_word: np.ndarray = IS_WORD) -> np.ndarray:
    """The counts (count, head) of a sentence from its whole pattern (head, query_token, key_token)."""
    words = np.flatnonzero(is_word)
    keys = named[np.ix_(words, words)]
    asked = keys.any(axis=1)
    weights = pattern[:, words[asked][:, None], words]
    return count_sentence(weights / weights.sum(axis=-1, keepdims=True), keys[asked], len(words))


def measured(pattern: np.ndarray, named: np.ndarray = NEXT) -> dict[str, float]:
    counts = HypothesisCounts(counted(pattern, named)[..., None])
    return dict(zip(MEASURES, counts.measures[:, 0].tolist(), strict=True))


def test_of_a_head_that_does_what_the_hypothesis_says_every_named_query_is_right() -> None:
    assert measured(attending_to_next())["precision"] == 1


def test_queries_for_which_the_hypothesis_names_no_key_are_not_recalled() -> None:
    # The last of a, b and c has no next word.
    assert measured(attending_to_next())["recall"] == pytest.approx(2 / 3)


def test_weights_of_queries_without_named_keys_count_as_missed_in_the_iou() -> None:
    # Smaller: 1 + 1 + 0; larger: 1 + 1 + 1.
    assert measured(attending_to_next())["iou"] == pytest.approx(2 / 3)


def test_the_bias_is_the_weight_of_the_named_word_over_the_mean_of_three() -> None:
    assert measured(attending_to_next())["bias"] == pytest.approx(3)


def test_even_attention_has_no_bias() -> None:
    assert measured(attending_to_next(share=0))["bias"] == pytest.approx(1)


def test_a_hypothesis_that_names_no_key_has_no_numbers() -> None:
    assert np.isnan(list(measured(attending_to_next(), np.zeros((5, 5), bool)).values())).all()


def test_pairs_with_special_tokens_do_not_count() -> None:
    to_cls = np.zeros((5, 5), bool)
    to_cls[:, 0] = to_cls[0] = True
    assert np.isnan(measured(attending_to_next(), to_cls)["precision"])


@pytest.mark.parametrize("seed", range(5))
def test_the_counts_are_those_of_loops_over_all_pairs(seed: int) -> None:
    random = np.random.default_rng(seed)
    pattern = random.dirichlet(np.ones(5), (3, 5)).astype(np.float32)
    named = random.random((5, 5)) < 0.4
    counts = HypothesisCounts(counted(pattern, named)[..., None])
    np.testing.assert_allclose(counts.measures, recounted(pattern, named), rtol=1e-5)


def recounted(pattern: np.ndarray, named: np.ndarray) -> np.ndarray:
    """The measures (measure, head) of one sentence, written out."""
    words = [1, 2, 3]
    results = []
    for head in pattern.astype(np.float64):
        hits = with_names = 0
        smaller = larger = 0.0
        biases = []
        for query in words:
            row = {key: head[query, key] / sum(head[query, other] for other in words) for key in words}
            keys = [key for key in words if named[query, key]]
            hits += max(row, key=lambda key: row[key]) in keys
            for key in words:
                even = 1 / len(keys) if key in keys else 0.0
                smaller, larger = smaller + min(row[key], even), larger + max(row[key], even)
            if keys:
                with_names += 1
                biases.append(np.mean([row[key] for key in keys]) / np.mean(list(row.values())))
        results.append([hits / with_names, hits / len(words), smaller / larger, np.mean(biases)])
    return np.array(results).T


def test_an_interval_of_equal_sentences_is_their_number() -> None:
    counts = np.repeat(counted(attending_to_next(), NEXT)[..., None], 8, axis=-1)
    interval = HypothesisCounts(counts).interval(draw_counts(0, 0, 8))
    np.testing.assert_allclose(interval, np.stack([HypothesisCounts(counts).measures] * 2))


def test_a_head_without_named_keys_takes_no_interval_from_another() -> None:
    named = counted(attending_to_next(), NEXT)
    counts = np.stack([np.concatenate([named, np.zeros_like(named)], axis=1)] * 8, axis=-1)
    interval = HypothesisCounts(counts).interval(draw_counts(0, 0, 8))
    np.testing.assert_allclose(interval[..., 0], np.stack([HypothesisCounts(counts).measures[:, 0]] * 2))
    assert np.isnan(interval[..., 1]).all()


def test_a_head_with_named_keys_in_a_single_sentence_has_no_interval() -> None:
    """The first head has named keys in one of three sentences, the second head in two."""
    named, nothing = (counted(attending_to_next(), keys) for keys in (NEXT, np.zeros((5, 5), bool)))
    sentences = [np.hstack(own) for own in ((named, named), (nothing, named), (nothing, nothing))]
    interval = HypothesisCounts(np.stack(sentences, axis=-1)).interval(draw_counts(0, 0, 3))
    assert np.isnan(interval[..., 0]).all()
    np.testing.assert_allclose(interval[:, list(MEASURES).index("precision"), 1], 1)


@pytest.fixture(scope="module")
def corpus(tiny_store: str) -> Corpus:
    return open_corpus(tiny_store)


def previous(sentence: HypothesisSentence) -> np.ndarray:
    named: np.ndarray = sentence.tokens.offset == -1
    return named


def test_a_hypothesis_is_tested_on_a_whole_number_of_sentences(corpus: Corpus) -> None:
    with pytest.raises(StoreError, match=r"cannot be tested on 2\.5 sentences\. Give at least 1, a whole number\."):
        corpus.hypothesis(previous, sentences=2.5)  # type: ignore[arg-type]


def test_a_hypothesis_is_tested_on_the_patterns_of_the_corpus(corpus: Corpus) -> None:
    found: xr.Dataset = corpus.hypothesis(previous, sentences=7)
    by_hand = [
        counted(
            corpus.weights(index).reshape(-1, *corpus.weights(index).shape[-2:]),
            previous(HypothesisSentence(index, "", (), corpus_tokens(corpus, index))),
            corpus_tokens(corpus, index).is_word,
        )
        for index in range(7)
    ]
    expected = HypothesisCounts(np.stack(by_hand, axis=-1)).measures.reshape(len(MEASURES), corpus.layers, corpus.heads)
    np.testing.assert_allclose(np.stack([found[name] for name in MEASURES]), expected, rtol=1e-5)


def corpus_tokens(corpus: Corpus, index: int) -> SentenceTokens:
    return RuleText(corpus, corpus.n_sentences).sentence(index)


def test_no_more_sentences_are_tested_than_there_are(corpus: Corpus) -> None:
    assert corpus.hypothesis(previous, sentences=10_000).attrs["sentences"] == corpus.n_sentences


def test_a_function_that_returns_another_shape_is_told_what_to_return(corpus: Corpus) -> None:
    with pytest.raises(StoreError, match=r"shape \(3,\) for sentence 0, .* Return \d+ x \d+: True where the query"):
        corpus.hypothesis(lambda _: [True, False, True])


def test_no_sentence_is_too_few(corpus: Corpus) -> None:
    with pytest.raises(StoreError, match="Give at least 1"):
        corpus.hypothesis(previous, sentences=0)

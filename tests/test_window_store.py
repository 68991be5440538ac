"""Numbers of a tiny ModernBERT, whose queries see only near keys in most layers: windows reach 4 tokens to each side."""

import numpy as np
import pytest

from dashboard.roles.evidence import RoleKeys, role_sentences
from dashboard.sentence.change import Change
from dashboard.statistics.parts import part_of, uniform_entropy
from dashboard.ui.text import sight
from store import Corpus, open_corpus
from store.hypothesis import HypothesisSentence
from store.kernels.bias import EVERY_KEY
from store.kernels.rules import RULES
from store.replacement import RulePatterns, RuleReader
from store.rules import chosen_rules, predict
from tests.every_family import make_families

WINDOW = 4
#: Layers of the tiny model whose queries see every key, and layers whose queries see near keys.
WHOLE, NEAR = [0], [1, 2]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return open_corpus(make_families(tmp_path_factory.mktemp("window") / "store", ["modernbert"]))


@pytest.fixture(scope="module")
def long(corpus: Corpus) -> int:
    """A sentence that is longer than a window."""
    return int(corpus.sentences.row_size.values.argmax())


def near_pairs(tokens: int) -> np.ndarray:
    """Mask of the keys that a query of a layer with windows sees (query_token, key_token)."""
    pairs: np.ndarray = np.abs(np.arange(tokens) - np.arange(tokens)[:, None]) <= WINDOW
    return pairs


def near_and_far(sentence: HypothesisSentence) -> np.ndarray:
    """A hypothesis that names the next token, and one beyond the window."""
    return np.isin(sentence.tokens.offset, (1, WINDOW + 2))


def test_a_hypothesis_names_the_keys_that_a_layer_sees(corpus: Corpus) -> None:
    """The expected share is over queries that see a named key: those whose most attended word is such a key."""
    found = corpus.hypothesis(near_and_far, sentences=20).precision.values
    hits, asked = np.zeros((2, corpus.layers, corpus.heads))
    for index in range(20):
        tokens = corpus.rule_text.sentence(index)
        words = np.flatnonzero(tokens.is_word)
        named = np.isin(tokens.offset, (1, WINDOW + 2))
        for layer in range(corpus.layers):
            seen = named & near_pairs(len(tokens)) if layer in NEAR else named
            of_words = seen[np.ix_(words, words)]
            for head in range(corpus.heads):
                top = corpus.weights(index, layer=layer, head=head)[np.ix_(words, words)].argmax(axis=1)
                queries = of_words.any(axis=1)
                asked[layer, head] += queries.sum()
                hits[layer, head] += of_words[np.arange(len(words)), top][queries].sum()
    np.testing.assert_allclose(found, hits / asked)


def test_rules_predict_attention_within_the_window_alone(corpus: Corpus, long: int) -> None:
    """A softmax over fewer keys is the softmax over all, divided by its sum over these keys."""
    layer, head = NEAR[0], 0
    rules = corpus.rules[["chosen", "rule_weight"]].isel(layer=layer, head=head)
    chosen = chosen_rules(rules.chosen.values, rules.rule_weight.values)
    tokens = corpus.rule_text.sentence(long)
    whole = predict([chosen], tokens, corpus.head_tables(layer, head), [EVERY_KEY])[0] * near_pairs(len(tokens))
    found = corpus.predicted_pattern(long, layer=layer, head=head).values
    np.testing.assert_allclose(found, whole / whole.sum(axis=-1, keepdims=True), rtol=1e-4)


def test_a_role_is_tested_against_the_words_that_a_query_sees(corpus: Corpus) -> None:
    """The expected bias is the mean over queries of the previous word's weight divided by the even weight of a seen word."""
    tested = corpus.role_biases.sentence.values
    place = int(corpus.sentences.row_size.values[tested].argmax())
    sentence = int(tested[place])
    tokens = corpus.rule_text.sentence(sentence)
    words = np.flatnonzero(tokens.is_word).tolist()
    for layer in (*WHOLE, *NEAR):
        seen = near_pairs(len(tokens)) if layer in NEAR else np.ones((len(tokens),) * 2, bool)
        pattern = corpus.weights(sentence, layer=layer, head=0).astype(np.float64)
        of_queries = []
        for query in words:
            near = [key for key in words if seen[query, key]]
            if query - 1 in near:
                of_queries.append(pattern[query, query - 1] / (pattern[query, near].sum() / len(near)))
        stored = corpus.role_biases.sel(sieve="previous", layer=layer, head=0).values[place]
        assert stored == pytest.approx(np.mean(of_queries), rel=2e-3)


def test_an_even_head_of_a_window_has_the_entropy_of_its_window(corpus: Corpus) -> None:
    lengths = corpus.counted_lengths.tolist()
    near = np.mean([np.log(near_pairs(tokens).sum(axis=1)).mean() for tokens in lengths])
    expected = [np.log(lengths).mean() if layer in WHOLE else near for layer in range(corpus.layers)]
    np.testing.assert_allclose(uniform_entropy(corpus, part_of(corpus, None)), expected)


def test_an_even_pattern_in_place_of_a_head_stays_within_its_window(corpus: Corpus) -> None:
    heads = ((WHOLE[0], 0), (NEAR[0], 1))
    patterns = Change(heads, "even", masks=corpus.masks).patterns(9)
    np.testing.assert_allclose(patterns[heads[0]], 1 / 9)
    near = near_pairs(9)
    np.testing.assert_allclose(patterns[heads[1]], near / near.sum(axis=1, keepdims=True), rtol=1e-6)


def test_rules_in_place_of_a_head_see_what_its_layer_sees(corpus: Corpus, long: int) -> None:
    heads = ((NEAR[0], 0), (WHOLE[0], 1))
    patterns = RulePatterns(RuleReader(corpus, [long]), heads).patterns(long)
    for (layer, head), pattern in zip(heads, patterns, strict=True):
        expected = corpus.predicted_pattern(long, layer=layer, head=head).values
        np.testing.assert_allclose(pattern, expected, rtol=1e-4)


def test_a_role_names_no_key_beyond_the_window_of_its_layer(corpus: Corpus, long: int) -> None:
    tokens = corpus.rule_text.sentence(long, corpus.masks[NEAR[0]])
    targets = RoleKeys.of(RULES["earlier"], tokens).targets
    assert targets.any()
    assert not targets[~near_pairs(len(tokens))].any()


def test_a_page_says_in_how_many_layers_tokens_see_near_ones_alone(corpus: Corpus) -> None:
    assert sight(corpus) == " In 2 of 3 layers tokens see none that is more than 4 tokens away."


def test_even_attention_of_a_role_is_spread_over_the_keys_that_a_query_sees(corpus: Corpus) -> None:
    found = role_sentences(corpus, NEAR[0], 0, "cls")
    sizes = corpus.sentences.row_size.values[found.sentences].tolist()
    assert max(sizes) > WINDOW + 1
    # Only the words within the window of the first token have this token as a key.
    words = [range(1, min(size - 1, WINDOW + 1)) for size in sizes]
    even = [
        np.mean([1 / (query + 1 + min(size - 1 - query, WINDOW)) for query in queries])
        for size, queries in zip(sizes, words, strict=True)
    ]
    assert found.even == pytest.approx(np.mean(even))

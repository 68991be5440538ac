"""Sentences are found by words, label and length, and by a head's attention in them."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from dashboard.points.search import sentences_with
from dashboard.sentence.finder import Ranking, SentenceFilter, find_sentences, sentence_means, statistic_ranking
from store import Corpus, open_corpus


def find(corpus: Corpus, wanted: SentenceFilter, ranking: Ranking | None = None) -> list[int]:
    every = corpus.n_sentences
    lines = find_sentences(corpus, wanted, among=every, ranking=ranking, limit=every).lines
    return [line.sentence for line in lines]


def texts(corpus: Corpus) -> list[str]:
    return [" ".join(str(text).split()).lower() for text in corpus.sentences.text.values]


@pytest.mark.parametrize("words", ["film", "THE film", "a e i", "fil"])
def test_every_word_occurs_in_any_order_and_case(tiny_corpus: Corpus, words: str) -> None:
    expected = [
        place for place, text in enumerate(texts(tiny_corpus)) if all(word in text for word in words.lower().split())
    ]
    assert find(tiny_corpus, SentenceFilter(words)) == expected


def test_a_quoted_phrase_is_found_as_it_is_written(tiny_corpus: Corpus) -> None:
    first = texts(tiny_corpus)[0].split()
    phrase = " ".join(first[:2])
    assert find(tiny_corpus, SentenceFilter(f'"{phrase}"')) == [
        place for place, text in enumerate(texts(tiny_corpus)) if phrase in text
    ]


def test_label_and_length_hold_together(tiny_corpus: Corpus) -> None:
    sizes = tiny_corpus.sentences.row_size.values
    label = tiny_corpus.label_name(0)
    wanted = SentenceFilter(label=label, fewest=int(np.median(sizes)), most=int(sizes.max()) - 1)
    expected = [
        place
        for place, size in enumerate(sizes)
        if tiny_corpus.label_name(place) == label and np.median(sizes) <= size < sizes.max()
    ]
    assert find(tiny_corpus, wanted) == expected


def test_a_label_there_is_not_has_no_sentences(tiny_corpus: Corpus) -> None:
    assert find(tiny_corpus, SentenceFilter(label="nowhere")) == []


def test_an_empty_filter_finds_every_sentence(tiny_corpus: Corpus) -> None:
    assert not SentenceFilter()
    assert find(tiny_corpus, SentenceFilter()) == list(range(tiny_corpus.n_sentences))


@pytest.mark.parametrize("statistic", ["to_sep", "entropy"])
def test_a_head_s_sentences_are_ranked_by_their_mean(tiny_corpus: Corpus, statistic: str) -> None:
    values = tiny_corpus.token_statistic.sel(statistic=statistic, layer=1, head=0).values.astype(float)
    means = [values[tiny_corpus.sentence_rows(sentence)].mean() for sentence in range(tiny_corpus.n_sentences)]
    np.testing.assert_allclose(sentence_means(tiny_corpus, statistic, 1, 0), means, rtol=1e-12)
    ranking = statistic_ranking(tiny_corpus, statistic, 1, 0)
    assert find(tiny_corpus, SentenceFilter(), ranking) == np.argsort(-np.array(means), kind="stable").tolist()


def test_the_sentences_with_the_smallest_means_may_come_first(tiny_corpus: Corpus) -> None:
    ranking = replace(statistic_ranking(tiny_corpus, "to_sep", 1, 0), ascending=True)
    expected = np.argsort(ranking.values, kind="stable").tolist()
    assert find(tiny_corpus, SentenceFilter(), ranking) == expected


@pytest.mark.parametrize("ascending", [False, True])
def test_of_equal_values_the_first_sentence_of_the_corpus_comes_first(tiny_corpus: Corpus, ascending: bool) -> None:
    ranking = Ranking("equal", np.ones(tiny_corpus.n_sentences), str, ascending)
    assert find(tiny_corpus, SentenceFilter(), ranking) == list(range(tiny_corpus.n_sentences))


def test_sentences_are_looked_for_among_the_first_alone(tiny_corpus: Corpus) -> None:
    ranking = Ranking("length", tiny_corpus.sentences.row_size.values[:7].astype(float), str)
    there = find_sentences(tiny_corpus, SentenceFilter(), among=7, ranking=ranking)
    assert (there.count, there.among) == (7, 7)
    assert [line.tokens for line in there.lines] == sorted(tiny_corpus.sentences.row_size.values[:7], reverse=True)


def test_a_filter_leaves_the_ranking(tiny_corpus: Corpus) -> None:
    ranking = statistic_ranking(tiny_corpus, "entropy", 0, 1)
    having = set(find(tiny_corpus, SentenceFilter("film")))
    assert find(tiny_corpus, SentenceFilter("film"), ranking) == [
        sentence for sentence in find(tiny_corpus, SentenceFilter(), ranking) if sentence in having
    ]


def test_no_more_words_are_sought_than_eight(tiny_corpus: Corpus) -> None:
    eight = "a b d e f g h i"
    assert find(tiny_corpus, SentenceFilter(f"{eight} xylophone")) == find(tiny_corpus, SentenceFilter(eight))


def test_a_word_twice_is_one(tiny_corpus: Corpus) -> None:
    twice = " ".join(["film", "FILM"] * 8)
    assert find(tiny_corpus, SentenceFilter(f"{twice} xylophone")) == []


def test_a_search_and_a_ranking_are_computed_once(tiny_corpus: Corpus) -> None:
    assert sentences_with(tiny_corpus, "The  film", 40) is sentences_with(tiny_corpus, "the film", 40)
    assert sentence_means(tiny_corpus, "to_sep", 1, 0) is sentence_means(tiny_corpus, "to_sep", 1, 0)


def test_a_ranking_is_forgotten_with_its_corpus(tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    reference = weakref.ref(sentence_means(corpus, "to_sep", 1, 0))
    del corpus
    gc.collect()
    assert reference() is None


def test_a_sentence_does_not_run_on_into_the_next(tiny_corpus: Corpus) -> None:
    first, second = texts(tiny_corpus)[:2]
    across = f"{first.split()[-1]} {second.split()[0]}"
    assert find(tiny_corpus, SentenceFilter(f'"{across}"')) == [
        n for n, text in enumerate(texts(tiny_corpus)) if across in text
    ]


def test_a_line_says_what_the_sentence_is(tiny_corpus: Corpus) -> None:
    line = find_sentences(tiny_corpus, SentenceFilter(), among=1).lines[0]
    assert (line.tokens, line.text) == (
        int(tiny_corpus.sentences.row_size[0]),
        str(tiny_corpus.sentences.text.values[0]),
    )


@pytest.mark.parametrize("text", ["a  film", "a\tfilm", "a\nfilm", "a \u3000 film", "A\u00a0Film"])
def test_white_space_of_any_kind_is_one_space(text: str, tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    corpus.sentences.text.values[:4] = ["the plot", text, "a film", "of a"]
    assert sentences_with(corpus, "a film", 4).tolist() == [False, True, True, False]

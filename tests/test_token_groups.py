"""Tokens of the corpus by wordpiece, a few of them within their sentences."""

from collections import Counter

import pytest

from dashboard.pages import TOPICS
from dashboard.points.similar import FoundToken, groups_table, token_groups
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import Corpus


@pytest.fixture
def context(tiny_store: str) -> Context:
    return resolve(ServedStore(tiny_store), "head", "?layer=1&head=0")


def queries(tokens: int) -> list[FoundToken]:
    return [FoundToken(token, "query", str(token)) for token in range(tokens)]


def test_wordpieces_are_counted_and_the_most_frequent_comes_first(tiny_corpus: Corpus) -> None:
    groups = token_groups(tiny_corpus, queries(60))
    counts = Counter(tiny_corpus.wordpieces(tiny_corpus.rows[:60]))
    assert [group.count for group in groups] == [count for _, count in counts.most_common(20)]
    assert all(counts[group.wordpiece] == group.count for group in groups)


def test_examples_are_of_different_sentences(tiny_corpus: Corpus) -> None:
    (group, *_) = token_groups(tiny_corpus, queries(200))
    rows = tiny_corpus.rows[[found.token for found in group.examples]]
    assert len(set(tiny_corpus.tokens.sentence_index.values[rows].tolist())) == 3


def test_few_tokens_are_all_examples(tiny_corpus: Corpus) -> None:
    (group,) = token_groups(tiny_corpus, [FoundToken(4, "query"), FoundToken(4, "key")])
    assert [found.role for found in group.examples] == ["query", "key"]


def test_nothing_found_is_an_empty_list(tiny_corpus: Corpus) -> None:
    assert token_groups(tiny_corpus, []) == []


def test_a_row_marks_the_token_and_opens_it(context: Context) -> None:
    table = str(groups_table(context.corpus, context.state, [FoundToken(7, "key", "0.5")], ("key", "score")))
    (piece,) = context.corpus.wordpieces(context.corpus.rows[[7]])
    assert f"Mark(children='{piece}', className='key')" in table
    assert "token=7&role=key&tab=point" in table


def test_a_search_for_a_prefix_counts_its_wordpieces(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "head", "?q=t&within=prefix")
    pieces = Counter(piece for piece in context.corpus.wordpieces(context.corpus.rows) if piece.lower().startswith("t"))
    below = str(TOPICS["head"].layout(context).below)
    assert len(pieces) > 1
    assert all(f" {count:,}" in below for _, count in pieces.most_common(12))
    assert "Tokens by wordpiece:" in below

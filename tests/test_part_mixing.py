"""Mixing ratios and attention to [SEP] of parts of the corpus, against sums spelled out sentence by sentence."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from dashboard.statistics.parts import part_of
from store import Corpus
from store.means import ChosenTokens, _one_ahead, part_means
from store.schema.corpus import CLS, SEP
from tests.counts import counted
from tests.stores import BLOCK

PARTS = (None, "position:..4", "label:positive", "kind:[SEP]")


def by_hand(values: np.ndarray, corpus: Corpus, chosen: np.ndarray) -> np.ndarray:
    """Mean over sentences of the mean over their chosen tokens, of values (..., token)."""
    sentence = corpus.tokens.sentence_index.values[corpus.rows]
    own = [values[..., chosen & (sentence == number)] for number in range(corpus.n_sentences)]
    return np.mean([tokens.mean(axis=-1) for tokens in own if tokens.shape[-1]], axis=0)


def flags(corpus: Corpus) -> np.ndarray:
    return corpus.tokens.token_flags.values[corpus.rows]


@pytest.mark.parametrize("where", PARTS)
def test_mixing_of_all_rows_of_a_part(tiny_corpus: Corpus, where: str | None) -> None:
    part = part_of(tiny_corpus, where)
    values = tiny_corpus.token_mixing.values[..., tiny_corpus.rows].astype(np.float64)
    means = counted(tiny_corpus, part).mixing.sel(source="all")
    np.testing.assert_allclose(means, by_hand(values, tiny_corpus, part.rows), rtol=1e-3)


def test_mixing_of_one_kind_of_a_part(tiny_corpus: Corpus) -> None:
    part = part_of(tiny_corpus, "label:positive")
    values = tiny_corpus.token_mixing.values[..., tiny_corpus.rows].astype(np.float64)
    means = counted(tiny_corpus, part).mixing.sel(source="cls")
    expected = by_hand(values, tiny_corpus, part.rows & (flags(tiny_corpus) & CLS != 0))
    np.testing.assert_allclose(means, expected, rtol=1e-3)


def test_a_part_without_such_rows_has_no_mixing(tiny_corpus: Corpus) -> None:
    means = counted(tiny_corpus, part_of(tiny_corpus, "position:1..2")).mixing.sel(source="cls")
    assert np.isnan(means).all()


@pytest.mark.parametrize("where", PARTS[:3])
def test_attention_to_sep_of_all_others(tiny_corpus: Corpus, where: str | None) -> None:
    part = part_of(tiny_corpus, where)
    values = tiny_corpus.token_statistic.sel(statistic="to_sep").values[..., tiny_corpus.rows].astype(np.float64)
    expected = by_hand(values, tiny_corpus, part.rows & (flags(tiny_corpus) & SEP == 0))
    means = counted(tiny_corpus, part).means.sel(source="other", statistic="to_sep")
    np.testing.assert_allclose(means, expected, rtol=1e-3)


def test_sep_alone_leaves_no_others(tiny_corpus: Corpus) -> None:
    assert np.isnan(counted(tiny_corpus, part_of(tiny_corpus, "kind:[SEP]")).means.sel(source="other")).all()


def test_no_more_than_a_number_of_a_block_is_read_at_once(tiny_corpus: Corpus) -> None:
    part, stored, pieces = part_of(tiny_corpus, "position:1.."), tiny_corpus.token_mixing, []
    chosen = ChosenTokens(tiny_corpus.tokens, tiny_corpus.rows, part.rows, BLOCK)
    means = part_means(stored, chosen, pieces.append, read_bytes=1).sel(source="all")
    values = stored.values[..., tiny_corpus.rows].astype(np.float64)
    np.testing.assert_allclose(means, by_hand(values, tiny_corpus, part.rows), rtol=1e-3)
    assert len(pieces) == len(stored) * len(np.unique(tiny_corpus.rows[part.rows] // BLOCK))


def test_the_next_block_is_read_before_the_numbers_of_a_block_are_handed_out() -> None:
    begun = [Event(), Event()]

    def work(item: int) -> int:
        begun[item].set()
        return item

    with ThreadPoolExecutor(1) as pool:
        results = _one_ahead(pool, work, [0, 1])
        assert next(results) == 0
        assert begun[1].wait(timeout=10)
        assert list(results) == [1]

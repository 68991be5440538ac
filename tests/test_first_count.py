"""The first tokens of a large corpus are counted first: their numbers, the page's words on them, and the numbers of all tokens."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard.app import create_app
from dashboard.statistics.parts import CountLimits, Part, PartCounts, PartNumbers, first_part, part_of
from dashboard.ui.work import Job, Jobs, new_name
from dashboard.web.served_store import ServedStore
from store import Corpus
from store.means import Watch
from tests.counts import counted

WHERE = "kind:word"
#: Rows that stand for the first blocks of a large corpus.
ROWS = 150


#: Limits by which a small corpus counts as large.
LARGE = CountLimits(first=ROWS, fewest=2)


@pytest.fixture
def served_store(tiny_store: str) -> ServedStore:
    served_store = ServedStore(tiny_store)
    served_store.put(PartCounts, PartCounts(served_store.folder, limits=LARGE))
    return served_store


@pytest.fixture
def first(tiny_corpus: Corpus) -> Part:
    part = first_part(tiny_corpus, part_of(tiny_corpus, WHERE), LARGE)
    assert part is not None
    return part


def by_hand(corpus: Corpus, rows: np.ndarray) -> np.ndarray:
    """Means (statistic, layer, head) over sentences of the means over their rows."""
    stored = corpus.token_statistic.values.astype(np.float64)
    sentence = corpus.tokens.sentence_index.values
    each = [stored[..., rows[sentence[rows] == number]].mean(axis=-1) for number in np.unique(sentence[rows])]
    means: np.ndarray = np.mean(each, axis=0)
    return means


def test_only_the_first_tokens_are_counted(tiny_corpus: Corpus, first: Part) -> None:
    rows = tiny_corpus.rows[part_of(tiny_corpus, WHERE).rows]
    rows = rows[rows < ROWS]
    means = counted(tiny_corpus, first).means.sel(source="all")
    np.testing.assert_allclose(means, by_hand(tiny_corpus, rows), rtol=1e-5)
    assert first.tokens == len(rows)


def test_the_first_tokens_are_compared_with_others_of_the_first(tiny_corpus: Corpus, first: Part) -> None:
    is_word = part_of(tiny_corpus, WHERE).rows
    others = tiny_corpus.rows[~is_word & (tiny_corpus.rows < ROWS)]
    minus = counted(tiny_corpus, replace(first, minus_rest=True)).means.sel(source="all")
    own = counted(tiny_corpus, first).means.sel(source="all")
    np.testing.assert_allclose(own - minus, by_hand(tiny_corpus, others), rtol=1e-5, atol=1e-6)


def test_a_count_of_the_first_tokens_is_not_taken_for_one_of_all(tiny_corpus: Corpus, first: Part) -> None:
    assert replace(first, first=None).digest != first.digest != part_of(tiny_corpus, WHERE).digest


@pytest.mark.parametrize("limits", [replace(LARGE, first=10**6), replace(LARGE, fewest=10**6)], ids=["half", "few"])
def test_all_tokens_are_counted_at_once_where_the_first_are_half_or_too_few(
    tiny_corpus: Corpus, limits: CountLimits
) -> None:
    assert first_part(tiny_corpus, part_of(tiny_corpus, WHERE), limits) is None


def test_the_whole_corpus_is_never_cut(tiny_corpus: Corpus) -> None:
    assert first_part(tiny_corpus, part_of(tiny_corpus, None), LARGE) is None


def filled(served_store: ServedStore, place: str, name: str | None = None) -> str:
    """The content that fills the place of a job."""
    registered = create_app(served_store).callback_map
    (entry,) = (entry for key, entry in registered.items() if '"is":"job"' in key)
    callback: Any = entry["callback"]
    wait = {"deferred": place, "wait": name or new_name()}
    return str(callback.__wrapped__(wait, None, None, "/statistics", f"?where={WHERE}", None))


def test_the_first_tokens_are_shown_until_all_are_counted(served_store: ServedStore, first: Part) -> None:
    shown = filled(served_store, "numbers")
    of = served_store.snapshot().corpus().n_tokens
    assert f"So far: means over {first.tokens:,} tokens in {first.sentences} sentences, those of " in shown
    assert f"the first {first.first} of {of:,} tokens, a uniform sample." in shown
    assert f"All {of:,} tokens are being counted." in shown.replace("', '", "")
    assert "'deferred': 'all-numbers', 'is': 'job'" in shown
    assert "heat-map" in shown


def test_the_numbers_of_all_tokens_replace_them(served_store: ServedStore) -> None:
    assert "heat-map" in (all_tokens := filled(served_store, "all-numbers"))
    assert "uniform sample" not in all_tokens
    assert "all-numbers" not in filled(served_store, "numbers")


def test_a_count_of_the_first_tokens_waits_for_no_long_one(served_store: ServedStore, first: Part) -> None:
    counts = served_store.service(PartCounts)
    with counts._turns.turn(lambda: False):
        assert counts.numbers(served_store.snapshot().corpus(), first, Job()).means.notnull().any()


def test_the_first_tokens_stay_where_the_count_of_all_is_cancelled(served_store: ServedStore) -> None:
    filled(served_store, "numbers")
    name = new_name()

    def cancel(_corpus: Corpus, _part: Part, watch: Watch) -> PartNumbers:
        served_store.service(Jobs).cancel(name)
        watch(0.5)
        raise AssertionError("The count goes on.")

    served_store.put(PartCounts, PartCounts(served_store.folder, limits=LARGE, read=cancel))
    shown = filled(served_store, "all-numbers", name)
    assert "are not counted." in shown
    assert "Count them" in shown
    assert "heat-map" in shown

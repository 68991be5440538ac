"""Counts of two models, made once for many who ask at the same time."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

from dashboard.compare.two_models import ModelPair, both_places, cached_result, hidden_size
from dashboard.web.results import current_cache
from store import StoreError, open_corpus
from tests.stores import rewritten


def test_a_count_that_many_readers_want_runs_once(alike: ModelPair) -> None:
    counted: list[int] = []
    start = Barrier(4)

    def count() -> int:
        counted.append(1)
        time.sleep(0.05)
        return 7

    cache = current_cache()

    def ask(_: int) -> int:
        start.wait()
        return cache.run(cached_result, alike, "asked for at once", count)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [7] * 4
    assert len(counted) == 1


def test_views_that_there_are_not_leave_nothing_behind(alike: ModelPair) -> None:
    for number in range(30):
        with suppress(StoreError):
            both_places(alike, f"no-view-{number}", 0, 0, 10)
    assert current_cache()._under_way == {}


def test_the_size_of_vectors_is_known_where_config_json_calls_it_otherwise(few: str) -> None:
    corpus = open_corpus(few)
    config = dict(corpus.attributes["config"])
    size = config.pop("hidden_size")
    with rewritten(few) as writer:
        writer.group(f"models/{corpus.name}").attrs["config"] = config | {"dim": size}
    assert hidden_size(open_corpus(few)) == size

"""Settings of every test, and the modules of the fixtures. Nothing here needs a network."""

import gc
import os
import tempfile
from collections import Counter
from pathlib import Path

# Modules and tests stay: to look for garbage among them, again and again, took a fifth of their collection.
gc.disable()

# Before anything imports `datasets`, `transformers`, `huggingface_hub`, `torch` or `numpy`: they read these once.
_CACHE = tempfile.TemporaryDirectory(prefix="headscape-tests-", ignore_cleanup_errors=True)
os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "HF_HOME": _CACHE.name,
    "HF_DATASETS_CACHE": f"{_CACHE.name}/datasets",
    "TOKENIZERS_PARALLELISM": "false",
    # Matrices of tests are tiny: a second thread only waits, and takes the core of another test process for it.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

import hypothesis  # noqa: E402
import pytest  # noqa: E402

#: A module stands after the modules that it imports: pytest rewrites their assertions while it imports them.
pytest_plugins = [
    "tests.tiny_models",
    "tests.sentencepiece",
    "tests.roberta",
    "tests.reviews",
    "tests.stores",
    "tests.complaints",
    "tests.broken_model",
    "tests.hub_cache",
    "tests.family",
    "tests.client",
    "tests.fronts",
    "tests.browser",
    "tests.every_family",
    "tests.fake_sentence",
    "tests.three_models",
    "tests.reverse_proxies",
    "tests.notes",
]

# Hypothesis has no time limit and runs the same cases every time: few enough to leave time for the browser's tests.
hypothesis.settings.register_profile("calm", max_examples=30, deadline=None, database=None, derandomize=True)
hypothesis.settings.load_profile("calm")


#: Thresholds of the garbage collector: a test makes more than the 700 objects of Python's own first threshold.
GARBAGE = (50_000, 20, 50)

#: Fixtures that take seconds: a browser, a store that an ingest makes or that another version made, a database server.
_HEAVY = {
    "chromium",
    "ingest",
    "default_store",
    "causal_store",
    "chains_store",
    "gap_store",
    "former",
    "postgres",
    "postgresql",
}
#: Fixtures of processes that a test stops, and of a server behind its proxy.
_SLOW = {"start_code", "proxied"}

#: Fixtures of stores that an ingest makes.
_INGESTS = {"ingest", "default_store"}
#: Seconds of a test, about, by its fixture or mark; a test with none of these takes a moment.
_SECONDS = {"start_code": 5.0, "slow": 5.0, "heavy": 4.0, "chromium": 2.0, "default_store": 0.5, "ingest": 0.4}


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test by no file content: gzip writes the time of day, which once gave each process other names of tests."""
    return argname if isinstance(val, bytes) and len(val) > 20 else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with heavy or slow fixtures (`make test` leaves out slow tests), and order the files.

    A process of pytest-xdist runs whole files. The first file makes a store, for which numba compiles. Files without a store
    come next, as every other file would wait for the first store. Among the others the longest come first: a long file that
    began last would leave the other processes without work.
    """
    seconds: Counter[Path] = Counter()
    with_store: set[Path] = set()
    for item in items:
        seconds[item.path] += max((_SECONDS[name] for name in _uses(item) & _SECONDS.keys()), default=0.1)
        if not _INGESTS.isdisjoint(_uses(item)):
            with_store.add(item.path)
        for mark, fixtures in (("slow", _SLOW), ("heavy", _HEAVY)):
            if not fixtures.isdisjoint(_uses(item)):
                item.add_marker(mark)
    first = min(with_store, key=lambda path: (-seconds[path], path), default=None)
    items.sort(key=lambda item: (item.path != first, item.path in with_store, -seconds[item.path], item.path))


def _uses(item: pytest.Item) -> set[str]:
    """Names of the fixtures and the marks of a test; its parameters too, which may be names of fixtures."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    named = (value for value in parameters if isinstance(value, str))
    return {*getattr(item, "fixturenames", ()), *(mark.name for mark in item.iter_markers()), *named}


def pytest_collection_finish() -> None:
    """Let the garbage collector skip the objects that exist by now, and look at the objects of tests less often."""
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two processes for each core: tests wait for a browser, a process or a clock half of the time. A process takes up to 2 GB.

    Tests of `make test-quick` wait for nothing, and every process imports for seconds: one process for each core.
    """
    cores = os.cpu_count() or 1
    return cores if config.option.numprocesses == "logical" else min(2 * cores, 8)

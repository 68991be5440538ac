"""A store in object storage: publications under faults, two writers at once, and a page's time at 20 ms a request."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Event
from unittest.mock import patch
from urllib.parse import urlencode

import zarr
from flask.testing import FlaskClient
from icechunk import IcechunkError, RepositoryConfig

from dashboard.app import create_app
from dashboard.canvas.spec import GRID_TOKENS
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store import StoreError, open_corpus, open_snapshot, snapshot
from store.repository import access, remote, tiles
from store.repository.access import open_repository
from store.repository.history import history
from store.repository.writer import open_writer
from tests.bench.faulty_s3 import FAULTS, Fault, FaultyS3, faulty_s3
from tests.bench.synthetic import make_store
from tests.bench.table import show

URL = "s3://bucket/store"
#: Publications under each fault, share of the requests that fail, and seconds of a slow answer.
PUBLICATIONS, SHARE, SLOW = 25, 0.1, 0.5
#: Length of each of two arrays, which a publication fills with one value, and length of a chunk.
NUMBERS, CHUNK = 65_536, 8_192
#: Pairs of writers that begin at once.
PAIRS = 25
#: For the table of pages: seconds before each request, sentences of the store, and times that a page is opened.
DELAY, SENTENCES, TIMES = 0.02, 300, 3


@dataclass
class Seen:
    """Outcomes of a writer's publications and of a reader's reads."""

    published: list[int] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    torn: int = 0
    failed: Counter[str] = field(default_factory=Counter)


def in_object_storage() -> int:
    """Print the tables; 1 where a publication was lost or made twice, or a read was torn."""
    with faulty_s3() as server:
        rows = [_row(server, fault) for fault in (None, *FAULTS)]
        show(
            f"{PUBLICATIONS} publications on a local S3 server, {SHARE:.0%} of its answers faulty",
            (
                "fault",
                "injected",
                "published",
                "refused",
                "lost or twice",
                "reads",
                "torn",
                "failed reads",
                "seconds each",
            ),
            rows,
        )
        both = _pairs(server)
        _pages(server)
    return int(any(row[4] or row[6] for row in rows) or both)


def _row(server: FaultyS3, fault: Fault | None) -> tuple[object, ...]:
    server.empty()
    _publish(-1)
    if fault:
        server.fail(fault, share=SHARE, seconds=SLOW)
    seen, end, began = Seen(), Event(), time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(_read, seen, end)
        for number in range(PUBLICATIONS):
            _try_to_publish(seen, number)
        took = (time.monotonic() - began) / PUBLICATIONS
        end.set()
        reading.result()
    server.calm()
    injected = server.injected[fault] if fault else 0
    wrong = int(_messages() != [f"number {number}" for number in (-1, *seen.published)])
    refused, failed = seen.refused.total(), seen.failed.total()
    return fault or "none", injected, len(seen.published), refused, wrong, seen.reads, seen.torn, failed, f"{took:.2f}"


def _publish(number: int) -> None:
    with open_writer(URL) as writer:
        for name in ("left", "right"):
            array = writer.root.require_array(name, shape=(NUMBERS,), dtype="i4", chunks=(CHUNK,))
            array[:] = number
        writer.publish(f"number {number}")


def _try_to_publish(seen: Seen, number: int) -> None:
    try:
        _publish(number)
    except (StoreError, IcechunkError) as error:
        seen.refused[str(error)] += 1
    else:
        seen.published.append(number)


def _read(seen: Seen, end: Event) -> None:
    """Read the published arrays again and again: all numbers of both must come from one publication."""
    while not end.is_set():
        try:
            numbers = _numbers()
        except (StoreError, IcechunkError) as error:
            seen.failed[str(error)] += 1
        else:
            seen.reads += 1
            seen.torn += len(numbers) != 1


def _numbers() -> set[int]:
    repository = open_repository(URL)
    root = zarr.open_group(access.chunks_of(repository.readonly_session("main"), URL), mode="r")
    return {int(value) for name in ("left", "right") for value in root[name][:]}  # type: ignore[index, union-attr]


def _messages() -> list[str]:
    return [publication.message for publication in history(open_repository(URL), URL)][::-1]


def _pairs(server: FaultyS3) -> int:
    """Two writers begin at once, again and again; returns 1 where their reports do not agree with the history."""
    server.empty()
    _publish(-1)
    seen, told = Counter[int](), Counter[str]()
    expected = 1
    with ThreadPoolExecutor(2) as pool:
        for number in range(PAIRS):
            both = (Seen(), Seen())
            list(
                pool.map(
                    lambda own: _try_to_publish(own[0], own[1]), zip(both, (2 * number, 2 * number + 1), strict=True)
                )
            )
            seen[sum(len(one.published) for one in both)] += 1
            for one in both:
                told.update(one.refused)
            expected += sum(len(one.published) for one in both)
    lost = expected - len(_messages())
    columns = ("both published, one after the other", "one published", "none", "lost", "told")
    show(f"Two writers at once, {PAIRS} times", columns, [(seen[2], seen[1], seen[0], lost, "; ".join(told))])
    return int(lost != 0)


def _pages(server: FaultyS3) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = make_store(Path(folder) / "store", layers=6, heads=12, channels=32, sentences=SENTENCES)
        server.empty()
        server.upload(Path(store), "store")
    server.delay = DELAY
    with _as_a_disk():
        before = _times(server)
    after = _times(server)
    server.delay = 0
    rows = [(name, *before[name], *after[name]) for name in after]
    columns = ("", "before", "requests", "with read-ahead and cache of chunks", "requests")
    show(f"Pages of a store in object storage, {1000 * DELAY:.0f} ms a request", columns, rows)


@contextmanager
def _as_a_disk() -> Iterator[None]:
    """Read object storage like a local disk: no chunks in memory, no manifest ahead, few ranges at once, one range for each tile."""
    plain = RepositoryConfig(storage=remote.CONFIG.storage, manifest=access.CONFIG.manifest)
    with (
        patch.object(remote, "CONFIG", plain),
        patch.object(snapshot, "read_ahead", lambda _: None),
        patch.object(tiles, "REMOTE_AT_ONCE", tiles.AT_ONCE),
        patch.object(tiles, "REMOTE_GAP", 0),
    ):
        yield


def _times(server: FaultyS3) -> dict[str, tuple[str, int]]:
    """Median milliseconds and number of requests of each action of a reader, each time on a newly started server."""
    runs = [_run(server) for _ in range(TIMES)]
    return {
        name: (f"{median(run[name][0] for run in runs):,.0f} ms", round(median(run[name][1] for run in runs)))
        for name in runs[0]
    }


def _run(server: FaultyS3) -> dict[str, tuple[float, int]]:
    corpus = open_corpus(URL)
    base, view = data_link(corpus), next(iter(corpus.views))
    client = create_app(ServedStore(URL)).server.test_client()
    published = open_snapshot(URL).id
    steps: dict[str, Callable[[], object]] = {
        "page Heads": lambda: _page(client, "/heads", "", published),
        "its points": lambda: _get(client, f"{base}/points/{view}/grid.bin?tokens={GRID_TOKENS}"),
        "page Head": lambda: _page(client, "/head", "?layer=2&head=3", published),
        "its points, all tokens": lambda: _get(client, f"{base}/points/{view}/2/3.bin?tokens=100000"),
        "next head": lambda: _get(client, f"{base}/points/{view}/2/4.bin?tokens=100000"),
        "page Sentence": lambda: _page(client, "/sentence", "?sentence=5", published),
        "all heads of a sentence": lambda: _get(client, f"{base}/sentence/5/model.bin"),
        "next sentence": lambda: _get(client, f"{base}/sentence/6/model.bin"),
        "page Statistics": lambda: _page(client, "/statistics", "", published),
    }
    return {name: _measured(server, step) for name, step in steps.items()}


def _measured(server: FaultyS3, step: Callable[[], object]) -> tuple[float, int]:
    before, began = server.seen.total(), time.perf_counter()
    step()
    return 1000 * (time.perf_counter() - began), server.seen.total() - before


def _page(client: FlaskClient, pathname: str, search: str, published: str) -> None:
    form = urlencode({"pathname": pathname, "search": search, "snapshot": published})
    answer = client.post("/data/page", data=form, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 200, answer.data


def _get(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.data[:200])

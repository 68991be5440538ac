"""Waiting times of a reader at several sizes of a corpus: opening, pages, next head, search, nearest keys, filter, memory."""

import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import quote

from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.canvas.spec import GRID_TOKENS
from dashboard.points.similar import Point, cosines, logits
from dashboard.sentence.finder import SentenceFilter, find_sentences
from dashboard.statistics.parts import REUSED, count, first_part, part_of
from dashboard.web.http import data_link
from dashboard.web.processes import one_thread_per_product, resident_memory, return_freed_memory
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from store.process import reusing_freed_memory
from store.repository.writer import open_writer
from tests.bench.load_requests import WORDS
from tests.bench.random_reviews import write_random_reviews
from tests.bench.synthetic import temporary_store
from tests.bench.table import show

#: Rounds, of which the fastest counts, as other work of a machine only adds time; rounds of counts over parts.
ROUNDS, COUNTS = 7, 2
#: Publications of the longer history.
HISTORY = 200
#: Parts of a corpus by name, in the form of a link.
PARTS = {
    "reviews with one label": "label:negative",
    "words in short sentences of one label": "label:negative;sentence_length:..20;kind:word",
}
#: Tokens up to which the packaged reviews are used; tokens of a random sentence, a little fewer than the mean.
PACKAGED, PER_SENTENCE = 5_000_000, 22
#: Pages that are measured, each for another head.
PAGES = ("overview", "heads", "statistics", "relations", "sentence", "store")
Row = tuple[str, str]


@dataclass(frozen=True)
class Size:
    """Number of tokens of a store, and of tokens with vectors; None for all."""

    tokens: int
    vectors: int | None = None


def sizes(several: tuple[Size, ...]) -> None:
    """Print a table of stores of these sizes with 6x12 heads x 32 channels, each made anew."""
    measured = {}
    return_freed_memory()  # a worker of the server does so, too
    one_thread_per_product()
    for size in several:
        place = _store_of(size)
        corpus = open_corpus(place)
        vectors = f", {corpus.n_tokens:,} with vectors" if size.vectors else ""
        measured[f"{corpus.counted_tokens:,} tokens{vectors}"] = dict(measure(place))
        shutil.rmtree(Path(place).parent)
    rows = [(name, *(times[name] for times in measured.values())) for name in next(iter(measured.values()))]
    show(f"Sizes, 6x12 heads x 32, the fastest of {ROUNDS}", ("", *measured), rows)


def _store_of(size: Size) -> str:
    chosen = {"tokens": size.tokens, "vectors": str(size.vectors or "all"), "words": size.vectors is not None}
    with tempfile.TemporaryDirectory() as folder:
        if size.tokens > PACKAGED:
            data = write_random_reviews(Path(folder) / "reviews.parquet", sentences=size.tokens // PER_SENTENCE)
            chosen |= {"data": str(data)}
        return temporary_store(layers=6, heads=12, channels=32, **chosen)


def measure(place: str) -> list[Row]:
    """Each action of a reader in a store, with its time; publishes `HISTORY` times."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        rows = [("resident memory after these pages", pool.submit(_memory, place).result())]
    corpus = open_corpus(place)
    client = create_app(ServedStore(place)).server.test_client()
    rows += [("open the store", _fastest(lambda _: open_corpus(place)))]
    rows += [(name, _fastest(request)) for name, request in _requests(client, corpus).items()]
    rows += [(name, _fastest(search)) for name, search in _searches(corpus).items()]
    rows += [_part(place, name, where, first) for first in (True, False) for name, where in PARTS.items()]
    _publish(place)
    again = create_app(ServedStore(place)).server.test_client()
    return [
        *rows,
        (f"open the store after {HISTORY} publications", _fastest(lambda _: open_corpus(place))),
        (f"page Store after {HISTORY} publications", _fastest(lambda _: _page(again, "", "/store", ""))),
    ]


def _requests(client: FlaskClient, corpus: Corpus) -> dict[str, Callable[[int], object]]:
    """Requests by name; each asks for something else in every round, so that nothing is cached."""
    base, view = data_link(corpus), corpus.views[0]

    def get(path: str) -> object:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.data

    def head(number: int) -> str:
        return f"{number % corpus.layers}/{number % corpus.heads}"

    def page(name: str, fields: str = "") -> object:
        return _page(client, corpus.snapshot, f"/{name}", f"?{fields}")

    return {
        **{f"page {name.title()}": partial(_page_of_head, page, name) for name in PAGES},
        "page Heads with a search": lambda n: _page(client, corpus.snapshot, "/heads", f"?q={WORDS[n]}"),
        "points of all heads": lambda n: get(f"{base}/points/{view}/grid.bin?tokens={GRID_TOKENS - n}"),
        "next head: page, points of 20,000 tokens": lambda n: (
            _page(client, corpus.snapshot, "/head", "?layer={}&head={}".format(*head(n).split("/"))),
            get(f"{base}/points/{view}/{head(n)}.bin?tokens=20000"),
        ),
        "text in all sentences": lambda n: find_sentences(
            corpus, SentenceFilter(WORDS[n]), among=corpus.counted_sentences
        ),
        "sentences of a label and length": lambda n: find_sentences(
            corpus, SentenceFilter(label="negative", fewest=n), among=corpus.counted_sentences
        ),
        "next sentence, one layer": lambda n: get(f"{base}/sentence/{corpus.n_sentences - 1 - n}/layer/3.bin"),
        "search in all heads": lambda n: get(f"{base}/mask/grid.bin?q={WORDS[-1 - n]}&within=token"),
        "filter in all heads": lambda n: get(f"{base}/mask/grid.bin?where={quote(f'kind:word;position:{n}..20')}"),
        "clicked point: lines, highest-scoring keys": lambda n: get(
            f"{base}/focus/{view}/{head(n)}/query/{1000 + n}.json"
        ),
    }


def _page_of_head(page: Callable[[str, str], object], name: str, number: int) -> object:
    """A page of a head that no earlier round has requested."""
    return page(name, f"layer={number % 6}&head={number}")


def _memory(place: str) -> str:
    """Resident memory of a new process, before and after all pages and a search over the text of all sentences."""
    client, began = create_app(ServedStore(place)).server.test_client(), resident_memory() or 0
    corpus = open_corpus(place)
    for request in _requests(client, corpus).values():
        request(0)
    return f"{began / 1e6:,.0f}, then {(resident_memory() or 0) / 1e6:,.0f} MB"


def _page(client: FlaskClient, snapshot: str, pathname: str, search: str) -> object:
    answer = client.post("/data/page", data={"pathname": pathname, "search": search, "snapshot": snapshot})
    assert answer.status_code == 200, answer.text
    return answer.data


def _searches(corpus: Corpus) -> dict[str, Callable[[int], object]]:
    tokens = corpus.n_tokens
    return {
        "highest-scoring keys, exact": lambda n: logits(corpus, Point(n % corpus.layers, 2, "query", n), tokens),
        "most similar keys, exact": lambda n: cosines(corpus, Point(n % corpus.layers, 3, "key", n), tokens),
    }


def _part(place: str, name: str, where: str, first: bool) -> Row:
    """Time until the first numbers of a part, from the first tokens of a large corpus, or until the numbers of all tokens."""

    def counted(_: int) -> None:
        corpus = open_corpus(place)
        part = part_of(corpus, where)
        with reusing_freed_memory(REUSED):
            count(corpus, (first_part(corpus, part) if first else None) or part, lambda _: None)

    return f"{'first numbers' if first else '17 statistics'} of {name}, with intervals", _fastest(counted, COUNTS)


def _publish(place: str) -> None:
    with open_writer(place) as writer:
        for number in range(HISTORY):
            writer.publish(f"publication {number}")


def _fastest(work: Callable[[int], object], rounds: int = ROUNDS) -> str:
    """Least wall time of some rounds and, in brackets, least processor time of this process."""
    walls, processor = [], []
    for number in range(rounds):
        wall, own = time.perf_counter(), time.process_time()
        work(number)
        walls.append(time.perf_counter() - wall)
        processor.append(time.process_time() - own)
    return f"{1000 * min(walls):,.0f} ({1000 * min(processor):,.0f}) ms"

"""Waiting times of readers who type sentences, and of all others meanwhile, on a production server."""

import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from statistics import median, quantiles
from urllib.error import HTTPError
from urllib.parse import urlencode

import numpy as np

from dashboard.web.http import data_link
from ingest.pipeline import run
from ingest.run.settings import Settings
from store import Corpus, open_corpus
from tests.bench.browser import production_server
from tests.bench.table import show
from tests.bench.typing_page import entered

SENTENCES = 300
#: Number of typed sentences, and their length in wordpieces.
TYPED, LENGTH = 20, 25
#: Readers who type at the same time, and how many sentences each of them types.
TYPISTS, ROUNDS = 10, 20
#: Corpus requests that are timed while nobody types.
ALONE = 200
TYPED_ROUTE = "typed/layer/2.bin"
CORPUS_ROUTE = "token/0/0/query/5.json"
BUSY = 503
#: Seconds after which a reader asks again whom the server told that it is busy.
REST = 0.5


def typing() -> None:
    """Measure on a small store of the default model, and print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store"
        run(Settings(store=store, sentences=SENTENCES, views="pca-exact-2d", features="none"))
        corpus = open_corpus(store)
        with production_server(store) as address:
            report(address, f"{address}{data_link(corpus)}", sentences_to_type(corpus))


def report(address: str, base: str, texts: Sequence[str]) -> None:
    """Print all figures of a server whose data begin at `base`. No sentence is typed twice: none comes from a cache."""
    fresh = _numbered(texts)
    loading = _type(base, fresh, typists=TYPISTS, rounds=4)  # so that every process of the server loads the model
    typed = [_milliseconds(typed_url(base, text)) for text in texts]
    pictures = entered(address, fresh, TYPED)
    alone = [_milliseconds(f"{base}/{CORPUS_ROUTE}") for _ in range(ALONE)]
    meanwhile, crowd = corpus_while_typing(base, fresh)
    rows = [
        ("first sentences, until the model is loaded (longest)", f"{max(_answered(loading)):,.0f} ms", "", ""),
        _row("weights of a typed sentence, once it is loaded", typed),
        _row("from Enter until its picture is painted, in a browser", pictures),
        _row("a corpus request, while nobody types", alone),
        _row(f"a corpus request, while {TYPISTS} readers type", meanwhile),
        _row(f"weights of a typed sentence of these {TYPISTS} readers", crowd),
    ]
    show(
        f"Typing sentences of about {LENGTH} wordpieces, production server",
        ("", "median", "95th percentile", "requests"),
        rows,
    )


def sentences_to_type(corpus: Corpus) -> list[str]:
    """Sentences of the corpus whose length is nearest to `LENGTH`."""
    order = np.argsort(abs(corpus.sentences.row_size.values - LENGTH), kind="stable")
    return [str(text) for text in corpus.sentences.text.values[order[:TYPED]]]


def typed_url(base: str, text: str) -> str:
    """The address of the weights of layer 2 of a typed sentence."""
    return f"{base}/{TYPED_ROUTE}?{urlencode({'text': text})}"


def corpus_while_typing(base: str, texts: Iterator[str]) -> tuple[list[float | None], list[float | None]]:
    """Milliseconds of corpus requests, one after the other, while readers type; and of the typed sentences."""
    with ThreadPoolExecutor(1) as pool:
        typing = pool.submit(_type, base, texts, typists=TYPISTS, rounds=ROUNDS)
        times = []
        while not typing.done():
            times.append(_milliseconds(f"{base}/{CORPUS_ROUTE}"))
        return times, typing.result()


def _type(base: str, texts: Iterator[str], *, typists: int, rounds: int) -> list[float | None]:
    urls = [typed_url(base, next(texts)) for _ in range(typists * rounds)]
    with ThreadPoolExecutor(typists) as pool:
        return list(pool.map(_milliseconds, urls))


def _numbered(texts: Sequence[str]) -> Iterator[str]:
    """The texts again and again, each time with another number at the end."""
    return (f"{texts[number % len(texts)]} {number}" for number in count())


def _milliseconds(url: str) -> float | None:
    """Milliseconds until the last byte of an answer; None where the server says that it is busy."""
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            answer.read()
    except HTTPError as error:
        if error.code != BUSY:
            raise
        time.sleep(REST)
        return None
    return 1000 * (time.perf_counter() - began)


def _answered(times: Sequence[float | None]) -> list[float]:
    return [each for each in times if each is not None]


def _row(name: str, times: Sequence[float | None]) -> tuple[str, ...]:
    answered = _answered(times)
    busy = len(times) - len(answered)
    requests = f"{len(times)}, {busy} told that the server is busy" if busy else str(len(times))
    return name, f"{median(answered):,.1f} ms", f"{quantiles(answered, n=20)[-1]:,.1f} ms", requests

"""Seconds of page Models in a store of 22 models of 72 heads: a worker's first request, then other numbers and a box of heads."""

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from zarr.abc.store import Store
from zarr.buffer import default_buffer_prototype

from store import open_corpus
from store.repository.zarr_internals import run_in_zarr
from tests.bench.browser import production_server
from tests.bench.table import show
from tests.stores import RULES, ingest_small, rewritten
from tests.tiny_models import save_model
from tests.treebanks import write_treebank

MODELS, LAYERS, HEADS = 22, 6, 12
ROUNDS = 5
#: Two other numbers, and a box of heads.
LINKS = ("?across=iou&up=context", "?tint=entropy", "?acrossin=5..50")


def models_page() -> None:
    """Print medians over `ROUNDS` servers, each of one worker."""
    with tempfile.TemporaryDirectory() as folder:
        store = many_models(Path(folder))
        rounds = [_seconds(store) for _ in range(ROUNDS)]
    names = ("", "page Store, the first request of the worker", "page Models, its first request", *LINKS)
    rows = [
        (name, f"{1000 * median(times):,.0f} ms")
        for name, times in zip(names[1:], zip(*rounds, strict=True), strict=True)
    ]
    show(
        f"Page Models, {MODELS * LAYERS * HEADS:,} heads of {MODELS} models, medians of {ROUNDS}", ("", "answer"), rows
    )


def many_models(folder: Path) -> str:
    """A store of one model with words, roles and importance, and of its copies under other keys."""
    bank = write_treebank(folder / "bank.conllu")
    architecture = "BertForMaskedLM"
    model = save_model(folder / "bert", layers=LAYERS, heads=HEADS, channels=4, architecture=architecture)
    limits: dict[str, Any] = {"importance": 5, **RULES}
    store = ingest_small(folder / "store", model=model, data=bank, annotate="auto", **limits)
    name = open_corpus(store).name
    with rewritten(store) as writer:
        for number in range(1, MODELS):
            run_in_zarr(_copy(writer.root.store, f"models/{name}", f"models/{name}-{number}"))
    return store


async def _copy(chunks: Store, group: str, other: str) -> None:
    for key in [key async for key in chunks.list_prefix(f"{group}/")]:
        content = await chunks.get(key, default_buffer_prototype())
        assert content is not None
        await chunks.set(key.replace(group, other, 1), content)


def _seconds(store: str) -> list[float]:
    """Seconds of each link at a new server, one after the other."""
    with production_server(store, None, "--workers=1") as address:
        asked = [("/store", ""), ("/models", ""), *(("/models", link) for link in LINKS)]
        return [_page(address, path, search) for path, search in asked]


def _page(address: str, path: str, search: str) -> float:
    form = urlencode({"pathname": path, "search": search, "snapshot": ""}).encode()
    began = time.perf_counter()
    with urlopen(f"{address}/data/page", form) as answer:
        answer.read()
    return time.perf_counter() - began

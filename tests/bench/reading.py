"""Speed of reading a store, against a memmap of the same numbers."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from store import open_corpus
from tests.bench.synthetic import temporary_store
from tests.bench.table import show

ROUNDS = 7
Files = Sequence[Path]


def reads(*, layers: int, heads: int, channels: int, tokens: int) -> None:
    """Print milliseconds to read one head of all tokens, and all heads of one sentence: store and memmap, warm."""
    store = temporary_store(layers=layers, heads=heads, channels=channels, tokens=tokens)
    corpus = open_corpus(store)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "query.npy"
        flat = np.lib.format.open_memmap(path, "w+", np.float16, (layers, heads, corpus.query.sizes["token"], channels))
        for layer in range(layers):
            flat[layer] = corpus.query[layer].values
        flat.flush()
        del flat
        os.sync()
        files = [path, *(file for file in Path(store).rglob("*") if file.is_file())]
        sentence = corpus.sentence_rows(100)
        mapped = np.load(path, mmap_mode="r")
        rows = [
            _row(
                "one head, all tokens, cold",
                lambda: corpus.query[3, 7].values,
                lambda: np.array(np.load(path, mmap_mode="r")[3, 7]),
                files,
            ),
            _row(
                "one sentence, all heads, cold",
                lambda: corpus.query[:, :, sentence].values,
                lambda: np.array(np.load(path, mmap_mode="r")[:, :, sentence]),
                files,
            ),
            _row("one head, all tokens", lambda: corpus.query[3, 7].values, lambda: np.array(mapped[3, 7])),
            _row(
                "one sentence, all heads",
                lambda: corpus.query[:, :, sentence].values,
                lambda: np.array(mapped[:, :, sentence]),
            ),
            _row("pattern of one sentence, one head", lambda: corpus.pattern(100, layer=3, head=7).values, None),
            _row("open the store", lambda: open_corpus(store), None),
        ]
    shutil.rmtree(Path(store).parent)
    show(
        f"Reading, {layers}x{heads}x{channels} heads, {corpus.n_tokens:,} tokens, medians of {ROUNDS}",
        ("", "store", "memmap", "ratio"),
        rows,
    )


def _row(
    name: str, ours: Callable[[], object], theirs: Callable[[], object] | None, files: Files = ()
) -> tuple[str, ...]:
    store = _milliseconds(ours, files)
    if theirs is None:
        return name, f"{store:.1f} ms", "", ""
    memmap = _milliseconds(theirs, files)
    return name, f"{store:.1f} ms", f"{memmap:.2f} ms", f"{store / memmap:.1f}"


def _milliseconds(work: Callable[[], object], files: Files) -> float:
    """Median milliseconds of some rounds; before each round the `files` are dropped from memory."""
    work()
    times = []
    for _ in range(ROUNDS):
        forget(files)
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return median(times)


def forget(files: Files) -> None:
    """Drop the files from the page cache."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)

"""How long a reader waits for every statistic of every head over a part of the corpus."""

import shutil
import time
from pathlib import Path
from statistics import median

from dashboard.heads.part import part_means, part_of
from store import STATISTICS, Corpus, open_corpus
from tests.bench.reading import forget
from tests.bench.synthetic import temporary_store
from tests.bench.table import show

ROUNDS = 5
#: Parts as a link gives them; statistics do not depend on the channels.
PARTS = {
    "reviews with one label": "label:negative",
    "sentences of 10 to 30 tokens": "sentence_length:10..30",
    "words": "kind:word",
    "wordpieces that occur 2 to 99 times": "frequency_band:2%20to%209%20times|10%20to%2099%20times",
    "words in short sentences of one label": "label:negative;sentence_length:..20;kind:word",
    "all tokens but [CLS]": "position:1..",
}
CHANNELS = 8


def recomputed(sizes: tuple[int, ...]) -> None:
    """Filter and recompute, on stores of 12x12 heads with so many tokens; tables are printed."""
    for tokens in sizes:
        place = temporary_store(layers=12, heads=12, channels=CHANNELS, tokens=tokens)
        corpus = open_corpus(place)
        rows = [_row(place, name, where) for name, where in PARTS.items()]
        shutil.rmtree(Path(place).parent)
        numbers = f"{len(STATISTICS)} statistics of {corpus.layers * corpus.heads} heads"
        show(
            f"Filter and recompute {numbers}, {corpus.n_tokens:,} tokens, medians of {ROUNDS}",
            ("part", "tokens", "filter", "recompute", "both", "both, for the first reader, from the disk"),
            rows,
        )


def _row(place: str, name: str, where: str) -> tuple[str, ...]:
    forget([file for file in Path(place).rglob("*") if file.is_file()])
    first = sum(_seconds(open_corpus(place), where))
    times = [_seconds(_opened(place), where) for _ in range(ROUNDS)]
    tokens = part_of(open_corpus(place), where).tokens
    parts = (*(median(each) for each in zip(*times, strict=True)), median(map(sum, times)), first)
    return name, f"{tokens:,}", *(f"{1000 * each:,.0f} ms" for each in parts)


def _opened(place: str) -> Corpus:
    """As a server has it that has answered somebody before, but about nothing of this."""
    corpus = open_corpus(place)
    part_of(corpus, "position:0..0;frequency:1..1;sentence_length:1..1;label:positive")
    return corpus


def _seconds(corpus: Corpus, where: str) -> tuple[float, float]:
    began = time.perf_counter()
    part = part_of(corpus, where)
    found = time.perf_counter()
    part_means(corpus, part)
    return found - began, time.perf_counter() - found

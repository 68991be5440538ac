"""Time of the statistics of heads: in an ingest, and for a reader who requests them over a part of the corpus."""

import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from dashboard.statistics.parts import count, part_of
from ingest.encode.encoder import open_encoder
from ingest.encode.loading import find_device, find_dtype
from ingest.encode.sample import take_sample
from ingest.encode.tensors import encode_corpus
from ingest.heads.divergence import update_divergence, write_intervals
from ingest.pipeline import model_group
from ingest.run.checkpoint import find_checkpoint
from ingest.run.settings import Settings
from ingest.text.corpus import prepare_corpus
from ingest.text.reviews import find_data
from store import STATISTICS, Corpus, open_corpus
from store.repository.writer import open_writer
from tests.bench.ingest import timed
from tests.bench.reading import forget
from tests.bench.synthetic import temporary_store
from tests.bench.table import show

ROUNDS = 5
#: Parts of a corpus by name, in the form of a link.
PARTS = {
    "reviews with one label": "label:negative",
    "sentences of 10 to 30 tokens": "sentence_length:10..30",
    "words": "kind:word",
    "wordpieces that occur 2 to 99 times": "frequency_band:2%20to%209%20times|10%20to%2099%20times",
    "words in short sentences of one label": "label:negative;sentence_length:..20;kind:word",
    "all tokens but [CLS]": "position:1..",
}
CHANNELS = 8


def computed(defaults: Settings) -> None:
    """Run the stages of an ingest that compute statistics, once each, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(defaults, store=f"{folder}/store")
        checkpoint, device = find_checkpoint(settings.model), find_device(settings.device)
        dtype = find_dtype(settings.dtype, device)
        encoder = open_encoder(checkpoint, settings, device, dtype)
        with open_writer(settings.store) as writer:
            corpus = prepare_corpus(writer, settings, find_data(settings.data), checkpoint)
            group, sample = model_group(checkpoint, corpus, dtype=str(dtype)), take_sample(corpus)
            tensors = timed(lambda: encode_corpus(writer, group, corpus, corpus.blocks, encoder))
            intervals = timed(lambda: write_intervals(writer, group, corpus, seed=0))
            divergence = timed(lambda: update_divergence(writer, group, corpus, sample, str(device), 0))
    measured = sample.tokens if device.type == "cpu" else corpus.tokens
    rows = [
        ("tensors", f"{corpus.tokens:,}", f"{tensors:.1f} s", f"{corpus.tokens / tensors:,.0f} tokens/s"),
        ("intervals", f"{corpus.tokens:,}", f"{intervals:.1f} s", f"{corpus.tokens / intervals:,.0f} tokens/s"),
        ("divergence", f"{measured:,}", f"{divergence:.1f} s", f"{measured / divergence:,.0f} tokens/s"),
    ]
    show(f"Statistics in an ingest: {checkpoint.name}, {device.type}", ("stage", "tokens", "time", "rate"), rows)


def recomputed(sizes: tuple[int, ...]) -> None:
    """Filter and recompute on stores of 12x12 heads with these numbers of tokens, and print tables."""
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
    """A corpus as in a warm server: the filters have their columns, and nothing is counted."""
    corpus = open_corpus(place)
    part_of(corpus, "position:0..0;frequency:1..1;sentence_length:1..1;label:positive")
    return corpus


def _seconds(corpus: Corpus, where: str) -> tuple[float, float]:
    began = time.perf_counter()
    part = part_of(corpus, where)
    middle = time.perf_counter()
    count(corpus, part, lambda _: None)
    return middle - began, time.perf_counter() - middle

"""Seconds that words, their grammar and relations add to an ingest: `python -m tests.bench words`."""

import tempfile
import time
from dataclasses import replace

from ingest import pipeline
from ingest.run.settings import NONE, Settings
from store import Corpus, open_corpus
from tests.bench.table import show


def words(defaults: Settings) -> None:
    """Annotate a store whose model has been run, so that only the stages of words run, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(defaults, store=f"{folder}/store", annotate=NONE)
        before, _ = ingested(settings)
        added, corpus = ingested(replace(settings, annotate=defaults.annotate))
        pairs = int(corpus.relations.pairs[:, 0].sum())
        title = f"Words: {corpus.attributes['model_id']}, {corpus.n_sentences:,} sentences, {corpus.n_tokens:,} tokens"
        heads = corpus.layers * corpus.heads
        rows = [
            ("sentences, vectors, statistics and one picture", f"{before:.0f} s"),
            (f"{len(corpus.words):,} words, and {pairs:,} pairs counted for {heads} heads", f"{added:.0f} s"),
        ]
        show(title, ("", "added"), rows)


def ingested(settings: Settings) -> tuple[float, Corpus]:
    """Seconds of an ingest, and the corpus that it made."""
    begun = time.perf_counter()
    pipeline.run(settings)
    return time.perf_counter() - begun, open_corpus(settings.store)

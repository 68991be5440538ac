"""Cost of a token with and without vectors, and differences between intervals from sums and from the bootstrap."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from store import Corpus, open_corpus
from store.schema import BLOCK
from tests.bench.ingest import WholeIngest, whole_ingest
from tests.bench.table import show

#: Sources whose rows every sentence has.
SOURCES = ["all", "word", "other"]


def vectors(sentences: int, more: int, tokens: int) -> None:
    """Compare three whole ingests: all vectors of few sentences, one block of these, and `tokens` of `more` sentences.

    A store has bytes of its own, bytes for each token, and more for each row of a block with vectors: three equations.
    """
    folder = Path(tempfile.mkdtemp())
    flags = [(sentences, "all"), (sentences, "1"), (more, str(tokens))]
    places = [folder / name for name in ("all", "one", "more")]
    runs = [
        whole_ingest(place, f"--sentences={count}", f"--vectors={kept}")
        for place, (count, kept) in zip(places, flags, strict=True)
    ]
    opened = [open_corpus(str(place)) for place in places]
    rows = [_row(run, corpus, kept) for run, corpus, (_, kept) in zip(runs, opened, flags, strict=True)]
    columns = ("VECTORS", "sentences", "tokens", "of these with vectors", "time", "CPU time", "peak memory", "store")
    show("Whole ingest, default model and data, two pictures, no feature points", columns, rows)
    _of_a_token(runs, opened)
    _intervals(*opened[:2])
    shutil.rmtree(folder)


def _row(run: WholeIngest, corpus: Corpus, kept: str) -> tuple[str, ...]:
    return (
        kept,
        f"{corpus.counted_sentences:,}",
        f"{corpus.counted_tokens:,}",
        f"{corpus.n_tokens:,}",
        f"{run.seconds:.0f} s",
        f"{run.cpu_seconds:.0f} s",
        f"{run.peak_mb:,.0f} MB",
        f"{run.bytes / 1e6:,.1f} MB",
    )


def _of_a_token(runs: list[WholeIngest], opened: list[Corpus]) -> None:
    rows_stored = [-(-int(corpus.rows[-1] + 1) // BLOCK) * BLOCK for corpus in opened]
    sizes = np.array([(1, corpus.counted_tokens, rows) for corpus, rows in zip(opened, rows_stored, strict=True)])
    costs = np.array([(run.bytes, run.cpu_seconds) for run in runs])
    (own, counted, stored) = np.linalg.solve(sizes, costs)
    rows = [
        ("a store of no token", f"{own[0] / 1e6:,.1f} MB", f"{own[1]:,.0f} s"),
        ("a token without vectors", f"{counted[0]:,.0f} bytes", _rate(counted)),
        ("a token with vectors", f"{counted[0] + stored[0]:,.0f} bytes", _rate(counted + stored)),
    ]
    show("A token of those ingests", ("", "store", "CPU time"), rows)


def _rate(costs: NDArray[np.float64]) -> str:
    return f"{1 / costs[1]:,.0f} tokens per second"


def _intervals(bootstrap: Corpus, sums: Corpus) -> None:
    """Print how far the ends of both intervals of the same sentences are apart, in widths of the bootstrap's interval."""
    rows = []
    for name, title in (("head_interval", "heads"), ("layer_interval", "layers")):
        some, every = (getattr(corpus, name).sel(source=SOURCES) for corpus in (sums, bootstrap))
        widths = [end.sel(bound="high") - end.sel(bound="low") for end in (some, every)]
        wide = widths[1].where(widths[1] > 1e-9)
        off = (abs(some - every) / wide).values
        rows.append(
            (
                title,
                f"{np.isfinite(off).sum():,}",
                f"{np.nanmean(off):.1%}",
                f"{np.nanpercentile(off, 95):.1%}",
                f"{np.nanmax(off):.1%}",
                f"{float((widths[0] / wide).mean()):.3f}",
            )
        )
    columns = ("intervals of", "ends", "mean distance", "95th percentile", "largest", "width, ratio")
    show(
        f"Ends of intervals from sums, in widths of the bootstrap's, {bootstrap.n_sentences:,} sentences", columns, rows
    )

"""Any number of reviews of random words, as a Parquet file: the packaged reviews have only 7 million tokens."""

import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.run.checkpoint import EMBEDDED_PACKAGE
from ingest.run.files import package_folder

#: Most words of a sentence and most sentences of a review; both are drawn uniformly, from 4 and from 1.
WORDS, SENTENCES = 38, 22
ROWS_AT_ONCE = 2_000
LABELS = ("negative", "positive")


def write_random_reviews(path: Path, *, sentences: int, seed: int = 0) -> Path:
    """Write at least `sentences` sentences, in whole reviews with labels; the frequency of a word is as 1 / its rank."""
    schema = pa.schema([("text", pa.large_string()), ("label", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for rows in _rows(sentences, random.Random(seed)):
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return path


def _rows(sentences: int, choose: random.Random) -> Iterator[list[dict[str, str]]]:
    words = _words()
    odds = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    rows: list[dict[str, str]] = []
    while sentences > 0:
        count = choose.randint(1, SENTENCES)
        lengths = [choose.randint(4, WORDS) for _ in range(count)]
        text = " ".join(_sentence(choose.choices(words, cum_weights=odds, k=length)) for length in lengths)
        rows.append({"text": text, "label": choose.choice(LABELS)})
        sentences -= count
        if len(rows) == ROWS_AT_ONCE or sentences <= 0:
            yield rows
            rows = []


def _sentence(words: list[str]) -> str:
    return f"{' '.join(words).capitalize()}."


def _words() -> list[str]:
    """Whole English words of the packaged model, the most frequent first."""
    pieces = (package_folder(EMBEDDED_PACKAGE) / "model" / "vocab.txt").read_text("utf-8").split("\n")
    return [piece for piece in pieces if piece.isascii() and piece.isalpha() and len(piece) > 1]

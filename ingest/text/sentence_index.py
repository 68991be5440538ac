"""Which review holds which sentence of the data, kept beside the converted tables: to split all reviews takes longer than anything before the first picture.

Another budget, or another model, then splits only the reviews that its sentences are of. What is found is compared with
the index, so that a damaged one, or one of other reviews, costs time and nothing else.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.text.blocks import short_key
from ingest.text.sentences import Sentence
from ingest.text.table import cache_folder, new_file

#: Hash of a sentence, and the first review that holds it.
ENTRY = np.dtype([("hash", "<u8"), ("document", "<i4")])
#: So many sentences at most have an index: it takes 12 bytes of each, and four times that while it is made.
MOST = 1 << 23

Entries = NDArray[np.void]


def index_file(data: str, *, text: str, splitter: str, seed: int) -> Path:
    """The place of the index of the data with this identity."""
    identity = {"data": data, "text_column": text, "splitter": splitter, "seed": seed}
    return cache_folder() / f"{short_key('sentences', identity)}.index"


def entries_of(sentences: Iterable[Sentence]) -> Entries:
    """An entry for each sentence, in their order."""
    return np.array([(sentence.hash, sentence.document) for sentence in sentences], ENTRY)


def read_index(file: Path) -> Entries | None:
    """Entries by ascending hash; None where there are none that can be read."""
    with suppress(OSError, ValueError):
        return np.memmap(file, ENTRY, mode="r")
    return None


def write_index(file: Path, parts: Sequence[Entries]) -> None:
    """Write the index of all reviews, whose sentences are given in their order."""
    if not 0 < sum(map(len, parts)) <= MOST:
        return
    entries = np.concatenate(parts)
    _, first = np.unique(entries["hash"], return_index=True)
    # Nothing but time is lost without it, so that a full disk does not end the ingest.
    with suppress(OSError), new_file(file) as unfinished:
        entries[first].tofile(unfinished)

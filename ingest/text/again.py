"""The data of a store once more, after its ingest: the same reviews, and those among them that have some words."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest.run.errors import IngestError
from ingest.run.settings import parse_first
from ingest.text.reviews import Reviews, find_data, read_reviews
from store import Corpus

#: Characters of the text of a review that stand before the first word that was found, and that are shown.
BEFORE, SHOWN = 40, 160
#: What a page breaks lines by.
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def stored_reviews(corpus: Corpus) -> Reviews:
    """The reviews of the data that a corpus is of, with their labels numbered as there.

    Raises
    ------
    IngestError
        Where the data is no longer there, or is other data.
    """
    provenance = corpus.attributes.get("provenance", {})
    known, settings = provenance.get("data"), provenance.get("settings", {})
    if not known:
        raise IngestError("The store does not say where its data is. Run `headscape ingest`.")
    identity, first = str(known["identity"]), known.get("first")
    data = find_data(
        settings["data"],
        split=settings.get("data_split"),
        first=first and parse_first(str(first)),
        held=lambda: [identity],
    )
    if data.identity != identity:
        raise IngestError(f"{data.name} is not the data that the store was made of. Put that data back.")
    return read_reviews(data, text=settings["text"], label=settings["label"]).numbered_as(list(corpus.label_names))


def find_reviews(reviews: Reviews, words: Sequence[str]) -> NDArray[np.int64]:
    """Indices of the reviews that have all of the words, also within words, in any order and case."""
    texts = reviews.table.columns.column(reviews.text)
    has_all = pa.chunked_array([pa.array(np.ones(len(texts), bool))])
    for word in words:
        has_all = pc.and_(has_all, pc.match_substring(texts, word, ignore_case=True))
    return np.flatnonzero(pc.fill_null(has_all, False).to_numpy())


def excerpt(text: str, words: Sequence[str]) -> str:
    """The text around the first place of any of the words, on one line."""
    line = " ".join(_BREAK.sub(" ", text).split())
    found = re.search("|".join(map(re.escape, words)), line, re.IGNORECASE)
    start = max(0, found.start() - BEFORE) if found else 0
    # Back to the beginning of a word; text without spaces has none nearby.
    start = line.rfind(" ", max(0, start - BEFORE), start) + 1 or (start if start > BEFORE else 0)
    return f"{'… ' if start else ''}{line[start : start + SHOWN]}{' …' if start + SHOWN < len(line) else ''}"

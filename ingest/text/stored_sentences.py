"""Whether a data set still gives the sentences that the store has of it: an older version may have read a file in another way."""

import numpy as np
import zarr

from ingest.run.errors import IngestError, short
from ingest.text.reviews import Reviews
from ingest.text.sentences import Sentence
from store.repository.arrays import array_of


def check_prefix(group: zarr.Group, sentences: list[Sentence], name: str) -> None:
    """Refuse sentences of which the stored ones of a corpus are not the first.

    Raises
    ------
    IngestError
        Where the store has others.
    """
    if "sentence_hash" not in group:
        return
    hashes = np.array([sentence.hash for sentence in sentences], np.uint64)
    stored = np.asarray(array_of(group, "sentence_hash")[: len(hashes)])
    if not np.array_equal(stored, hashes[: len(stored)]):
        raise _read_otherwise(name)


def check_texts(group: zarr.Group, reviews: Reviews, name: str) -> None:
    """Refuse annotated texts that are not those of the store under their numbers.

    Raises
    ------
    IngestError
        Where the store has others.
    """
    texts, documents = (np.asarray(array_of(group, array)[:]) for array in ("text", "document"))
    for text, document in zip(texts, documents.tolist(), strict=True):
        if document >= len(reviews) or reviews[document].text != text:
            raise _read_otherwise(name)


def _read_otherwise(name: str) -> IngestError:
    return IngestError(
        f"The store has other sentences of {short(name)} than the data gives now: an older version read it in another way. "
        "Give another --store."
    )

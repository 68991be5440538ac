"""Sentences of a store that an older version read otherwise from the same file are not mixed with today's."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import store
from ingest.run.errors import IngestError
from ingest.text.sentences import sentence_hash
from store.repository.arrays import array_of
from tests.stores import rewritten

Ingest = Callable[..., str]
OTHERWISE = r"has other sentences of \w+ than the data gives now.* Give another --store\.$"


def ingested_otherwise(ingest: Ingest, place: Path, **settings: object) -> None:
    """Ingest like a version that read the first of the sentences in another way."""
    now = store.open_corpus(ingest(place, **settings))
    with rewritten(place) as writer:
        group = writer.group(f"corpus/{now.attributes['corpus']}")
        array_of(group, "text")[:1] = np.array(["It was read in another way."], object)
        array_of(group, "sentence_hash")[:1] = np.array([1], np.uint64)


def test_a_store_of_other_sentences_does_not_grow(ingest: Ingest, tmp_path: Path) -> None:
    films = tmp_path / "films.txt"
    texts = [f"Film {number} was long." for number in range(5)]
    # The first is in every sample.
    films.write_text("\n".join(sorted(texts, key=lambda text: sentence_hash(text, seed=0))))
    ingested_otherwise(ingest, tmp_path / "store", data=films, sentences=3)
    with pytest.raises(IngestError, match=OTHERWISE):
        ingest(tmp_path / "store", data=films, sentences=5)


def test_words_are_not_taken_from_other_sentences(ingest: Ingest, tmp_path: Path) -> None:
    bank = tmp_path / "bank.conllu"
    bank.write_text("".join(f"1\tfilm{number}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for number in range(3)))
    ingested_otherwise(ingest, tmp_path / "store", data=bank, sentences=2, annotate="none")
    with pytest.raises(IngestError, match=OTHERWISE):
        ingest(tmp_path / "store", data=bank, sentences=2, annotate="auto")

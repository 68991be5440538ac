"""A store whose sentences were read from the same file in another way is not mixed with those of today."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.run.errors import IngestError
from ingest.text import corpus
from ingest.text.reviews import Reviews, read_reviews
from ingest.text.sentences import sentence_hash

Ingest = Callable[..., str]
OTHERWISE = r"has other sentences of \w+ than the data gives now.* Give another --store\.$"


def without_the_first(*arguments: Any, **settings: Any) -> Reviews:
    """The reviews as a version read them that left the first one out."""
    reviews = read_reviews(*arguments, **settings)
    return replace(reviews, table=replace(reviews.table, columns=reviews.table.columns.slice(1)))


def ingested_otherwise(ingest: Ingest, place: Path, **settings: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "read_reviews", without_the_first)
        ingest(place, **settings)


def test_a_store_of_other_sentences_does_not_grow(ingest: Ingest, tmp_path: Path) -> None:
    films = tmp_path / "films.txt"
    texts = [f"Film {number} was long." for number in range(5)]
    films.write_text(
        "\n".join(sorted(texts, key=lambda text: sentence_hash(text, seed=0)))
    )  # the first is in every sample
    ingested_otherwise(ingest, tmp_path / "store", data=films, sentences=3)
    with pytest.raises(IngestError, match=OTHERWISE):
        ingest(tmp_path / "store", data=films, sentences=5)


def test_words_are_not_taken_from_other_sentences(ingest: Ingest, tmp_path: Path) -> None:
    bank = tmp_path / "bank.conllu"
    bank.write_text("".join(f"1\tfilm{number}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for number in range(3)))
    ingested_otherwise(ingest, tmp_path / "store", data=bank, sentences=2, annotate="none")
    with pytest.raises(IngestError, match=OTHERWISE):
        ingest(tmp_path / "store", data=bank, sentences=2, annotate="auto")

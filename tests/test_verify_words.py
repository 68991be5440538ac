"""`headscape verify` finds words and relations that cannot be right."""

import shutil
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import store
from store import Corpus
from store.repository.arrays import array_of
from store.repository.writer import open_writer
from store.verify import verify
from store.verify_words import wrong_words

Change = Callable[[zarr.Group, zarr.Group, zarr.Group], None]


@pytest.fixture
def changed(bank_store: str, tmp_path: Path) -> Callable[[Change], str]:
    """A function that gives a copy of the store with a change."""

    def changed(change: Change) -> str:
        place = str(shutil.copytree(bank_store, tmp_path / "store"))
        corpus = store.open_corpus(place)
        with open_writer(place) as writer:
            paths = (
                f"corpus/{corpus.attributes['corpus']}/words",
                *(f"models/{corpus.name}/{g}" for g in ("words", "relations")),
            )
            change(*(writer.group(path) for path in paths))
            writer.publish("changed by a test")
        return place

    return changed


@pytest.fixture
def findings(changed: Callable[[Change], str]) -> Callable[[Change], list[str]]:
    """A function that gives verify's findings in a copy of the store with a change."""
    return lambda change: list(verify(store.open_snapshot(changed(change))))


def test_a_store_with_words_is_sound(bank_store: str) -> None:
    assert list(verify(store.open_snapshot(bank_store))) == []


def test_a_word_outside_of_its_sentence_is_found(findings: Callable[[Change], list[str]]) -> None:
    def change(words: zarr.Group, _strongest: zarr.Group, _relations: zarr.Group) -> None:
        array_of(words, "token_stop")[0] = 99

    assert any("wordpieces outside of its sentence" in finding for finding in findings(change))


def test_a_governor_outside_of_its_sentence_is_found(findings: Callable[[Change], list[str]]) -> None:
    def change(words: zarr.Group, _strongest: zarr.Group, _relations: zarr.Group) -> None:
        array_of(words, "governor")[0] = 99

    assert any("depends on a word outside" in finding for finding in findings(change))


@pytest.mark.parametrize("room", [1 << 22, 10])
def test_a_wrong_strongest_word_is_found(room: int, changed: Callable[[Change], str]) -> None:
    def change(_words: zarr.Group, strongest: zarr.Group, _relations: zarr.Group) -> None:
        array = array_of(strongest, "most_attended")
        array[0, 0, :4] = np.roll(np.asarray(array[0, 0, :4]), 1) + 1

    corpus = store.open_corpus(changed(change))
    assert any("strongest words of sentence 0" in finding for finding in wrong_words(corpus, [0], room=room))


class Asked:
    """A corpus that notes the dims of the patterns that are read."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.dims: set[tuple[Hashable, ...]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)

    def word_pattern(self, sentence: int, *, layer: int, head: int | None = None) -> xr.DataArray:
        pattern = self._corpus.word_pattern(sentence, layer=layer, head=head)
        self.dims.add(pattern.dims)
        return pattern


@pytest.mark.parametrize(
    ("room", "dims"), [(1 << 22, ("head", "query_word", "key_word")), (10, ("query_word", "key_word"))]
)
def test_words_of_a_long_sentence_are_checked_head_by_head(room: int, dims: tuple[str, ...], bank_store: str) -> None:
    corpus: Any = Asked(store.open_corpus(bank_store))
    assert list(wrong_words(corpus, [0, 1], room=room)) == []
    assert corpus.dims == {dims}


def test_a_wrong_count_is_found(findings: Callable[[Change], list[str]]) -> None:
    def change(_words: zarr.Group, _strongest: zarr.Group, relations: zarr.Group) -> None:
        array = array_of(relations, "linked")
        array[0, 0, 0, 0, 0] = int(np.asarray(array[0, 0, 0, 0, 0])) + 1

    assert any("counts of relations" in finding for finding in findings(change))

"""`headscape verify` finds words and relations that cannot be right."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import store
from store import Corpus, verify_words
from store.repository.arrays import array_of
from store.repository.writer import open_writer
from store.verify import verify
from store.verify_words import wrong_words

Change = Callable[[zarr.Group, zarr.Group, zarr.Group], None]


@pytest.fixture
def findings(bank_store: str, tmp_path: Path) -> Callable[[Change], list[str]]:
    """What verify says of a copy of the store in which something was changed."""

    def findings(change: Change) -> list[str]:
        place = str(shutil.copytree(bank_store, tmp_path / "store"))
        corpus = store.open_corpus(place)
        with open_writer(place) as writer:
            paths = (
                f"corpus/{corpus.attributes['corpus']}/words",
                *(f"models/{corpus.name}/{g}" for g in ("words", "relations")),
            )
            change(*(writer.group(path) for path in paths))
            writer.publish("changed by a test")
        return list(verify(store.open_snapshot(place)))

    return findings


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
def test_a_wrong_strongest_word_is_found(
    room: int, findings: Callable[[Change], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_words, "ROOM", room)

    def change(_words: zarr.Group, strongest: zarr.Group, _relations: zarr.Group) -> None:
        array = array_of(strongest, "most_attended")
        array[0, 0, :4] = np.roll(np.asarray(array[0, 0, :4]), 1) + 1

    assert any("strongest words of sentence 0" in finding for finding in findings(change))


def test_words_of_a_long_sentence_are_checked_head_by_head(bank_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, shapes = store.open_corpus(bank_store), set()
    whole = Corpus.word_pattern

    def seen(own: Corpus, sentence: int, *, layer: int | None = None, head: int | None = None) -> xr.DataArray:
        pattern = whole(own, sentence, layer=layer, head=head)
        shapes.add(pattern.dims)
        return pattern

    monkeypatch.setattr(Corpus, "word_pattern", seen)
    assert list(wrong_words(corpus, [0, 1])) == []
    assert shapes == {("head", "query_word", "key_word")}
    shapes.clear()
    monkeypatch.setattr(verify_words, "ROOM", 10)
    assert list(wrong_words(corpus, [0, 1])) == []
    assert shapes == {("query_word", "key_word")}


def test_a_wrong_count_is_found(findings: Callable[[Change], list[str]]) -> None:
    def change(_words: zarr.Group, _strongest: zarr.Group, relations: zarr.Group) -> None:
        array = array_of(relations, "linked")
        array[0, 0, 0, 0, 0] = int(np.asarray(array[0, 0, 0, 0, 0])) + 1

    assert any("counts of relations" in finding for finding in findings(change))

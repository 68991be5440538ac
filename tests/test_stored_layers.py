"""Arrays of a stored sentence, read layer by layer: equal to the store's arrays, and no other layer is read."""

from typing import Any

import numpy as np
import pytest

from dashboard.sentence.stored_layers import StoredLayers
from store import Corpus

INDICES: list[Any] = [0, (1, 1), (1, 0, 2), np.s_[:], np.s_[1:2, :, None, :], np.s_[:, :, 1:2]]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_that_of_the_array_in_the_store(index: Any, tiny_corpus: Corpus) -> None:
    whole = tiny_corpus.query[:, :, tiny_corpus.sentence_rows(3)].values.astype(np.float32)
    layers = StoredLayers(tiny_corpus, "query", 3)
    np.testing.assert_array_equal(layers[index], whole[index])
    np.testing.assert_array_equal(np.asarray(layers), whole)
    assert (layers.shape, len(layers)) == (whole.shape, len(whole))


def test_only_the_layer_that_is_needed_is_read(tiny_corpus: Corpus) -> None:
    read: list[int] = []

    def stored(corpus: Corpus, name: str, sentence: int, layer: int) -> Any:
        read.append(layer)
        return np.zeros((corpus.heads, 5, len(name), sentence))

    layers = StoredLayers(tiny_corpus, "value_norm", 3, stored)
    assert [layers[1].shape, layers[1:2].shape] == [(2, 5, 10, 3), (1, 2, 5, 10, 3)]
    assert read == [1, 1]

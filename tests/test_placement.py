"""A typed sentence has the places of equal tokens of the corpus in the picture of a head: checked with stored sentences."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from dashboard.points.distance import place_vectors
from dashboard.sentence.sentence import stored_sentence
from store import open_corpus
from store.repository.writer import open_writer


@pytest.mark.parametrize("sentence", [0, 7])
def test_a_stored_sentence_is_placed_where_the_ingest_put_it(rich_store: str, sentence: int) -> None:
    corpus = open_corpus(rich_store)
    rows, vectors = corpus.sentence_rows(sentence), stored_sentence(corpus, sentence)
    for view in corpus.views:
        stored = corpus.places(view, np.arange(rows.start, rows.stop), layer=1, head=0)
        placed = place_vectors(corpus, view, vectors.query[1, 0], vectors.key[1, 0], layer=1, head=0)
        np.testing.assert_allclose(placed, stored, atol=2e-4, err_msg=view)


def test_a_sentence_is_placed_in_a_picture_of_an_earlier_version(rich_store: str, tmp_path: Path) -> None:
    """Networks of the earlier version have one hidden layer: the places are out(swish(in(x))), within the cube."""
    place = str(shutil.copytree(rich_store, tmp_path / "store"))
    with open_writer(place) as writer:
        for name in ("weight_middle", "bias_middle"):
            writer.delete(f"models/{open_corpus(place).name}/views/attention-raw-2d/{name}")
        writer.publish("as it was written before")
    corpus = open_corpus(place)
    earlier = corpus.view("attention-raw-2d").load()
    sentence, own = stored_sentence(corpus, 3), earlier.isel(layer=1, head=0)
    expected = []
    for role, vectors in enumerate((sentence.query[1, 0], sentence.key[1, 0])):
        weight_in, bias_in, weight_out, bias_out = (
            own[name].values[role] for name in ("weight_in", "bias_in", "weight_out", "bias_out")
        )
        hidden = vectors @ weight_in + bias_in
        expected.append((hidden * expit(hidden) @ weight_out + bias_out - own.low.values) / float(own.side))
    placed = place_vectors(corpus, "attention-raw-2d", sentence.query[1, 0], sentence.key[1, 0], layer=1, head=0)
    np.testing.assert_allclose(placed, np.clip(np.stack(expected, axis=1), 0, 1), atol=1e-4)

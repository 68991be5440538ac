"""A typed sentence stands in the picture of a head where the corpus' own tokens would: checked with stored sentences."""

import numpy as np
import pytest

from dashboard.pictures.placement import place_sentence
from dashboard.sentence.sentence import stored_sentence
from store import open_corpus


@pytest.mark.parametrize("sentence", [0, 7])
def test_a_stored_sentence_is_placed_where_the_ingest_put_it(rich_store: str, sentence: int) -> None:
    corpus = open_corpus(rich_store)
    rows = corpus.sentence_rows(sentence)
    for view in corpus.views:
        stored = corpus.places(view, np.arange(rows.start, rows.stop), layer=1, head=0)
        placed = place_sentence(corpus, view, stored_sentence(corpus, sentence), layer=1, head=0)
        np.testing.assert_allclose(placed, stored, atol=2e-4, err_msg=view)

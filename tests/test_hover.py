"""The card of a point says what transformers' own attention says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dashboard.points.focus import point_card
from store import Corpus


@pytest.fixture
def pattern(tiny_corpus: Corpus, tiny_model: Path, eager: Callable[[Path], Any]) -> np.ndarray:
    """Attention of sentence 3 in L1 H0, from transformers."""
    ids = tiny_corpus.tokens.token_id.values[tiny_corpus.sentence_rows(3)]
    with torch.no_grad():
        attentions = eager(tiny_model)(torch.tensor(ids[None]).long(), output_attentions=True).attentions
    found: np.ndarray = attentions[1][0, 0].numpy()
    return found


def token_of(corpus: Corpus, sentence: int, position: int) -> int:
    return int(np.searchsorted(corpus.rows, corpus.sentence_rows(sentence).start + position))


def test_a_query_names_the_keys_it_attends_to_most(tiny_corpus: Corpus, pattern: np.ndarray) -> None:
    card = point_card(tiny_corpus, layer=1, head=0, role="query", token=token_of(tiny_corpus, 3, 2))
    assert card.position == 2
    assert card.partners[0].position == int(pattern[2].argmax())
    assert card.partners[0].weight == pytest.approx(pattern[2].max(), abs=3e-3)


def test_a_key_names_the_queries_that_attend_to_it_most(tiny_corpus: Corpus, pattern: np.ndarray) -> None:
    card = point_card(tiny_corpus, layer=1, head=0, role="key", token=token_of(tiny_corpus, 3, 1))
    assert card.partners[0].position == int(pattern[:, 1].argmax())
    assert card.received == pytest.approx(pattern[:, 1].sum(), abs=5e-3)


def test_a_card_shows_the_token_in_its_sentence(tiny_corpus: Corpus) -> None:
    card = point_card(tiny_corpus, layer=0, head=1, role="key", token=token_of(tiny_corpus, 5, 0))
    assert (card.sentence, card.wordpiece, card.wordpieces[-1]) == (5, "[CLS]", "[SEP]")

"""A typed sentence in two models: patterns of both, or one line on why not."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.compare.parts import deferred_typed
from dashboard.compare.sentences import typed_sentences
from dashboard.compare.two_models import ModelPair
from dashboard.sentence.encoder import Encoder, TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.web.context import Context, resolve
from dashboard.web.corpus_model import CorpusModel
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from tests.client import content, csv_rows


class HalfLoaded:
    """An encoder that runs every model but one."""

    is_running = True

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._encoder = Encoder()

    def encode(self, model: CorpusModel, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        """Encode a text; refuse it for the missing model."""
        if model.key == self._missing:
            raise Refusal(f"The model {model.model_id} cannot be loaded.", 503)
        return self._encoder.encode(model, text, second, has_left)


@pytest.fixture
def served_store(three_models: str) -> ServedStore:
    return ServedStore(three_models)


def typed(served_store: ServedStore, two: ModelPair) -> Context:
    return resolve(served_store, "/compare", f"?model={two.own.name}&other={two.other.name}&text=The+film+was+good.")


def test_both_models_have_a_pattern_of_the_typed_sentence(served_store: ServedStore, alike: ModelPair) -> None:
    shown = str(deferred_typed(typed(served_store, alike)))
    assert all(f"pattern-{which}" in shown for which in ("a", "b", "difference"))


def test_the_weights_of_a_typed_sentence_are_a_file(
    three_client: FlaskClient, served_store: ServedStore, alike: ModelPair
) -> None:
    shown = str(deferred_typed(typed(served_store, alike)))
    (link,) = re.findall(r"href='([^']*/typed/0/0\.csv[^']*)'", shown)
    rows = csv_rows(content(three_client, link))
    own, other = (TypedSentences().encode(model, "The film was good.") for model in (alike.own, alike.other))
    assert [row["query"] for row in rows[:: len(own.wordpieces)]] == list(own.wordpieces)
    for column, sentence in (("a", own), ("b", other)):
        weights = sentence.layer_pattern(0)[0].ravel()
        np.testing.assert_allclose([float(row[column]) for row in rows], weights, atol=1e-5)


def test_a_model_that_cannot_be_loaded_is_said_in_one_line(served_store: ServedStore, alike: ModelPair) -> None:
    served_store.put(TypedSentences, TypedSentences(HalfLoaded(alike.other.name)))
    (line,) = deferred_typed(typed(served_store, alike))
    assert f"The model {alike.other.attributes['model_id']} cannot be loaded." in str(line)


class Short(HalfLoaded):
    """An encoder in which one model has fewer positions than the others."""

    def encode(self, model: CorpusModel, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        """Encode a text; the model with fewer positions reads 60 wordpieces of it."""
        of_short = model.cut_at(min(60, model.max_length)) if model.key == self._missing else model
        return self._encoder.encode(of_short, text, second, has_left)


def test_both_models_read_as_many_wordpieces_of_a_long_text(served_store: ServedStore, alike: ModelPair) -> None:
    served_store.put(TypedSentences, TypedSentences(Short(alike.other.name)))
    both = typed_sentences(served_store, alike, "the film " * 50)
    assert [(len(each.wordpieces), each.cut) for each in both] == [(60, True), (60, True)]


def test_a_sentence_is_encoded_once_it_was_asked_for(alike: ModelPair) -> None:
    sentences = TypedSentences()
    assert not sentences.is_encoded(alike.own, "A film.")
    sentences.encode(alike.own, "A film.")
    assert sentences.is_encoded(alike.own, "A film.")

"""A typed sentence in two models: patterns of both, or one line on why not."""

from collections.abc import Callable

import pytest

from dashboard.compare.page import deferred_typed
from dashboard.compare.two_models import ModelPair
from dashboard.sentence.encoder import CorpusModel, Encoder, TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.web.context import Context, resolve
from dashboard.web.errors import Refusal
from dashboard.web.library import Library


class HalfLoaded:
    """Runs every model but one."""

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._encoder = Encoder()

    def encode(self, model: CorpusModel, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        """Refuses where the model is the missing one."""
        if model.key == self._missing:
            raise Refusal(f"The model {model.model_id} cannot be loaded.", 503)
        return self._encoder.encode(model, text, second, has_left)


@pytest.fixture
def library(three_models: str) -> Library:
    return Library(three_models)


def typed(library: Library, two: ModelPair) -> Context:
    return resolve(library, "/compare", f"?model={two.own.name}&other={two.other.name}&text=The+film+was+good.")


def test_both_models_have_a_pattern_of_the_typed_sentence(library: Library, alike: ModelPair) -> None:
    shown = str(deferred_typed(typed(library, alike)))
    assert all(f"pattern-{which}" in shown for which in ("a", "b", "difference"))


def test_a_model_that_cannot_be_loaded_is_said_in_one_line(library: Library, alike: ModelPair) -> None:
    library.put(TypedSentences, TypedSentences(HalfLoaded(alike.other.name)))
    (line,) = deferred_typed(typed(library, alike))
    assert f"The model {alike.other.attributes['model_id']} cannot be loaded." in str(line)


def test_a_sentence_is_encoded_once_it_was_asked_for(alike: ModelPair) -> None:
    sentences = TypedSentences()
    assert not sentences.is_encoded(alike.own, "A film.")
    sentences.encode(alike.own, "A film.")
    assert sentences.is_encoded(alike.own, "A film.")

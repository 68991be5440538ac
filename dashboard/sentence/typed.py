"""Sentences that a reader types, through the very model that the corpus was made with."""

from collections.abc import Callable
from typing import Protocol

from dashboard.sentence.encoder import MOST_CHARACTERS, CorpusModel, Encoder, check_words
from dashboard.sentence.sentence import Sentence
from dashboard.web.cache import CACHE
from store import Corpus


class Encodes(Protocol):
    """Runs the model: in this process (`Encoder`), or in the one that a server has for all its workers (`RemoteEncoder`)."""

    def encode(self, model: CorpusModel, text: str, second: str, gone: Callable[[], bool]) -> Sentence:
        """The encoded sentence, or a `Refusal`."""


class TypedSentences:
    """Encoded once, however many parts of a page ask for the same: the latest stay in the process' cache."""

    def __init__(self, encoder: Encodes | None = None) -> None:
        self._encoder = encoder or Encoder()

    def encode(self, corpus: Corpus, text: str, second: str = "", gone: Callable[[], bool] = lambda: False) -> Sentence:
        """The sentence, or the pair where there is a second one; cut where it is longer than the corpus' longest.

        `gone` tells whether the reader has left: nothing is computed for nobody. Whatever cannot be done is a `Refusal`.
        """
        asked = CorpusModel.of(corpus), _readable(text), _readable(second)
        check_words(bool(asked[1]), "")
        return CACHE.get(self, asked, lambda: self._encoder.encode(*asked, gone))


def _readable(text: str) -> str:
    """What is read of a text, and one character more if there is more; empty if it is blank.

    Half a surrogate pair, which JSON can hold and UTF-8 cannot, becomes a question mark.
    """
    return text[: MOST_CHARACTERS + 1].encode("utf-8", "replace").decode() if text.strip() else ""

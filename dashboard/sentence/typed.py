"""Sentences that a reader types, through the very model that the corpus was made with."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dashboard.problems import Refusal
from dashboard.recent import Recent
from dashboard.sentence.sentence import Sentence
from dashboard.turns import Turns
from store import Corpus

if TYPE_CHECKING:
    from ingest.checkpoint import Checkpoint
    from ingest.sentence_model import SentenceModel, Vectors
    from ingest.tokenizer import Tokens

#: Characters that are read of a text, and of the second of a pair.
MOST_CHARACTERS = 5_000
#: Checkpoints and sentences that are kept in a process, and readers who wait for a forward pass: fewer than the server
#: has threads, so that everybody else is still answered.
MODELS, SENTENCES, WAITING = 2, 32, 4
BUSY = "The server is busy with sentences of other readers. Try again in a few seconds."

log = logging.getLogger("headscape")


class TypedSentences:
    """Encodes what readers type: one forward pass at a time, the model loaded at the first."""

    def __init__(self, *, waiting: int = WAITING) -> None:
        self._turns = Turns(waiting, BUSY)
        self._models: Recent[SentenceModel] = Recent(MODELS)
        self._sentences: Recent[Sentence] = Recent(SENTENCES)

    def encode(self, corpus: Corpus, text: str, second: str = "", gone: Callable[[], bool] = lambda: False) -> Sentence:
        """The sentence, or the pair where there is a second one; cut where it is longer than the corpus' longest.

        `gone` says whether the reader has left: nothing is computed for nobody. Whatever cannot be done is a `Refusal`.
        """
        key = corpus.name, _readable(text), _readable(second)
        _check_words(bool(key[1]), "")
        return self._turns.kept(self._sentences, key, lambda: _encode(self._model(corpus), *key[1:]), gone)

    def _model(self, corpus: Corpus) -> "SentenceModel":
        return self._models.get(corpus.name, lambda: _load(corpus))


def _encode(model: "SentenceModel", text: str, second: str) -> Sentence:
    first, other = text[:MOST_CHARACTERS], second[:MOST_CHARACTERS]
    tokens, segment = model.tokenize(first, other)
    words = segment[tokens.word_index >= 0]
    _check_words(0 in words, "first " if other else "")
    _check_words(not other or 1 in words, "second ")
    vectors = _run(model, tokens, segment)
    return Sentence(
        text=first,
        second=other,
        label="",
        wordpieces=_wordpieces(model, tokens.token_id),
        flags=tokens.token_flags,
        word_index=tokens.word_index,
        segment=segment,
        query=vectors.query,
        key=vectors.key,
        value_norm=vectors.value_norm,
        mixing=vectors.mixing,
        cut=_is_cut(tokens, text, second),
    )


def _run(model: "SentenceModel", tokens: "Tokens", segment: NDArray[np.uint8]) -> "Vectors":
    try:
        return model.run(tokens, segment)
    except RuntimeError as error:  # torch's for whatever a device cannot do, such as having no memory left
        raise _cannot_run(error) from error


def _cannot_run(error: RuntimeError) -> Refusal:
    log.error("could not run a model", exc_info=error)
    said = "The model cannot run on this server now. Try again in a few seconds, or choose a sentence of the corpus."
    return Refusal(said, 503)


def _wordpieces(model: "SentenceModel", token_id: NDArray[np.int32]) -> tuple[str, ...]:
    return tuple(model.tokenizer.vocab[number] for number in token_id)


def _is_cut(tokens: "Tokens", *texts: str) -> bool:
    return bool(tokens.truncated[0]) or any(len(text) > MOST_CHARACTERS for text in texts)


def _readable(text: str) -> str:
    """What is read of a text, and one character more if there is more; empty if it is blank.

    Half a surrogate pair, which JSON can hold and UTF-8 cannot, becomes a question mark.
    """
    return text[: MOST_CHARACTERS + 1].encode("utf-8", "replace").decode() if text.strip() else ""


def _check_words(there: bool, which: str) -> None:
    if not there:
        raise Refusal(f"The {which}sentence has no word that the model can read. Type one, such as: The film was good.")


def _load(corpus: Corpus) -> "SentenceModel":
    from ingest.errors import IngestError
    from ingest.sentence_model import SentenceModel

    try:
        checkpoint = _find(corpus)
        return SentenceModel(checkpoint, max_length=int(corpus.corpus_attributes["max_length"]))
    except IngestError as error:
        log.warning("could not load %s: %s", corpus.name, error)  # it may name folders of the server
        raise Refusal(
            f"The model {_model_name(corpus)} cannot be loaded on this server, so nothing can be typed. "
            "Put its checkpoint back where it was, or run `make ingest` with one that is there.",
            503,
        ) from error
    except RuntimeError as error:
        raise _cannot_run(error) from error


def _find(corpus: Corpus) -> "Checkpoint":
    """The checkpoint the corpus was made with, and no other."""
    from ingest.checkpoint import find_checkpoint
    from ingest.errors import IngestError

    provenance = corpus.attributes.get("provenance", {})
    place = provenance.get("settings", {}).get("model")
    if place is None:
        raise IngestError("The store does not say where its model is.")
    found = find_checkpoint(place)
    stored = corpus.attributes["weights_sha256"], provenance["tokenizer_sha256"]
    if (found.weights_sha256, found.tokenizer_sha256) != stored:
        raise Refusal(
            f"The model {_model_name(corpus)} on this server is no longer the one this store was made with. "
            "Put that checkpoint back, or run `make ingest` again.",
            503,
        )
    return found


def _model_name(corpus: Corpus) -> str:
    return str(corpus.attributes["model_id"])

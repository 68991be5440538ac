"""The checkpoint that a corpus was made with: how the store names it, how it is found and loaded again, and one sentence run by it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboard.sentence.change import Change
from dashboard.sentence.sentence import Sentence
from dashboard.web.errors import Refusal
from store import Corpus
from store.process import missing_packages

if TYPE_CHECKING:
    from ingest.encode.hidden_words import GuessingModel
    from ingest.encode.hooked_model import Vectors
    from ingest.run.checkpoint import Checkpoint
    from ingest.text.tokenizer import Pair, Tokens

#: Most characters of a text, and of the second of a pair.
MOST_CHARACTERS = 5_000
log = logging.getLogger("headscape")


@dataclass(frozen=True)
class CorpusModel:
    """The checkpoint of a corpus, as the store names it; what the store does not know is None.

    Attributes
    ----------
    key, model_id
        Its key in the store, and its own name.
    source
        MODEL of the ingest.
    max_length
        Wordpieces of the longest sentence of the corpus.
    dtype
        The dtype of the matrix products.
    revision
        That of a model of the hub, which may have a newer one by now.
    """

    key: str
    model_id: str
    source: str | None
    weights_sha256: str
    tokenizer_sha256: str | None
    max_length: int
    dtype: str
    revision: str | None = None

    @classmethod
    def of(cls, corpus: Corpus) -> "CorpusModel":
        """That of an opened corpus."""
        provenance = corpus.attributes.get("provenance", {})
        return cls(
            key=corpus.name,
            model_id=corpus.title,
            source=provenance.get("settings", {}).get("model"),
            weights_sha256=str(corpus.attributes["weights_sha256"]),
            tokenizer_sha256=provenance.get("tokenizer_sha256"),
            max_length=int(corpus.corpus_attributes["max_length"]),
            dtype=str(corpus.attributes["dtype"]),
            revision=provenance.get("revision"),
        )


def runs_models() -> bool:
    """Whether the server was installed with what runs a model."""
    return not missing_packages("ingest")


def load(model: CorpusModel, make_model: "Callable[..., GuessingModel] | None" = None) -> "GuessingModel":
    """The model, ready to run; a `Refusal` where it is not there, or another one. `make_model` is by default `GuessingModel`."""
    _check_installed()
    from ingest.run.errors import IngestError

    try:
        checkpoint = _find(model)
        from ingest.encode.hidden_words import GuessingModel

        return (make_model or GuessingModel)(checkpoint, max_length=model.max_length, dtype=model.dtype)
    except IngestError as error:
        log.warning("could not load %s: %s", model.key, error)  # the message may name folders of the server
        raise Refusal(
            f"The model {model.model_id} cannot be loaded. Put its checkpoint back, or run `headscape ingest` with another one.",
            503,
        ) from error
    except RuntimeError as error:
        raise cannot_run(error) from error


def _check_installed() -> None:
    """Refuse where the server was installed without what runs a model."""
    if not runs_models():
        raise Refusal(
            "To encode a sentence this server needs PyTorch, which it lacks. "
            "Choose a sentence of the corpus with stored vectors, or install the extra `ingest` on the server.",
            503,
        )


def _find(model: CorpusModel) -> "Checkpoint":
    """The checkpoint the corpus was made with, and no other."""
    from ingest.run.checkpoint import find_checkpoint, is_commit
    from ingest.run.errors import IngestError

    if model.source is None:
        raise IngestError("The store does not say where its model is.")
    is_on_hub = is_commit(model.revision or "")
    checkpoint = find_checkpoint(f"{model.source.partition('@')[0]}@{model.revision}" if is_on_hub else model.source)
    if (checkpoint.weights_sha256, checkpoint.tokenizer_sha256) != (model.weights_sha256, model.tokenizer_sha256):
        raise Refusal(
            f"The checkpoint of {model.model_id} differs from the one this store was made with. Put that one back, or run "
            "`headscape ingest` again.",
            503,
        )
    return checkpoint


def cannot_run(error: RuntimeError) -> Refusal:
    """The `Refusal` of an error of torch, which it raises for whatever a device cannot do."""
    log.error("could not run a model", exc_info=error)
    return Refusal("The model cannot run now. Try again in a few seconds, or choose a sentence of the corpus.", 503)


def encoded(model: "GuessingModel", text: str, second: str, change: Change) -> Sentence:
    """A sentence, or a pair, by a loaded model whose heads may be changed; a `Refusal` where it cannot be encoded."""
    first, other = text[:MOST_CHARACTERS], second[:MOST_CHARACTERS]
    pair = model.tokenize(first, other)
    tokens = pair.tokens
    words = pair.segment[tokens.word_index >= 0]
    check_words(0 in words, "first " if other else "")
    check_words(not other or 1 in words, "second ")
    _check_vectors(model, tokens)
    vectors, hidden_loss = _run(model, pair, change)
    return Sentence(
        text=first,
        second=other,
        label="",
        wordpieces=tuple(model.tokenizer.vocab[number] for number in tokens.token_id),
        texts=tuple(map(model.tokenizer.piece_text, tokens.token_id.tolist())),
        flags=tokens.token_flags,
        word_index=tokens.word_index,
        segment=pair.segment,
        query=vectors.query,
        key=vectors.key,
        value_norm=vectors.value_norm,
        mixing=vectors.mixing,
        products=vectors.products,
        bias=model.bias and model.bias.within(len(tokens.token_id)),
        cut=bool(tokens.truncated[0]) or any(len(each) > MOST_CHARACTERS for each in (text, second)),
        last=vectors.last,
        answer=vectors.answer,
        answers=model.class_names,
        hidden_loss=hidden_loss,
    )


def _check_vectors(model: "GuessingModel", tokens: "Tokens") -> None:
    """Refuse a text with a wordpiece of the tokenizer that the model lacks."""
    if lacking := model.without_vector(tokens):
        raise Refusal(
            f"The model cannot encode this text: its embedding has no vector for the wordpiece {lacking[0]!r}. Type a text without it."
        )


def _run(model: "GuessingModel", pair: "Pair", change: Change) -> "tuple[Vectors, float | None]":
    """What the model makes of the sentence, and the loss of its hidden wordpieces where it is asked for and known."""
    try:
        vectors = model.run(pair.tokens, pair.token_type, change.patterns(len(pair.tokens.token_id)))
        return vectors, _hidden_loss(model, pair, change)
    except RuntimeError as error:  # torch's for whatever a device cannot do, such as having no memory left
        raise cannot_run(error) from error


def _hidden_loss(model: "GuessingModel", pair: "Pair", change: Change) -> float | None:
    if not (change.hidden and model.guesses):
        return None
    patterns = change.patterns(len(pair.tokens.token_id), hiding=True)
    return model.hidden_loss(pair, np.array(change.hidden), patterns)


def check_words(present: bool, which: str) -> None:
    """Refuse a text without words."""
    if not present:
        raise Refusal(f"The {which}sentence has no word. Type one, such as: The film was good.")

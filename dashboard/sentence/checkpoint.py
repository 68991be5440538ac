"""The checkpoint that a corpus was made with, loaded again, and one sentence run by it."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dashboard.sentence.change import Change
from dashboard.sentence.methods import MODEL_METHODS, Decomposed
from dashboard.sentence.sentence import Sentence
from dashboard.web.admission import Tell
from dashboard.web.corpus_model import CorpusModel, find_checkpoint, runs_models
from dashboard.web.errors import Refusal

if TYPE_CHECKING:
    from ingest.encode.capture import Capture
    from ingest.encode.hidden_words import GuessingModel
    from ingest.encode.hooked_model import Vectors
    from ingest.text.tokenizer import Pair, Tokens

#: Most characters of a text, and of the second of a pair.
MOST_CHARACTERS = 5_000
log = logging.getLogger("headscape")


def load(model: CorpusModel, make_model: "Callable[..., GuessingModel] | None" = None) -> "GuessingModel":
    """The model, ready to run; a `Refusal` where it is not there, or another one. `make_model` is by default `GuessingModel`."""
    _check_installed()
    from ingest.run.errors import IngestError

    try:
        checkpoint = find_checkpoint(model)
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


def cannot_run(error: RuntimeError) -> Refusal:
    """The `Refusal` of an error of torch, which it raises for whatever a device cannot do."""
    log.error("could not run a model", exc_info=error)
    return Refusal("The model cannot run now. Try again in a few seconds, or choose a sentence of the corpus.", 503)


def encoded(
    model: "GuessingModel", text: str, second: str, change: Change, tell: Tell = lambda _step: None
) -> Sentence:
    """A sentence, or a pair, by a loaded model whose heads may be changed; a `Refusal` where it cannot be encoded.

    `tell` is told the steps of what takes long.
    """
    first, other = text[:MOST_CHARACTERS], second[:MOST_CHARACTERS]
    pair = model.tokenize(first, other)
    tokens = pair.tokens
    words = pair.segment[tokens.word_index >= 0]
    check_words(0 in words, "first " if other else "")
    check_words(not other or 1 in words, "second ")
    _check_vectors(model, tokens)
    vectors, hidden_loss, found = _run(model, pair, change, tell)
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
        decomposed=found,
    )


def _check_vectors(model: "GuessingModel", tokens: "Tokens") -> None:
    """Refuse a text with a wordpiece of the tokenizer that the model lacks."""
    if lacking := model.without_vector(tokens):
        raise Refusal(
            f"The model cannot encode this text: its embedding has no vector for the wordpiece {lacking[0]!r}. Type a text without it."
        )


def _run(
    model: "GuessingModel", pair: "Pair", change: Change, tell: Tell
) -> "tuple[Vectors, float | None, Decomposed | None]":
    """What the model makes of the sentence, the loss of its hidden wordpieces where it is asked for and known, and what a method gives."""
    if change.method and (tokens := len(pair.tokens.token_id)) > MODEL_METHODS[change.method].longest:
        raise Refusal(too_long(change.method, tokens))
    try:
        patterns = change.patterns(len(pair.tokens.token_id))
        if change.method:
            capture = model.capture(pair.tokens, pair.token_type, patterns)
            return model.outputs(capture), None, _decomposed(model, capture, change.method, tell)
        vectors = model.run(pair.tokens, pair.token_type, patterns, products=change.products)
        return vectors, _hidden_loss(model, pair, change), None
    except RuntimeError as error:  # torch's for whatever a device cannot do, such as having no memory left
        raise cannot_run(error) from error


def _decomposed(model: "GuessingModel", capture: "Capture", method: str, tell: Tell) -> Decomposed:
    """What a method gives of the sentence of a pass; a `Refusal` of a model with other layers."""
    from ingest.encode.decomposition import decompose_answer, shares_by, traced
    from ingest.run.errors import IngestError

    title, count = MODEL_METHODS[method].title, model.hooked.layers
    try:
        layers = traced(model.hooked, capture)
    except IngestError as error:
        raise Refusal(str(error)) from error
    shares, parts = shares_by(layers, method, tell=lambda layer: tell(f"{title}, layer {layer + 1} of {count}"))
    if parts is None:
        return Decomposed(method, shares)
    answer = decompose_answer(model.hooked, parts) if model.class_names else None
    own = None if answer is None else answer.cpu().numpy()
    return Decomposed(method, shares, parts.mean(0).cpu().numpy(), own)


def too_long(method: str, tokens: int) -> str:
    """That a sentence is too long for a method."""
    known = MODEL_METHODS[method]
    return f"{known.title} is of at most {known.longest} tokens; this sentence has {tokens:,}. Choose a shorter one, or “what arrives (GlobEnc)”."


def _hidden_loss(model: "GuessingModel", pair: "Pair", change: Change) -> float | None:
    if not (change.hidden and model.guesses):
        return None
    patterns = change.patterns(len(pair.tokens.token_id), hiding=True)
    return model.hidden_loss(pair, np.array(change.hidden), patterns)


def check_words(present: bool, which: str) -> None:
    """Refuse a text without words."""
    if not present:
        raise Refusal(f"The {which}sentence has no word. Type one, such as: The film was good.")

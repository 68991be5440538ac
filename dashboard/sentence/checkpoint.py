"""The checkpoint that a corpus was made with, loaded again, and one sentence run by it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dashboard.sentence.change import Change
from dashboard.sentence.methods import DECOMPX, MODEL_METHODS, TOO_LONG_FOR, Decomposed
from dashboard.sentence.sentence import Sentence
from dashboard.web.admission import Tell
from dashboard.web.corpus_model import CorpusModel, find_checkpoint, runs_models
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.results import BUDGET, MOST_OF_BUDGET
from store import Corpus
from store.kernels.mixing import count_products
from store.schema.model import RATIOS

if TYPE_CHECKING:
    from ingest.encode.capture import Capture
    from ingest.encode.decomposition import Answer, TracedLayer
    from ingest.encode.hidden_words import GuessingModel
    from ingest.encode.hooked_model import Vectors
    from ingest.text.tokenizer import Pair, Tokens

#: Most characters of each text of a pair.
MOST_CHARACTERS = 5_000
#: Bytes of a sentence for each wordpiece, without its arrays: two texts, flags, word.
BESIDE_NUMBERS = 256
#: Requests to an encoder: a model, cut at a number of wordpieces, and the texts; `Changed` also has a change of heads.
Request = tuple[CorpusModel, str, str]
Changed = tuple[CorpusModel, str, str, Change]
log = logging.getLogger("headscape")


@dataclass(frozen=True, eq=False)
class Traced:
    """Arrays of a forward pass that a method needs, so that the method runs while the model encodes other sentences."""

    method: str
    layers: "Sequence[TracedLayer]"
    answer: "Answer | None"

    def decomposed(self, tell: Tell = lambda _step: None, has_left: Callable[[], bool] = lambda: False) -> Decomposed:
        """The numbers of the method. It tells its layer to `tell` many times, and raises `ReaderLeft` once `has_left` is true."""
        from ingest.encode.decomposition import decompose_answer, shares_by

        title, count = MODEL_METHODS[self.method].title, len(self.layers)

        def begin(layer: int) -> None:
            if has_left():
                raise ReaderLeft
            tell(f"{title}, layer {layer + 1} of {count}")

        try:
            shares, parts = shares_by(self.layers, self.method, tell=begin)
            if parts is None:
                return Decomposed(self.method, shares)
            answer = None if self.answer is None else decompose_answer(self.answer, parts)
            added = None if answer is None else answer.cpu().numpy()
            return Decomposed(self.method, shares, parts.mean(0).cpu().numpy(), added)
        except RuntimeError as error:
            raise cannot_run(error) from error


class Encoded(NamedTuple):
    """A sentence that the model has encoded, and the trace for the requested method; None where no method is requested."""

    sentence: Sentence
    traced: Traced | None


def longest_typed(corpus: Corpus, *, budget: int = BUDGET) -> int:
    """Most wordpieces of a typed text, if the model reads as many; never fewer than of the corpus' sentences.

    The cache holds the vectors of this many: a longer sentence would be encoded again for every part of a page.
    """
    vectors = 2 * corpus.layers * corpus.heads * corpus.query.sizes["channel"]
    of_layers = corpus.layers * (count_products(corpus.heads) + corpus.heads + len(RATIOS))
    last = corpus.heads * corpus.query.sizes["channel"]
    size = 4 * (vectors + of_layers + last) + BESIDE_NUMBERS
    return max(CorpusModel.of(corpus).max_length, int(MOST_OF_BUDGET * budget) // size)


def request_for(corpus: Corpus, text: str, second: str, most: int | None) -> Request:
    """The request to encode at most `most` wordpieces of a text; by default as many as of a typed text."""
    model = CorpusModel.of(corpus).cut_at(longest_typed(corpus) if most is None else most)
    return model, readable(text), readable(second)


def change_request(corpus: Corpus, sentence: Sentence, change: Change) -> Changed:
    """The request to encode a sentence with a change, cut at its own wordpieces: a corpus cuts sentences sooner than typed texts."""
    return (*request_for(corpus, sentence.text, sentence.second, len(sentence.wordpieces)), change)


def load(model: CorpusModel, make_model: "Callable[..., GuessingModel] | None" = None) -> "GuessingModel":
    """The model, ready to run; a `Refusal` where its checkpoint is missing or another one. `make_model`: by default `GuessingModel`."""
    _check_installed()
    from ingest.run.errors import IngestError

    try:
        checkpoint = find_checkpoint(model)
        from ingest.encode.hidden_words import GuessingModel

        longest = checkpoint.family.longest_input(checkpoint.config)
        return (make_model or GuessingModel)(checkpoint, max_length=longest, dtype=model.dtype)
    except IngestError as error:
        log.warning("could not load %s: %s", model.key, error)  # the message may name folders of the server
        raise Refusal(
            f"The model {model.model_id} cannot be loaded. Put its checkpoint back, or run `headscape ingest` with another one.",
            503,
        ) from error
    except RuntimeError as error:
        raise cannot_run(error) from error


def _check_installed() -> None:
    """Refuse on a server without PyTorch."""
    if not runs_models():
        raise Refusal(
            "To encode a sentence this server needs PyTorch, which it lacks. "
            "Choose a sentence of the corpus with stored vectors, or install the extra `ingest` on the server.",
            503,
        )


def cannot_run(error: RuntimeError) -> Refusal:
    """The `Refusal` for a RuntimeError of torch, which torch raises for whatever a device cannot do."""
    log.error("could not run a model", exc_info=error)
    return Refusal("The model cannot run now. Try again in a few seconds, or choose a sentence of the corpus.", 503)


def encoded(model: "GuessingModel", text: str, second: str, change: Change, *, most: int | None = None) -> "Encoded":
    """A sentence or a pair, encoded by a loaded model with a change of heads, cut at `most` wordpieces; or a `Refusal`."""
    first, other = text[:MOST_CHARACTERS], second[:MOST_CHARACTERS]
    pair = _tokenized(model, first, other, most)
    tokens = pair.tokens
    words = pair.segment[tokens.word_index >= 0]
    check_words(0 in words, "first " if other else "")
    check_words(not other or 1 in words, "second ")
    _check_vectors(model, tokens)
    vectors, hidden_loss, traced = _run(model, pair, change)
    sentence = Sentence(
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
    return Encoded(sentence, traced)


def _tokenized(model: "GuessingModel", first: str, second: str, most: int | None) -> "Pair":
    """Wordpieces of a sentence or a pair; a `Refusal` of a pair that the tokenizer lays out otherwise."""
    from ingest.run.errors import IngestError

    try:
        return model.tokenize(first, second, most=most)
    except IngestError as error:
        raise Refusal(str(error)) from error


def _check_vectors(model: "GuessingModel", tokens: "Tokens") -> None:
    """Refuse a text with a wordpiece of the tokenizer that the model lacks."""
    if lacking := model.without_vector(tokens):
        raise Refusal(
            f"The model cannot encode this text: its embedding has no vector for the wordpiece {lacking[0]!r}. Type a text without it."
        )


def _run(model: "GuessingModel", pair: "Pair", change: Change) -> "tuple[Vectors, float | None, Traced | None]":
    """Vectors of the sentence, the loss of its hidden wordpieces where it is requested and known, and the trace for a method."""
    if change.method:
        _check_length(model, change.method, len(pair.tokens.token_id))
    try:
        patterns = change.patterns(len(pair.tokens.token_id))
        if change.method:
            capture = model.capture(pair.tokens, pair.token_type, patterns)
            return model.outputs(capture), None, _traced(model, capture, change.method)
        vectors = model.run(pair.tokens, pair.token_type, patterns, products=change.products)
        return vectors, _hidden_loss(model, pair, change), None
    except RuntimeError as error:  # of torch, for whatever a device cannot do, such as out of memory
        raise cannot_run(error) from error


def _check_length(model: "GuessingModel", method: str, tokens: int) -> None:
    """Refuse a sentence that is too long for a method."""
    known, hooked = MODEL_METHODS[method], model.hooked
    most = known.longest(hooked.layers, hooked.heads * hooked.channels)
    if tokens > most:
        raise Refusal(TOO_LONG_FOR.format(known.title, most, tokens))


def _traced(model: "GuessingModel", capture: "Capture", method: str) -> "Traced":
    """The trace of a pass for a method; a `Refusal` of a model with other layers."""
    from ingest.encode.decomposition import Answer, traced
    from ingest.run.errors import IngestError

    try:
        layers = traced(model.hooked, capture)
    except IngestError as error:
        raise Refusal(str(error)) from error
    classifies = method == DECOMPX and bool(model.class_names)
    return Traced(method, layers, Answer.of(model.hooked, model.last_vectors(capture)) if classifies else None)


def _hidden_loss(model: "GuessingModel", pair: "Pair", change: Change) -> float | None:
    if not (change.hidden and model.guesses):
        return None
    patterns = change.patterns(len(pair.tokens.token_id), hiding=True)
    return model.hidden_loss(pair, np.array(change.hidden), patterns)


def check_words(present: bool, which: str) -> None:
    """Refuse a text without words."""
    if not present:
        raise Refusal(f"The {which}sentence has no word. Type one, such as: The film was good.")


def readable(text: str) -> str:
    """The part of a text that is read, with one more character of a longer text; empty for a blank text.

    A pair of surrogates, as in JSON of other programs, becomes its character. A lone surrogate, which UTF-8 cannot hold, becomes a
    question mark.
    """
    joined = text[: 2 * (MOST_CHARACTERS + 1)].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined[: MOST_CHARACTERS + 1].encode("utf-8", "replace").decode() if text.strip() else ""

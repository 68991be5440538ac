"""Forward passes of typed sentences, and of sentences without stored vectors, by the checkpoint that a corpus was made with."""

import logging
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from cachetools import LRUCache

from dashboard.sentence.sentence import Sentence, is_cut, stored_sentence
from dashboard.web.admission import Tell, Turns, current_tell, reader_left
from dashboard.web.context import Context, no_vectors
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.library import Library
from dashboard.web.results import current_cache
from dashboard.web.state import LinkState
from store import Corpus
from store.process import missing_packages

#: Most characters of a text, and of the second of a pair.
MOST_CHARACTERS = 5_000
#: Bytes of weights that stay loaded; at least one model.
WEIGHTS = 1 << 30
#: Most readers who wait for a forward pass.
WAITING = 8
BUSY = "The server is busy with other sentences. Try again in a few seconds."
WAITS = "Waiting for the model, which encodes another sentence"
UNLIKE = (
    "The tokenizer splits this sentence into other wordpieces than the store has. Run `headscape ingest --vectors=all`."
)
log = logging.getLogger("headscape")


if TYPE_CHECKING:
    from ingest.encode.hooked_model import SentenceModel, Vectors
    from ingest.run.checkpoint import Checkpoint
    from ingest.text.tokenizer import Pair, Tokens


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


class Encoder:
    """Encodes one sentence at a time; a model is loaded at the first. Nothing is cached here but models."""

    def __init__(self, *, waiting: int = WAITING, make: "Callable[..., SentenceModel] | None" = None) -> None:
        """`make`: of a checkpoint, by default `SentenceModel`, which takes seconds to import."""
        self._turns, self._make = Turns(waiting, BUSY, name="encoder"), make
        # In a thread of its own torch takes a fifth less time than in a new one for every sentence.
        self._thread = ThreadPoolExecutor(1, "encoder")
        self._models: LRUCache[CorpusModel, SentenceModel] = LRUCache(WEIGHTS, lambda loaded: min(loaded.size, WEIGHTS))

    @property
    def is_running(self) -> bool:
        """It runs in this process."""
        return True

    def encode(self, model: CorpusModel, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        """The sentence, or the pair where there is a second one; a `Refusal` where it cannot be encoded.

        `has_left` tells whether the reader has left; then nothing is computed.
        """
        tell = current_tell()
        tell(WAITS)
        with self._turns.turn(has_left):
            return self._thread.submit(lambda: self._encoded(model, text, second, tell)).result()

    def _encoded(self, model: CorpusModel, text: str, second: str, tell: Tell) -> Sentence:
        if model not in self._models:
            tell(f"Loading the model {model.model_id}")
            self._models[model] = _load(model, self._make)
        tell("Encoding the sentence")
        return _encode(self._models[model], text, second)


def _encode(model: "SentenceModel", text: str, second: str) -> Sentence:
    first, other = text[:MOST_CHARACTERS], second[:MOST_CHARACTERS]
    pair = model.tokenize(first, other)
    tokens = pair.tokens
    words = pair.segment[tokens.word_index >= 0]
    check_words(0 in words, "first " if other else "")
    check_words(not other or 1 in words, "second ")
    _check_vectors(model, tokens)
    vectors = _run(model, pair)
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
        cut=bool(tokens.truncated[0]) or any(len(each) > MOST_CHARACTERS for each in (text, second)),
    )


def _check_vectors(model: "SentenceModel", tokens: "Tokens") -> None:
    """Refuse a text with a wordpiece of the tokenizer that the model lacks."""
    if lacking := model.without_vector(tokens):
        raise Refusal(
            f"The model cannot encode this text: its embedding has no vector for the wordpiece {lacking[0]!r}. Type a text without it."
        )


def _run(model: "SentenceModel", pair: "Pair") -> "Vectors":
    try:
        return model.run(pair.tokens, pair.token_type)
    except RuntimeError as error:  # torch's for whatever a device cannot do, such as having no memory left
        raise _cannot_run(error) from error


def _cannot_run(error: RuntimeError) -> Refusal:
    log.error("could not run a model", exc_info=error)
    return Refusal("The model cannot run now. Try again in a few seconds, or choose a sentence of the corpus.", 503)


def check_words(present: bool, which: str) -> None:
    """Refuse a text without words."""
    if not present:
        raise Refusal(f"The {which}sentence has no word. Type one, such as: The film was good.")


def _load(model: CorpusModel, make: "Callable[..., SentenceModel] | None") -> "SentenceModel":
    _check_installed()
    from ingest.run.errors import IngestError

    try:
        checkpoint = _find(model)
        from ingest.encode.hooked_model import SentenceModel

        return (make or SentenceModel)(checkpoint, max_length=model.max_length, dtype=model.dtype)
    except IngestError as error:
        log.warning("could not load %s: %s", model.key, error)  # the message may name folders of the server
        raise Refusal(
            f"The model {model.model_id} cannot be loaded. Put its checkpoint back, or run `headscape ingest` with another one.",
            503,
        ) from error
    except RuntimeError as error:
        raise _cannot_run(error) from error


def _check_installed() -> None:
    """Refuse where the server was installed without what runs a model."""
    if missing_packages("ingest"):
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


class SentenceEncoder(Protocol):
    """Runs the model: in this process (`Encoder`), or in the one that a server has for all its workers (`RemoteEncoder`)."""

    @property
    def is_running(self) -> bool:
        """Whether what has loaded a model still runs: without requests it ends."""

    def encode(self, model: CorpusModel, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        """The encoded sentence, or a `Refusal`."""


class TypedSentences:
    """Encodes typed sentences; results are cached, as several parts of a page need the same one."""

    def __init__(self, encoder: SentenceEncoder | None = None) -> None:
        self._encoder = encoder or Encoder()
        self._loaded: set[CorpusModel] = set()

    @classmethod
    def of(cls, _library: Library) -> "TypedSentences":
        """Those of a library without an encoder process: encoded in this process."""
        return cls()

    def encode(
        self, corpus: Corpus, text: str, second: str = "", has_left: Callable[[], bool] = lambda: False
    ) -> Sentence:
        """The sentence, or the pair where there is a second one; cut where it is longer than the corpus' longest.

        `has_left` tells whether the reader has left; then nothing is computed. Raises a `Refusal` where encoding fails.
        """
        request = CorpusModel.of(corpus), _readable(text), _readable(second)
        check_words(bool(request[1]), "")
        return current_cache().get(self, request, lambda: self._encoded(*request, has_left))

    def encode_counted(self, corpus: Corpus, sentence: int, has_left: Callable[[], bool] = lambda: False) -> Sentence:
        """A sentence of the corpus whose vectors are not stored; as `encode` otherwise."""
        return current_cache().get(corpus, _key(sentence), lambda: self._counted(corpus, sentence, has_left))

    def _counted(self, corpus: Corpus, sentence: int, has_left: Callable[[], bool]) -> Sentence:
        text = corpus.counted_text(sentence)
        try:
            encoded = self._encoded(CorpusModel.of(corpus), _readable(text), "", has_left)
        except ReaderLeft:
            raise
        except Refusal as refusal:
            problem = f"sentence={sentence} {no_vectors(corpus.n_sentences)}. It cannot be encoded now: {refusal}"
            raise Refusal(problem, refusal.status) from refusal
        if list(encoded.wordpieces) != corpus.counted_wordpieces(sentence):
            raise Refusal(UNLIKE)
        cut = is_cut(corpus, len(encoded.wordpieces))
        return replace(encoded, text=text, label=corpus.label_name(sentence), cut=cut)

    def _encoded(self, model: CorpusModel, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        encoded = self._encoder.encode(model, text, second, has_left)
        self._loaded.add(model)
        return encoded

    def has_loaded(self, corpus: Corpus) -> bool:
        """Whether the model has encoded a sentence: the first waits until it is loaded."""
        return self._encoder.is_running and CorpusModel.of(corpus) in self._loaded

    def has_counted(self, corpus: Corpus, sentence: int) -> bool:
        """Whether `encode_counted` would answer at once."""
        return current_cache().find(corpus, _key(sentence)) is not None

    def is_encoded(self, corpus: Corpus, text: str, second: str = "") -> bool:
        """Whether `encode` would answer at once: the sentence is cached."""
        return current_cache().find(self, (CorpusModel.of(corpus), _readable(text), _readable(second))) is not None


def encodable_sentences(corpus: Corpus) -> int:
    """The first sentences that can be shown: those with vectors, or all where the server has what runs a model."""
    return corpus.n_sentences if missing_packages("ingest") else corpus.counted_sentences


def corpus_sentence(library: Library, corpus: Corpus, sentence: int) -> Sentence:
    """Any sentence that the model was run on: from its stored vectors, or encoded now where there are none."""
    if sentence < corpus.n_sentences or sentence >= corpus.counted_sentences:
        return stored_sentence(corpus, sentence)
    return library.get(TypedSentences).encode_counted(corpus, sentence, reader_left)


def shown_sentence(context: Context) -> Sentence:
    """The sentence of a page: the typed one, else one of the corpus."""
    return context.share("sentence", lambda: _sentence(context.library, context.corpus, context.state))


def has_no_vectors(corpus: Corpus, state: LinkState) -> bool:
    """Whether the sentence of a link is one of the corpus whose vectors are not stored."""
    return state.text is None and state.sentence >= corpus.n_sentences


def waits_for_model(typed: TypedSentences, corpus: Corpus, state: LinkState) -> bool:
    """Whether the sentence of a link is to be encoded, and the first of its model."""
    unstored = has_no_vectors(corpus, state)
    if not (state.text or unstored) or typed.has_loaded(corpus):
        return False
    if unstored:
        return not typed.has_counted(corpus, state.sentence)
    return not typed.is_encoded(corpus, state.text or "", state.second or "")


def _sentence(library: Library, corpus: Corpus, state: LinkState) -> Sentence:
    if state.text is None:
        return corpus_sentence(library, corpus, state.sentence)
    return library.get(TypedSentences).encode(corpus, state.text, state.second or "", reader_left)


def _key(sentence: int) -> Hashable:
    """The key of an encoded sentence of a corpus in the cache."""
    return "encoded sentence", sentence


def _readable(text: str) -> str:
    """The part of a text that is read, and one character more where it is longer; empty for a blank text.

    A lone surrogate, which JSON can hold and UTF-8 cannot, becomes a question mark.
    """
    return text[: MOST_CHARACTERS + 1].encode("utf-8", "replace").decode() if text.strip() else ""

"""What arrives at the tokens of a sentence, by methods that need the model: their numbers, or why a method cannot run.

The process that has the model computes them (`checkpoint.py`): a worker of the server has no torch.
"""

from dataclasses import replace

from flask import request

from dashboard.sentence.change import Change
from dashboard.sentence.encoder import UNLIKE, TypedSentences, corpus_sentence, shown_sentence, waits_for_model
from dashboard.sentence.methods import FAMILIES, MODEL_METHODS, TOO_LONG_FOR
from dashboard.sentence.sentence import Sentence
from dashboard.web.admission import reader_left
from dashboard.web.context import Context
from dashboard.web.corpus_model import CorpusModel, runs_models
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState, Rollout
from store import Corpus

#: Views without attention weights: they need no method.
_WITHOUT_WEIGHTS = ("neuron", "positions", "mixing")
_NO_TORCH = (
    "{} needs PyTorch, which this server lacks. Install the extra `ingest` on the server, or choose another method."
)
_NO_CHECKPOINT = "{} needs the model, and the store does not say where it is. Run `headscape ingest` with the model, or choose another method."
_OTHER_LAYERS = "{} holds for models with the layers of BERT, and this one is a {}. Choose “what arrives (GlobEnc)”."


def lacking(corpus: Corpus, sentence: Sentence, how: Rollout) -> str:
    """Why the method or rollout of a link cannot be computed, as a sentence; empty where it can."""
    return cannot_run(corpus, sentence, how) if how in MODEL_METHODS else sentence.lacks_rollout(how)


def cannot_run(corpus: Corpus, sentence: Sentence, method: str, *, has_torch: bool | None = None) -> str:
    """Why a method of the model cannot run on a sentence, as far as it is known without the model; empty where it can."""
    known, family = MODEL_METHODS[method], str(corpus.attributes["config"].get("model_type"))
    if family not in FAMILIES:
        return _OTHER_LAYERS.format(known.title, family)
    if not (runs_models() if has_torch is None else has_torch):
        return _NO_TORCH.format(known.title)
    if CorpusModel.of(corpus).source is None:
        return _NO_CHECKPOINT.format(known.title)
    tokens, most = len(sentence.wordpieces), known.longest(*_size(sentence))
    return TOO_LONG_FOR.format(known.title, most, tokens) if tokens > most else ""


def _size(sentence: Sentence) -> tuple[int, int]:
    """Numbers of layers and of features of the model."""
    layers, heads, _, channels = sentence.query.shape
    return layers, heads * channels


def decomposed(served_store: ServedStore, corpus: Corpus, sentence: Sentence, method: str) -> Sentence:
    """The sentence, encoded now by the model, with the numbers of a method. Raises a `Refusal` where the method cannot run."""
    if problem := cannot_run(corpus, sentence, method):
        raise Refusal(problem)
    encoded = served_store.service(TypedSentences).change(corpus, sentence, _by(method))
    if encoded.wordpieces != sentence.wordpieces:
        raise Refusal(UNLIKE)
    return encoded


def _by(method: str) -> Change:
    """The request for a method's numbers, without a change of heads."""
    return Change(products=False, method=method)


def requested_sentence(served_store: ServedStore, corpus: Corpus, index: int | None) -> Sentence:
    """The sentence of a request: one of the corpus, or the typed one."""
    if index is not None:
        return corpus_sentence(served_store, corpus, index)
    text, second = (request.args.get(name, "") for name in ("text", "second"))
    return served_store.service(TypedSentences).encode(corpus, text, second, reader_left)


def with_arrival(served_store: ServedStore, corpus: Corpus, sentence: Sentence, how: Rollout | None) -> Sentence:
    """The sentence with the numbers of the link's method; unchanged where no method needs the model."""
    if how is None or how not in MODEL_METHODS:
        return sentence
    return replace(sentence, decomposed=decomposed(served_store, corpus, sentence, how).decomposed)


def waits(context: Context) -> bool:
    """Whether the page waits for the model before it shows its sentence: to encode the sentence, or to run the link's method.

    It waits for a method where the model is not loaded yet, or where the method takes long on so long a sentence.
    """
    corpus, state = context.corpus, context.state
    typed = context.served_store.service(TypedSentences)
    if waits_for_model(typed, corpus, state):
        return True
    method = state.rollout if state.rollout in MODEL_METHODS else None
    if method is None or state.show in _WITHOUT_WEIGHTS:
        return False
    try:
        sentence = shown_sentence(context)
    except Refusal:
        return False  # the page says why
    is_long = len(sentence.wordpieces) > MODEL_METHODS[method].longest_at_once(*_size(sentence))
    waits_long = is_long and not typed.is_changed(corpus, sentence, _by(method))
    return (waits_long or not typed.has_loaded(corpus)) and not cannot_run(corpus, sentence, method)


def run_method(served_store: ServedStore, corpus: Corpus, sentence: Sentence, state: LinkState) -> None:
    """Run the method of a link, if it has one. Raises a `Refusal` where the method fails."""
    if state.rollout in MODEL_METHODS and state.show not in _WITHOUT_WEIGHTS:
        with_arrival(served_store, corpus, sentence, state.rollout)

"""A text by transformers' own objects, as a reader of a notebook has them: no store, no ingest, and nothing of theirs is changed.

The model is copied (`headscape.given_model`): new hooks and another kind of attention are the copy's alone.
Its weights are in float32, as those of a folder are loaded: small shares and products vanish in 16 bits, or overflow.
Hooks of the owner run as in any other pass. The tokenizer is read from a temporary folder, as that of a checkpoint.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dashboard.notebook.sentence import sentence_widget
from dashboard.notebook.widget import Widget
from dashboard.sentence.change import NO_CHANGE
from dashboard.sentence.checkpoint import MOST_CHARACTERS, encoded, readable
from dashboard.sentence.sentence import Sentence
from dashboard.web.errors import Refusal
from headscape.given_model import given_model
from ingest.encode.capture import NOTHING, Capture, Replaced
from ingest.encode.hidden_words import GuessingModel
from ingest.encode.loading import load_model
from ingest.run.checkpoint import LOCAL, Checkpoint
from ingest.run.errors import IngestError, short
from ingest.text.tokenizer import Tokens
from store.phrases import one

#: By how much a vocabulary may differ from the rows of the embedding.
SLACK, SHARE = 16, 0.02
#: Rows without a wordpiece, at least: many models fill the embedding up to a multiple of 128, or keep rows for new wordpieces.
SPARE = 127
#: Ids that a model and its tokenizer may both name.
IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")


def own_widget(
    found: Checkpoint | None,
    model: Any,
    tokenizer: Any = None,
    text: str = "",
    other: str | None = None,
    *,
    show: str = "head",
    layer: int = 0,
    heads: Sequence[int] | None = None,
    first: int = 0,
) -> Widget:
    """See `headscape.sentence`; `found` is the checkpoint where `model` is a folder or a name."""
    name, sentence = own_sentence(model, tokenizer, text, other, found)
    return sentence_widget(name, sentence, show=show, layer=layer, heads=heads, first=first)


def own_sentence(
    model: Any, tokenizer: Any, text: str, other: str | None, found: Checkpoint | None = None
) -> tuple[str, Sentence]:
    """The name of a model, and a text or a pair as it encodes them; see `own_widget`.

    Raises
    ------
    IngestError
        Where the model is of no family, the tokenizer is another model's, or the text has no word or too many.
    """
    with ready_model(model, tokenizer, found) as ready:
        return ready.checkpoint.name, encode_text(ready, text, other)


class OwnModel(GuessingModel):
    """A model that keeps what its last pass captured: what follows from more of it needs no second pass."""

    captured = Capture()

    def capture(self, tokens: Tokens, token_type: NDArray[np.uint8], replaced: Replaced = NOTHING) -> Capture:
        """See `SentenceModel.capture`."""
        self.captured = super().capture(tokens, token_type, replaced)
        return self.captured


@contextmanager
def ready_model(model: Any, tokenizer: Any, found: Checkpoint | None = None) -> Iterator[OwnModel]:
    """A model with its tokenizer, of a copy in float32 that shares its weights; `found` as in `own_widget`."""
    if found is None and tokenizer is None:
        raise IngestError(
            "A model object needs its tokenizer. Give what AutoTokenizer.from_pretrained returns, or a folder or a name."
        )
    with TemporaryDirectory(prefix="headscape-") as folder, _same_kernels():
        loaded, checkpoint = given_model(model) if found is None else (_loaded(found), found)
        if tokenizer is not None and not _same_name(tokenizer, model):
            checkpoint = _with_tokenizer(checkpoint, tokenizer, Path(folder))
        longest = checkpoint.family.longest_input(checkpoint.config)
        try:
            ready = OwnModel(checkpoint, max_length=longest, dtype="float32", loaded=loaded)
        except Refusal as refused:
            raise IngestError(str(refused)) from refused
        yield ready


def encode_text(ready: GuessingModel, text: str, other: str | None = None) -> Sentence:
    """A text or a pair as a model encodes it; raises as `own_sentence`."""
    _check_text("text", text)
    if other is not None:
        _check_text("other", other)
    try:
        sentence = encoded(ready, readable(text), readable(other or ""), NO_CHANGE).sentence
    except Refusal as refused:
        raise IngestError(str(refused)) from refused
    if sentence.cut:
        checkpoint = ready.checkpoint
        raise IngestError(
            f"The text is longer than {short(checkpoint.name)} reads: {checkpoint.family.longest_input(checkpoint.config)} wordpieces and "
            f"{MOST_CHARACTERS:,} characters at most. Give a shorter text."
        )
    return sentence


def _check_text(name: str, text: object) -> None:
    """Refuse what is no sentence; an empty `text` is refused later, where it has no word."""
    if not isinstance(text, str):
        raise IngestError(f"`{name}` is of type {type(text).__name__}. Give one sentence as a str.")
    if name == "other" and not text.strip():
        raise IngestError("`other` is empty. Give a second sentence, or leave `other` out.")


def _same_name(first: object, second: object) -> bool:
    """Whether both are one folder or name: objects are not compared, as a model given as its own tokenizer is an error."""
    return all(isinstance(each, str | Path) for each in (first, second)) and str(first) == str(second)


def _loaded(checkpoint: Checkpoint) -> Any:
    family = checkpoint.family
    return load_model(checkpoint, family.encoder_class, **family.encoder_options)


def _with_tokenizer(checkpoint: Checkpoint, tokenizer: Any, folder: Path) -> Checkpoint:
    """A checkpoint whose files are those of a tokenizer, saved to an empty folder."""
    if isinstance(tokenizer, str | Path):
        tokenizer = _tokenizer_named(str(tokenizer))
    if not hasattr(tokenizer, "save_pretrained") or not hasattr(tokenizer, "get_vocab"):
        raise IngestError(
            f"The tokenizer is {one(type(tokenizer).__name__)}, not one of transformers' tokenizers. "
            "Give what AutoTokenizer.from_pretrained returns."
        )
    _check_tokenizer(checkpoint.name, checkpoint.config, tokenizer)
    (folder / "config.json").write_text(json.dumps(checkpoint.config), "utf-8")
    tokenizer.save_pretrained(folder)
    return Checkpoint(checkpoint.name, folder, LOCAL, checkpoint.config, "", "")


def _tokenizer_named(name: str) -> Any:
    import transformers

    try:
        return transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except Exception as error:  # the hub's client and `tokenizers` let through whatever they meet
        raise IngestError(
            f"There is no tokenizer {short(name)!r} ({type(error).__name__}). Give a folder or a name that has one."
        ) from error


def _check_tokenizer(name: str, config: Mapping[str, Any], tokenizer: Any) -> None:
    """Refuse a tokenizer that is not the model's: of another size, or with other special tokens."""
    words, rows = len(tokenizer), int(config["vocab_size"])
    ids = [(which, config.get(which), getattr(tokenizer, which, None)) for which in IDS]
    other = next((each for each in ids if None not in each and each[1] != each[2]), None)
    fits = words - max(SLACK, SHARE * rows) <= rows <= words + max(SPARE, SHARE * rows)
    problem = "" if fits else f"{words:,} wordpieces, and the model {rows:,}"
    if not problem and other:
        problem = f"{other[0]} = {other[2]}, and the model {other[1]}"
    if problem:
        raise IngestError(
            f"The tokenizer is not that of {short(name)}: it has {problem}. Give the tokenizer that was saved with the model."
        )


@contextmanager
def _same_kernels() -> Iterator[None]:
    """Leave torch's choice of kernels as it was: a hooked model changes it."""
    before = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)

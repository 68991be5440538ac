"""A text by transformers' own objects, as a reader of a notebook has them: no store, no ingest, and nothing of theirs is changed.

The model is copied without its weights, which the copy shares: new hooks and another kind of attention are the copy's alone.
Weights of 16 bits are copied in float32, as those of a folder are loaded: small shares and products vanish in 16 bits, or overflow.
Hooks of the owner run as in any other pass. The tokenizer is read from a temporary folder, as that of a checkpoint.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from dashboard.notebook.sentence import sentence_widget
from dashboard.notebook.widget import Widget
from dashboard.sentence.change import NO_CHANGE
from dashboard.sentence.checkpoint import MOST_CHARACTERS, encoded, readable
from dashboard.sentence.sentence import Sentence
from dashboard.web.errors import Refusal
from ingest.encode.hidden_words import GuessingModel
from ingest.encode.loading import load_model
from ingest.run.checkpoint import LOCAL, Checkpoint, check_encoder
from ingest.run.errors import IngestError, short

#: By how much a vocabulary may differ from the rows of the embedding, which many models fill up to a multiple of 128.
SLACK, SHARE = 16, 0.02
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


@contextmanager
def ready_model(model: Any, tokenizer: Any, found: Checkpoint | None = None) -> Iterator[GuessingModel]:
    """A model with its tokenizer, of a copy in float32 that shares its weights; `found` as in `own_widget`."""
    if found is None and tokenizer is None:
        raise IngestError(
            "A model object needs its tokenizer. Give what AutoTokenizer.from_pretrained returns, or a folder or a name."
        )
    with TemporaryDirectory(prefix="headscape-") as folder, _same_kernels():
        loaded, checkpoint = _given(model) if found is None else (_loaded(found), found)
        if tokenizer is not None and tokenizer != model:
            checkpoint = _with_tokenizer(checkpoint, tokenizer, Path(folder))
        longest = checkpoint.family.longest_input(checkpoint.config)
        try:
            ready = GuessingModel(checkpoint, max_length=longest, dtype="float32", loaded=loaded)
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


def _loaded(checkpoint: Checkpoint) -> Any:
    family = checkpoint.family
    return load_model(checkpoint, family.encoder_class, **family.encoder_options)


def _given(model: Any) -> tuple[Any, Checkpoint]:
    """A copy of a model in float32, and its checkpoint without files."""
    model = model.get_base_model() if hasattr(model, "get_base_model") else model  # peft's, around transformers'
    if not hasattr(getattr(model, "config", None), "to_json_string"):
        raise IngestError(
            f"A {type(model).__name__} is no model of transformers. Give what from_pretrained returns, or a folder or a name."
        )
    config = json.loads(model.config.to_json_string(use_diff=False))
    name = Path(str(getattr(model, "name_or_path", ""))).name or type(model).__name__
    check_encoder(name, config)
    return _copy(model, name), Checkpoint(name, None, LOCAL, config, "", "")


def _copy(model: Any, name: str) -> Any:
    """The modules of a model anew, with its own tensors, but for those of 16 bits."""
    kept = (each for module in model.modules() for each in vars(module).values() if isinstance(each, Tensor))
    shared = {id(tensor): _exact(tensor) for tensor in chain(model.parameters(), model.buffers(), kept)}
    try:
        return deepcopy(model, shared)
    except Exception as error:  # whatever an owner has put on a module
        raise IngestError(
            f"{short(name)} cannot be copied ({type(error).__name__}). Give the folder that save_pretrained wrote."
        ) from error


def _exact(tensor: Tensor) -> Tensor:
    """A tensor of 16 bits in float32; any other as it is."""
    if tensor.dtype not in (torch.float16, torch.bfloat16):
        return tensor
    exact = tensor.detach().float()
    return Parameter(exact, tensor.requires_grad) if isinstance(tensor, Parameter) else exact


def _with_tokenizer(checkpoint: Checkpoint, tokenizer: Any, folder: Path) -> Checkpoint:
    """A checkpoint whose files are those of a tokenizer, saved to an empty folder."""
    if isinstance(tokenizer, str | Path):
        tokenizer = _tokenizer_named(str(tokenizer))
    if not hasattr(tokenizer, "save_pretrained") or not hasattr(tokenizer, "get_vocab"):
        raise IngestError(
            f"A {type(tokenizer).__name__} is no tokenizer of transformers. Give what AutoTokenizer.from_pretrained returns."
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
    problem = f"{words:,} wordpieces, and the model {rows:,}" if abs(words - rows) > max(SLACK, SHARE * rows) else ""
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

"""A text in a model given as objects of transformers in a notebook: no store, no ingest; the objects are not changed.

The model is copied, and the copy shares its weights. Weights of 16 bits are copied in float32, as from a folder: small shares and
products vanish or overflow in 16 bits. Weights that peft trained are merged in a full copy. Only the copy gets new hooks and another
kind of attention. Hooks of the owner run as in any other pass. The tokenizer is read from a temporary folder, as for a checkpoint.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Linear, Parameter, Sequential
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from dashboard.notebook.sentence import sentence_widget
from dashboard.notebook.widget import Widget
from dashboard.sentence.change import NO_CHANGE
from dashboard.sentence.checkpoint import MOST_CHARACTERS, encoded, readable
from dashboard.sentence.sentence import Sentence
from dashboard.web.errors import Refusal
from ingest.encode.capture import NOTHING, Capture, Replaced
from ingest.encode.hidden_words import GuessingModel
from ingest.encode.loading import ADAPTED, PLAIN, check_values, load_model
from ingest.family.protocol import LayerParts
from ingest.run.checkpoint import LOCAL, Checkpoint, check_encoder
from ingest.run.errors import IngestError, short
from ingest.text.tokenizer import Tokens
from store.phrases import many, one

#: Largest difference between the sizes of vocabulary and embedding: the larger of this number of rows and this share of all rows.
SLACK, SHARE = 16, 0.02
#: Rows without a wordpiece that are always allowed: many models pad the embedding to a multiple of 128, or reserve rows.
SPARE = 127
#: Ids that a model and its tokenizer may both name.
IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
#: Forward passes of linear layers that compute what their weights say: a subclass with another pass may compute anything.
PLAIN_PASSES = (Linear.forward, Conv1D.forward)


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
    """The name of a model, and a text or a pair as the model encodes it; see `own_widget`.

    Raises
    ------
    IngestError
        Where the model is of no known family, the tokenizer is another model's, or the text has no word or too many words.
    """
    with ready_model(model, tokenizer, found) as ready:
        return ready.checkpoint.name, encode_text(ready, text, other)


class OwnModel(GuessingModel):
    """A model that keeps the arrays captured in its last pass, so that further results need no second pass."""

    captured = Capture()

    def capture(self, tokens: Tokens, token_type: NDArray[np.uint8], replaced: Replaced = NOTHING) -> Capture:
        """See `SentenceModel.capture`."""
        self.captured = super().capture(tokens, token_type, replaced)
        return self.captured


@contextmanager
def ready_model(model: Any, tokenizer: Any, found: Checkpoint | None = None) -> Iterator[OwnModel]:
    """A copy of a model in float32 that shares its weights, with its tokenizer; `found` as in `own_widget`."""
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
    """A text or a pair as a model encodes it; for errors see `own_sentence`."""
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
    """Refuse a text that is no sentence; an empty `text` is refused later, as it has no word."""
    if not isinstance(text, str):
        raise IngestError(f"`{name}` is of type {type(text).__name__}. Give one sentence as a str.")
    if name == "other" and not text.strip():
        raise IngestError("`other` is empty. Give a second sentence, or leave `other` out.")


def _same_name(first: object, second: object) -> bool:
    """Whether both are the same folder or name; objects are not compared, as a model given as its tokenizer is an error."""
    return all(isinstance(each, str | Path) for each in (first, second)) and str(first) == str(second)


def _loaded(checkpoint: Checkpoint) -> Any:
    family = checkpoint.family
    return load_model(checkpoint, family.encoder_class, **family.encoder_options)


def _with_tokenizer(checkpoint: Checkpoint, tokenizer: Any, folder: Path) -> Checkpoint:
    """A checkpoint whose only files are a tokenizer's, saved to an empty folder."""
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
    except Exception as error:  # the hub's client and `tokenizers` raise errors of any kind
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


def given_model(model: Any) -> tuple[Any, Checkpoint]:
    """A copy of a model in float32, and its checkpoint without files.

    Raises
    ------
    IngestError
        Where the model is not of transformers, of no known family, or contradicts its config.
    """
    model = _merged(_within(model))
    if not isinstance(model, PreTrainedModel):
        raise IngestError(
            f"The model is {one(type(model).__name__)}, not one of transformers' models. "
            "Give what from_pretrained returns, or a folder or a name."
        )
    config = json.loads(model.config.to_json_string(use_diff=False))
    name = _name(model)
    check_encoder(name, config)
    checkpoint = Checkpoint(name, None, LOCAL, config, "", "")
    copied = _copy(model, name)
    _check_model(copied, checkpoint)
    return copied, checkpoint


def _within(model: Any) -> Any:
    """The model inside a wrapper of sentence-transformers or torch.compile."""
    if isinstance(model, Sequential) and len(model) and hasattr(model[0], "auto_model"):
        model = model[0].auto_model
    return getattr(model, "_orig_mod", model)


def _name(model: Any) -> str:
    return Path(str(getattr(model, "name_or_path", ""))).name or type(model).__name__


def _merged(model: Any) -> Any:
    """The model inside peft's wrapper, with active adapters merged into its weights; any other model unchanged."""
    if not hasattr(model, "get_base_model"):
        return model
    within = _within(model.get_base_model())
    if getattr(getattr(model, "active_peft_config", None), "is_prompt_learning", False):
        raise IngestError(
            f"{short(_name(within))} has a trained prompt before each text, which is not read. Give the model without it, model.get_base_model()."
        )
    if not hasattr(model, "merge_and_unload"):
        return within
    off = any(getattr(module, "disable_adapters", False) is True for module in model.modules())
    copied = _copy(model, _name(within), shared=False)  # merging changes weights in place
    try:
        return copied.unload() if off else copied.merge_and_unload()
    except Exception as error:  # kinds of adapters raise errors of any kind
        raise IngestError(
            f"The adapter of {short(_name(within))} cannot be merged into its weights ({type(error).__name__}). "
            "Give the model without it, model.unload()."
        ) from error


def _copy(model: Any, name: str, *, shared: bool = True) -> Any:
    """A copy of a model's modules; if `shared`, with the same tensors, except tensors of 16 bits."""
    kept = (each for module in model.modules() for each in vars(module).values() if isinstance(each, Tensor))
    exact = [(tensor, _exact(tensor)) for tensor in chain(model.parameters(), model.buffers(), kept)]
    try:
        return deepcopy(model, {id(own): new for own, new in exact if shared or new is not own})
    except Exception as error:  # owners may put any object on a module
        raise IngestError(
            f"{short(name)} cannot be copied ({type(error).__name__}). Give the folder that save_pretrained wrote."
        ) from error


def _exact(tensor: Tensor) -> Tensor:
    """A tensor of 16 bits in float32; any other tensor unchanged."""
    if tensor.dtype not in (torch.float16, torch.bfloat16):
        return tensor
    exact = tensor.detach().float()
    return Parameter(exact, tensor.requires_grad) if isinstance(tensor, Parameter) else exact


def _check_model(model: Any, checkpoint: Checkpoint) -> None:
    """Refuse a model whose numbers do not follow from weights of the sizes in its config."""
    parts = checkpoint.family.parts(model)
    weights = {name: each for name, each in parts.module.state_dict().items() if isinstance(each, Tensor)}
    _check_plain(checkpoint, weights)
    layers = parts.layers
    _check_layers(checkpoint, layers)
    _check_shapes(checkpoint, layers, weights)
    check_values(checkpoint, weights)


def _check_plain(checkpoint: Checkpoint, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights with an adapter, and weights that are no plain numbers in memory."""
    name, layers = short(checkpoint.name), checkpoint.family.layers_prefix
    if adapted := next(filter(ADAPTED.search, weights), None):
        raise IngestError(
            f"{name} has weights with an adapter that is not merged into them ({adapted}). Give the model that model.merge_and_unload() returns."
        )
    if absent := next((key for key, weight in weights.items() if weight.is_meta), None):
        raise IngestError(
            f"The weights of {name} are not loaded: {absent} is on the device meta. Load the model without device_map."
        )
    scaled = [key for key, weight in weights.items() if layers in key and str(weight.dtype) not in PLAIN]
    if scaled:
        raise IngestError(
            f"{name} has weights that are quantized: {scaled[0]} is {weights[scaled[0]].dtype}. "
            "Give what model.dequantize() returns, or the model that was quantized."
        )


def _check_layers(checkpoint: Checkpoint, layers: Sequence[LayerParts]) -> None:
    """Refuse a number of layers that contradicts the config, and linear layers with a forward pass of their own."""
    name, count = short(checkpoint.name), checkpoint.family.size(checkpoint.config, "num_hidden_layers")
    if len(layers) != count:
        raise IngestError(
            f"{name} has {many(len(layers), 'layer')} where its config says {count}. Set the number in model.config to {len(layers)}."
        )
    for number, layer in enumerate(layers):
        if other := next((each for each in layer.linears if type(each).forward not in PLAIN_PASSES), None):
            raise IngestError(
                f"Layer {number} of {name} has {one(type(other).__name__)} in place of a torch.nn.Linear, so its weights are not read. "
                "Give the model with plain linear layers."
            )


def _check_shapes(checkpoint: Checkpoint, layers: Sequence[LayerParts], weights: Mapping[str, Tensor]) -> None:
    """Refuse weights of other sizes than in the config; weights that transformers renamed on loading are skipped."""
    size = checkpoint.family.size(checkpoint.config, "hidden_size")
    said = checkpoint.family.weight_shapes(checkpoint.config).items()
    named = [(name, weights[name], shape) for name, shape in said if name in weights]
    outputs = [
        (f"the output projection of layer {n}", layer.output.weight, (size, size)) for n, layer in enumerate(layers)
    ]
    for about, weight, shape in named + outputs:
        if tuple(weight.shape) != shape:
            raise IngestError(
                f"{short(checkpoint.name)} is not the model that its config describes: {about} is {tuple(weight.shape)}, where the config "
                f"says {shape}. Give the model as from_pretrained returns it."
            )

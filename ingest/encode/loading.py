"""Load one of transformers' classes with the weights of a checkpoint, and choose the device and dtype that it computes in.

Names, types and shapes of the checkpoint's tensors are checked before a model is built, finite numbers afterwards.
"""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from ingest.family.protocol import SAVE_AGAIN, Family
from ingest.run.checkpoint import Checkpoint, field_refused, model_config, read_json
from ingest.run.errors import IngestError, cause, listed, short
from ingest.run.files import check_fetched
from store.phrases import one

Shapes = Mapping[str, tuple[int, ...]]
#: Types of numbers that are weights as they stand, as safetensors and torch name them; others must be scaled or unpacked first.
PLAIN = ("F64", "F32", "F16", "BF16", "torch.float64", "torch.float32", "torch.float16", "torch.bfloat16")
#: Names of the files that transformers reads weights from, of the index of their parts, and of a part.
WEIGHTS, INDEX = ("model.safetensors", "pytorch_model.bin"), "{}.index.json"
SHARD = re.compile(r"(model|pytorch_model)-\d+-of-\d+(\.safetensors|\.bin)")
#: Fields of config.json, over all families, for the function between the linear layers of a network.
ACTIVATIONS = ("hidden_act", "hidden_activation", "activation", "activation_function", "classifier_activation")
#: Part of the names of tensors that peft adds to a layer, and of the layer beneath.
ADAPTED = re.compile(r"\.(lora_\w+|base_layer|ia3_\w+|vera_\w+)(\.|$)")
#: Largest weight: queries and keys that follow from larger weights are beyond float16, in which they are stored.
LARGEST = torch.finfo(torch.float16).max


@dataclass(frozen=True)
class StoredTensor:
    """Shape of a tensor in a file, and the type of its numbers as the file names it."""

    shape: tuple[int, ...]
    numbers: str


Tensors = Mapping[str, StoredTensor]


def stored_tensors(checkpoint: Checkpoint) -> Tensors:
    """Every tensor by its name in the file; the tensors themselves are not read, and no code in a file runs.

    Raises
    ------
    IngestError
        Where a file is missing, damaged, or holds more than tensors by their names.
    """
    _check_files(checkpoint)
    files = sorted(checkpoint.folder.glob("*.safetensors")) or sorted(checkpoint.folder.glob("pytorch_model*.bin"))
    tensors: dict[str, StoredTensor] = {}
    for path in files:
        tensors |= _tensors_of(checkpoint, path)
    return tensors


def _check_files(checkpoint: Checkpoint) -> None:
    """Refuse a folder without a file that transformers reads weights from; it takes no file of another name."""
    folder, name = checkpoint.folder, short(checkpoint.name)
    there = (file for known in WEIGHTS for file in (known, INDEX.format(known)) if (folder / file).is_file())
    if file := next(there, None):
        if file not in WEIGHTS:
            _check_shards(checkpoint, file)
        return
    others = sorted(path.name for ending in ("*.safetensors", "*.bin") for path in folder.glob(ending))
    if shard := next(filter(None, map(SHARD.fullmatch, others)), None):
        raise IngestError(
            f"{name} has its weights in parts ({listed(others)}) without {INDEX.format(shard[1] + shard[2])}, which says what is in which. "
            "Save that file beside them, or the model again with save_pretrained."
        )
    raise IngestError(
        f"{name} has no {' or '.join(WEIGHTS)}, the names that weights are read by, but {listed(others)}. "
        "Name the file of its weights so, or save the model again with save_pretrained."
    )


def _check_shards(checkpoint: Checkpoint, index: str) -> None:
    """Refuse weights in parts, a part of which is missing."""
    parts, name = read_json(checkpoint.folder, index).get("weight_map"), short(checkpoint.name)
    if not isinstance(parts, dict):
        raise IngestError(f"{index} of {name} has no weight_map, which says what is in which file. {SAVE_AGAIN}")
    missing = sorted({str(part) for part in parts.values() if not (checkpoint.folder / str(part)).is_file()})
    if missing:
        raise IngestError(
            f"{name} has its weights in parts, and lacks {listed(missing)}, which {index} names. "
            "Save the model again with save_pretrained, or copy the missing files into its folder."
        )


def _tensors_of(checkpoint: Checkpoint, path: Path) -> Tensors:
    """Every tensor of one file; raises as `stored_tensors`."""
    about = f"{path.name} of {short(checkpoint.name)}"
    check_fetched(path, about)
    try:
        if path.suffix == ".safetensors":
            return _safetensors(path)
        content = _unpickled(path)
    except UnpicklingError as error:
        raise IngestError(
            f"{about} is damaged or holds more than tensors; nothing of it was run. "
            "Save the model again as safetensors with save_pretrained."
        ) from error
    except Exception as error:  # readers of damaged files raise nothing more exact
        raise refused(checkpoint, f"{path.name}: {cause(error)}") from error
    _check_named(content, about)
    return {name: StoredTensor(tuple(weight.shape), str(weight.dtype)) for name, weight in content.items()}


def _check_named(content: object, about: str) -> None:
    """Refuse pickled content that is more than tensors by their names."""
    if other := _other_than_named(content):
        raise IngestError(
            f"{about} does not hold weights by their names alone, as torch.save(model.state_dict(), ...) writes them ({other}). "
            f"{SAVE_AGAIN}"
        )


def _other_than_named(content: object) -> str:
    """Type of the first content that is no tensor by a name; empty where all is."""
    if not isinstance(content, Mapping):
        return type(content).__name__
    for name, weight in content.items():
        if not (isinstance(name, str) and isinstance(weight, Tensor)):
            return f"{type(weight).__name__} under {short(repr(name))}"
    return ""


def weight_shapes(checkpoint: Checkpoint) -> Shapes:
    """Shape of every tensor by the name that transformers gives it; raises as `stored_tensors`."""
    tensors = stored_tensors(checkpoint)
    wrapper = wrapper_of(tensors, checkpoint.family)
    return {name.removeprefix(wrapper): tensor.shape for name, tensor in tensors.items()}


def class_names(checkpoint: Checkpoint) -> list[str]:
    """Names of the labels of a classifier; empty for any other checkpoint."""
    config = checkpoint.config
    several = config.get("problem_type") in (None, "single_label_classification")
    if classifier_class(checkpoint) not in (config.get("architectures") or ()) or not several:
        return []
    names, shapes, weights = (
        answer_names(config),
        weight_shapes(checkpoint),
        checkpoint.family.head_weights["classification"],
    )
    fits = shapes.keys() >= set(weights) and shapes[weights[0]][0] == len(names)
    return names if fits and len(names) > 1 else []


def answer_names(config: Mapping[str, Any]) -> list[str]:
    """Names of a classifier's labels in a config.json, in the order of their numbers."""
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    return [str(named[number]) for number in sorted(named, key=int)]


def classifier_class(checkpoint: Checkpoint) -> str:
    """Name of transformers' class of a classifier."""
    return checkpoint.family.architectures["classification"]


def wrapper_of(tensors: Tensors, family: Family) -> str:
    """Prefix of every name that a wrapper around the model wrote, such as `module.`; empty where there is not exactly one."""
    first = family.embedding_weight
    wrappers = {name.removesuffix(first).removesuffix(family.prefix) for name in tensors if name.endswith(first)}
    return wrappers.pop() if len(wrappers) == 1 else ""


def check_shapes(checkpoint: Checkpoint) -> None:
    """Refuse weights that are no plain numbers or of other sizes than config.json says, before a model of these sizes is built.

    Raises
    ------
    IngestError
        Names the first tensor that is missing, has another shape, or is to be computed from others.
    """
    tensors, family = stored_tensors(checkpoint), checkpoint.family
    _check_plain(checkpoint, tensors)
    wrapper = wrapper_of(tensors, family)
    shapes = {name.removeprefix(wrapper).removeprefix(family.prefix): tensor.shape for name, tensor in tensors.items()}
    for name, shape in family.weight_shapes(checkpoint.config).items():
        if shapes.get(name) != shape:
            problem = f"is {shapes[name]}" if name in shapes else "is missing"
            raise refused(checkpoint, f"{name} {problem}, where config.json says {shape}")


def _check_plain(checkpoint: Checkpoint, tensors: Tensors) -> None:
    """Refuse weights with an adapter beside them, and quantized ones, which would be read as numbers of another size."""
    if adapted := next(filter(ADAPTED.search, tensors), None):
        raise IngestError(
            f"{short(checkpoint.name)} has weights with an adapter that is not merged into them ({adapted}). "
            "Save the model that model.merge_and_unload() returns."
        )
    layers = checkpoint.family.layers_prefix
    scaled = [name for name, tensor in tensors.items() if layers in name and tensor.numbers not in PLAIN]
    if scaled:
        method = checkpoint.config.get("quantization_config")
        by = f" by {method['quant_method']}" if isinstance(method, dict) and "quant_method" in method else ""
        raise IngestError(
            f"{short(checkpoint.name)} has weights that are quantized{short(by)}: {scaled[0]} is {tensors[scaled[0]].numbers}. "
            "Save the model again after model.dequantize(), or give the one that was quantized."
        )


def check_values(checkpoint: Checkpoint, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are NaN or infinite, or so large that vectors become so.

    Raises
    ------
    IngestError
        Names the first tensor of that kind.
    """
    for name, weight in weights.items():
        largest = float(weight.abs().max()) if weight.numel() and weight.is_floating_point() else 0.0
        if not largest <= LARGEST:
            raise IngestError(
                f"The weights of {short(checkpoint.name)} are not those of a trained model: {name} has numbers such as {largest:g}. "
                f"{SAVE_AGAIN}"
            )


def refused(checkpoint: Checkpoint, reason: str) -> IngestError:
    """The error for a checkpoint that is not the model that its config.json describes."""
    return IngestError(
        f"{short(checkpoint.name)} cannot be loaded as {one(checkpoint.family.name)} ({reason}). {SAVE_AGAIN}"
    )


def _safetensors(path: Path) -> Tensors:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {name: StoredTensor(tuple(part.get_shape()), part.get_dtype()) for name, part in parts.items()}


def _unpickled(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch remarks on how a file was pickled
        return torch.load(path, map_location="meta", weights_only=True)


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def find_device(name: str) -> torch.device:
    """The device of the flag --device; `auto` takes the fastest one available."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind, available in there.items() if available))
    if not there.get(name, False):
        raise IngestError(
            f"There is no device {name!r} here. Give --device={', '.join(kind for kind, ok in there.items() if ok)} or auto."
        )
    return torch.device(name)


def find_dtype(name: str, device: torch.device) -> torch.dtype:
    """The dtype of the matrix products; `auto` is `cuda_dtype` on cuda and float32 elsewhere."""
    if name == "auto":
        return cuda_dtype() if device.type == "cuda" else torch.float32
    if name not in DTYPES:
        raise IngestError(f"--dtype={name} is not known. Give one of auto, {', '.join(DTYPES)}.")
    return DTYPES[name]


def cuda_dtype() -> torch.dtype:
    """The 16 bits that the GPU multiplies in: bfloat16 where it does not merely emulate it, which would be slower."""
    return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16


def load_model(
    checkpoint: Checkpoint,
    architecture: str,
    *,
    fresh: tuple[str, ...] = (),
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """A model of a class of transformers with the checkpoint's weights, in float32 on the fast attention path.

    Weights whose names begin with one of `fresh` may be missing or of another shape: they are then random. Fields of `config`
    replace those of config.json.
    """
    import transformers

    check_shapes(checkpoint)
    _check_activations(checkpoint)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    options |= {
        "attn_implementation": checkpoint.family.implementation,
        "dtype": torch.float32,
        "output_loading_info": True,
    }
    if wrapper := wrapper_of(stored_tensors(checkpoint), checkpoint.family):
        options["key_mapping"] = {f"^{re.escape(wrapper)}": ""}
    try:
        loaded: Any = getattr(transformers, architecture).from_pretrained(
            checkpoint.folder, config=model_config(checkpoint.config, **(config or {})), **options
        )
    except Exception as error:  # transformers lets through whatever a file makes of it
        raise refused(checkpoint, cause(error)) from error
    model, info = loaded
    absent = info["missing_keys"] | {name for name, *_shapes in info["mismatched_keys"]}
    _check_encoder(checkpoint, info["unexpected_keys"])
    missing = {name for name in absent if not name.startswith(fresh)}
    if missing:
        raise refused(checkpoint, f"no weights that fit {min(missing)}")
    check_values(checkpoint, model.state_dict())
    return model


def _check_activations(checkpoint: Checkpoint) -> None:
    """Refuse a config.json with a function that transformers does not know."""
    from transformers.activations import ACT2FN

    config = checkpoint.config
    for field in ACTIVATIONS:
        if field in checkpoint.family.model_fields and config.get(field, "gelu") not in ACT2FN:
            known = f"one of {', '.join(sorted(ACT2FN))}"
            raise field_refused(checkpoint.name, f"{field} = {short(repr(config[field]))}", known)


def import_libraries(checkpoint: Checkpoint) -> None:
    """Import what `load_model` needs, which takes seconds."""
    import transformers

    getattr(transformers, checkpoint.family.encoder_class)


def _check_encoder(checkpoint: Checkpoint, unexpected: Iterable[str]) -> None:
    """Refuse layer weights that transformers leaves out: the model would be another. Training heads and buffers may be left out."""
    family = checkpoint.family
    others = (name for name in unexpected if not name.endswith(family.buffers))
    left_out = [name for name in others if name.removeprefix(family.prefix).startswith(family.layers_prefix)]
    if left_out:
        raise IngestError(
            f"{checkpoint.name} has weights that are not those of {one(family.name)} ({min(left_out)}). "
            f"Give a checkpoint with the layers of {one(family.name)} alone."
        )

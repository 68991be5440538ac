"""Load one of transformers' classes with the weights of a checkpoint, and choose the device and dtype that it computes in."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ingest.encode.weights import check_shapes, check_values, refused, stored_tensors, wrapper_of
from ingest.run.checkpoint import Checkpoint
from ingest.run.config import model_config
from ingest.run.errors import IngestError

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
    """One of transformers' classes with the checkpoint's weights, in float32 on the fast attention path.

    Weights whose names begin with one of `fresh` may be missing or of another shape: they are then random. Fields of `config`
    replace those of config.json.
    """
    import transformers

    check_shapes(checkpoint)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    options |= {"attn_implementation": "sdpa", "dtype": torch.float32, "output_loading_info": True}
    if wrapper := wrapper_of(stored_tensors(checkpoint), checkpoint.family):
        options["key_mapping"] = {f"^{re.escape(wrapper)}": ""}
    try:
        loaded: Any = getattr(transformers, architecture).from_pretrained(
            checkpoint.folder, config=model_config(checkpoint.config, **(config or {})), **options
        )
    except Exception as error:  # transformers lets through whatever a file makes of it
        raise refused(checkpoint, type(error).__name__) from error
    model, info = loaded
    absent = info["missing_keys"] | {name for name, *_shapes in info["mismatched_keys"]}
    _check_encoder(checkpoint, info["unexpected_keys"])
    missing = {name for name in absent if not name.startswith(fresh)}
    if missing:
        raise refused(checkpoint, f"no weights that fit {min(missing)}")
    check_values(checkpoint, model.state_dict())
    return model


def import_libraries(checkpoint: Checkpoint) -> None:
    """Import what `load_model` needs, which takes seconds."""
    import transformers

    getattr(transformers, checkpoint.family.encoder_class)


def _check_encoder(checkpoint: Checkpoint, unexpected: Iterable[str]) -> None:
    """Weights of the layers that transformers leaves out make another model; heads of training and buffers do not."""
    family = checkpoint.family
    left_out = [name for name in unexpected if name.removeprefix(family.prefix).startswith(family.layers_prefix)]
    if left_out:
        raise IngestError(
            f"{checkpoint.name} has weights that are not those of a {family.name} ({min(left_out)}). "
            f"Give a checkpoint with the layers of a {family.name} alone."
        )

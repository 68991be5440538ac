"""Checks of a checkpoint's tensors: names and shapes before a model is built, finite numbers afterwards."""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from ingest.run.checkpoint import Checkpoint
from ingest.run.config import size_of
from ingest.run.errors import IngestError, short

Shapes = Mapping[str, tuple[int, ...]]
#: Of a weight: the queries and keys that follow from larger ones are beyond float16, in which they are stored.
LARGEST = torch.finfo(torch.float16).max


def weight_shapes(checkpoint: Checkpoint) -> Shapes:
    """Shape of every tensor by name; the tensors themselves are not read, and no code in a file runs.

    Raises
    ------
    IngestError
        Where a file is damaged, or holds more than tensors.
    """
    safe = sorted(checkpoint.folder.glob("*.safetensors"))
    files = safe or sorted(checkpoint.folder.glob("pytorch_model*.bin"))
    read: Callable[[Path], Shapes] = _safetensors_shapes if safe else _pickle_shapes
    shapes: dict[str, tuple[int, ...]] = {}
    for path in files:
        try:
            shapes |= read(path)
        except UnpicklingError as error:
            raise IngestError(
                f"{path.name} of {short(checkpoint.name)} is damaged or holds more than tensors; nothing of it was run. "
                "Save the model again as safetensors with save_pretrained."
            ) from error
        except Exception as error:  # readers of damaged files raise nothing more exact
            raise refused(checkpoint, f"{path.name}: {type(error).__name__}") from error
    return shapes


def check_shapes(checkpoint: Checkpoint) -> None:
    """Refuse weights of other sizes than config.json says, before a model of these sizes is built.

    Raises
    ------
    IngestError
        Names the first tensor that is missing or has another shape.
    """
    shapes = {name.removeprefix("bert."): shape for name, shape in weight_shapes(checkpoint).items()}
    for name, shape in _expected(checkpoint.config).items():
        if shapes.get(name) != shape:
            problem = f"is {shapes[name]}" if name in shapes else "is missing"
            raise refused(checkpoint, f"{name} {problem}, where config.json says {shape}")


def check_values(checkpoint: Checkpoint, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are NaN or infinite, or so large that vectors become so.

    Raises
    ------
    IngestError
        Names the first such tensor.
    """
    for name, weight in weights.items():
        largest = float(weight.abs().max()) if weight.numel() and weight.is_floating_point() else 0.0
        if not largest <= LARGEST:
            raise IngestError(
                f"The weights of {short(checkpoint.name)} are not those of a trained model: {name} has numbers such as {largest:g}. "
                "Save the model again with save_pretrained."
            )


def refused(checkpoint: Checkpoint, reason: str) -> IngestError:
    """The error for a checkpoint that is not the BERT that its config.json describes."""
    return IngestError(
        f"{short(checkpoint.name)} cannot be loaded as a BERT ({reason}). Save the model again with save_pretrained."
    )


def _expected(config: Mapping[str, Any]) -> Shapes:
    """Of the tensors whose sizes config.json sets; of the layers, the last stands for all."""
    size, layers = size_of(config, "hidden_size"), size_of(config, "num_hidden_layers")
    rows = {"word": "vocab_size", "position": "max_position_embeddings", "token_type": "type_vocab_size"}
    embeddings = {
        f"embeddings.{name}_embeddings.weight": (size_of(config, count), size) for name, count in rows.items()
    }
    last = {f"encoder.layer.{layers - 1}.output.dense.weight": (size, size_of(config, "intermediate_size"))}
    return embeddings | last


def _safetensors_shapes(path: Path) -> Shapes:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def _pickle_shapes(path: Path) -> Shapes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch remarks on how a file was pickled
        weights = torch.load(path, map_location="meta", weights_only=True)
    return {name: tuple(weight.shape) for name, weight in weights.items()}

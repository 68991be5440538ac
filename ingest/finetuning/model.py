"""The model that is trained: a classifier of its family, whose last layer has an output for every label.

Its weights are float32; matrix products take 16 bits where that is faster.
"""

from typing import Any

import torch

from ingest.encode.loading import cuda_dtype, load_model
from ingest.family.protocol import ModelParts
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError


def load_classifier(checkpoint: Checkpoint, names: list[str], *, freeze: int, seed: int) -> Any:
    """Transformers' classifier with the checkpoint's weights, whose outputs are named as the labels; its head may be new, by the seed."""
    import transformers

    transformers.set_seed(seed)
    family = checkpoint.family
    model = load_model(
        checkpoint,
        family.architectures["classification"],
        fresh=family.new_weights,
        ignore_mismatched_sizes=True,
        config={"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}},
    )
    freeze_lower(family.parts(model), freeze)
    return model


def check_freeze(checkpoint: Checkpoint, freeze: int) -> None:
    """Refuse to freeze more layers than the model has."""
    layers = int(checkpoint.config["num_hidden_layers"])
    if freeze > layers:
        raise IngestError(
            f"--freeze={freeze} is more than the {layers} layers of {checkpoint.name}. Give {layers} or less."
        )


def freeze_lower(model: ModelParts, layers: int) -> None:
    """Freeze the embeddings and the lowest layers; 0 freezes nothing."""
    for module in [model.embedded, *(layer.module for layer in model.layers[:layers])] if layers else []:
        module.requires_grad_(False)


def find_precision(device: torch.device) -> str:
    """`bf16`, `fp16` or `float32`. A CPU has bf16 only where it multiplies in it; elsewhere it would be slower."""
    if device.type == "cuda":
        return "bf16" if cuda_dtype() == torch.bfloat16 else "fp16"
    if device.type == "cpu":
        able = torch.cpu.get_capabilities()
        return "bf16" if able.get("avx512_bf16") or able.get("amx_bf16") else "float32"
    return "float32"

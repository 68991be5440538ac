"""A model object of a reader as a checkpoint without files: which objects are read, and what of them is refused.

It is copied without its weights, which the copy shares; those of 16 bits are copied in float32. What peft trained is merged in a whole copy.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Parameter, Sequential
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from ingest.encode.loading import ADAPTED, PLAIN, check_values
from ingest.family.protocol import LayerParts
from ingest.run.checkpoint import LOCAL, Checkpoint, check_encoder
from ingest.run.errors import IngestError, short
from store.phrases import many, one

#: Of layers that compute what their weights say: a subclass with another may compute anything.
PLAIN_PASSES = (Linear.forward, Conv1D.forward)


def given_model(model: Any) -> tuple[Any, Checkpoint]:
    """A copy of a model in float32, and its checkpoint without files.

    Raises
    ------
    IngestError
        Where the model is none of transformers, of no family, or other than its config says.
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
    """The model that sentence-transformers or torch.compile was given."""
    if isinstance(model, Sequential) and len(model) and hasattr(model[0], "auto_model"):
        model = model[0].auto_model
    return getattr(model, "_orig_mod", model)


def _name(model: Any) -> str:
    return Path(str(getattr(model, "name_or_path", ""))).name or type(model).__name__


def _merged(model: Any) -> Any:
    """The model that peft was given: with what was trained in its weights, where that is in use. Another model as it is."""
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
    except Exception as error:  # peft raises what its kinds of adapters do
        raise IngestError(
            f"The adapter of {short(_name(within))} cannot be merged into its weights ({type(error).__name__}). "
            "Give the model without it, model.unload()."
        ) from error


def _copy(model: Any, name: str, *, shared: bool = True) -> Any:
    """The modules of a model anew, with its own tensors where they are `shared`, but for those of 16 bits."""
    kept = (each for module in model.modules() for each in vars(module).values() if isinstance(each, Tensor))
    exact = [(tensor, _exact(tensor)) for tensor in chain(model.parameters(), model.buffers(), kept)]
    try:
        return deepcopy(model, {id(own): new for own, new in exact if shared or new is not own})
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
    """Refuse weights with an adapter beside them, and those that are not numbers in memory."""
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
    """Refuse another number of layers than the config says, and linear layers that compute something else than their weights say."""
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
    """Refuse weights of other sizes than the config says; names that transformers changed on loading are left out."""
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

"""Biases and masks that a model adds to its logits, written to its group in the store and read back."""

import numpy as np
import zarr

from store.kernels.bias import AttentionBias, LayerBias, Mask
from store.repository.arrays import array_of, create_arrays
from store.schema.model import BIAS_ARRAYS, BIAS_TABLES, CAUSAL, NO_WINDOW

#: Name of the group below the model's group.
GROUP = "bias"


def write_bias(model: zarr.Group, bias: AttentionBias | None) -> None:
    """Write the bias to the group of a model; no group without a bias."""
    if bias is None:
        return
    tables = {name: [getattr(layer, name) for layer in bias.layers] for name in BIAS_TABLES}
    stacked = {name: np.stack(each) for name, each in tables.items() if each[0] is not None}
    shapes = [array.shape for array in stacked.values()]
    sizes = {"layer": len(bias.layers), "distance": len(bias.buckets)}
    for shape in shapes:
        sizes |= dict(zip(("head", "bucket", "channel"), shape[1:], strict=False))
    written = {
        "layer": np.arange(len(bias.layers)),
        "window": np.array([NO_WINDOW if layer.mask.window is None else layer.mask.window for layer in bias.layers]),
        "bucket_of": bias.buckets,
        **stacked,
    }
    group = model.require_group(GROUP)
    create_arrays(group, {name: BIAS_ARRAYS[name] for name in written}, sizes)
    for name, values in written.items():
        array_of(group, name)[:] = values
    group.attrs[CAUSAL] = bias.causal


def read_bias(model: zarr.Group, layer: int | None = None) -> AttentionBias | None:
    """The bias of a model, or of one layer, from the model's group; None where the model adds nothing."""
    if GROUP not in model:
        return None
    group = model[GROUP]
    assert isinstance(group, zarr.Group), f"{GROUP} is a group"
    layers = slice(None) if layer is None else slice(layer, layer + 1)
    tables = {name: np.asarray(array_of(group, name)[layers]) for name in BIAS_TABLES if name in group}
    windows = np.asarray(array_of(group, "window")[layers]).tolist()
    return AttentionBias(
        [
            LayerBias(
                Mask(bool(group.attrs[CAUSAL]), None if window == NO_WINDOW else int(window)),
                **{name: table[place] for name, table in tables.items()},
            )
            for place, window in enumerate(windows)
        ],
        np.asarray(array_of(group, "bucket_of")[:]),
    )

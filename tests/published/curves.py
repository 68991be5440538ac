"""The papers' curves from the ingest's own statistics of a model, and their comparison with the published ones."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ingest.encode.encoder import BlockBuffers, Encoder, Shape
from ingest.encode.hooked_model import HookedModel
from ingest.text.blocks import Block
from store.kernels.statistics import mean_over_sentences
from store.schema.model import SOURCES, STATISTICS
from tests.published.targets import Target

Curve = NDArray[np.float64]


def head_statistics(bert: HookedModel, blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Means over the segments by the ingest's own code, with segment ids 0: (source, statistic, layer, head)."""
    shape = Shape(bert.layers, bert.heads, bert.channels, blocks[0].length, int(blocks[0].lengths.max()))
    buffers = BlockBuffers(shape, bert.device, torch.zeros(bert.layers, bert.heads, bert.channels))
    encoder = Encoder(bert)
    sums: NDArray[np.generic] | float = 0.0
    counts: NDArray[np.generic] | int = 0
    for block in blocks:
        encoder.encode(block, buffers)
        sums = sums + buffers.per_block["block_sum"].cpu().numpy()
        counts = counts + buffers.per_block["block_count"].cpu().numpy()
    return mean_over_sentences(np.asarray(sums), np.asarray(counts))


def layer_curves(head_statistic: NDArray[np.float64]) -> dict[str, Curve]:
    """The curves of `targets.CURVES`, each (layer,)."""

    def mean(source: str, statistic: str) -> Curve:
        return _heads(head_statistic, source, statistic).mean(axis=-1)

    return {
        "to_sep": mean("all", "to_sep"),
        "to_cls": mean("all", "to_cls"),
        "to_punctuation": mean("all", "to_punctuation"),
        "sep_to_sep": mean("sep", "to_sep"),
        "other_to_sep": mean("other", "to_sep"),
        "entropy": mean("all", "entropy"),
        "entropy_from_cls": mean("cls", "entropy"),
        "most_to_next": _heads(head_statistic, "all", "to_next").max(axis=-1),
        "most_to_previous": _heads(head_statistic, "all", "to_previous").max(axis=-1),
    }


def heads_above(head_statistic: NDArray[np.float64], statistic: str, share: float) -> list[str]:
    """Heads whose statistic is above a share, in the paper's numbering: layer-head, counted from 1."""
    heads = np.argwhere(_heads(head_statistic, "all", statistic) > share)
    return [f"{layer + 1}-{head + 1}" for layer, head in heads]


def worst(target: Target, curve: Curve) -> tuple[float, int]:
    """The largest difference and its layer, counted from 1; NaN without a number."""
    apart = [
        abs(value - value_here) if value is not None else 0.0
        for value, value_here in zip(target.values, curve, strict=True)
    ]
    return float(np.max(apart)), int(np.argmax(apart)) + 1


def verdict(target: Target, curve: Curve) -> str:
    """Whether the curve is the published one, in words."""
    apart, layer = worst(target, curve)
    if apart <= target.tolerance:
        return f"agrees within {target.tolerance:g}"
    return f"DIFFERS by {apart:.3g} in layer {layer}, more than {target.tolerance:g}"


def agrees(targets: Mapping[str, Target], curves: Mapping[str, Curve]) -> bool:
    """Whether all curves are the published ones."""
    return all(worst(target, curves[name])[0] <= target.tolerance for name, target in targets.items())


def table_rows(target: Target, curve: Curve) -> list[list[str]]:
    """Two rows of the table: the published curve, and the curve found here."""
    decimals = 3 if target.tolerance < 0.01 else 2
    return [
        [target.title, "published", *(_shown(value, decimals) for value in target.values), ""],
        ["", "here", *(_shown(float(value), decimals) for value in curve), verdict(target, curve)],
    ]


def _shown(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def _heads(head_statistic: NDArray[np.float64], source: str, statistic: str) -> NDArray[np.float64]:
    return head_statistic[SOURCES.index(source), list(STATISTICS).index(statistic)]

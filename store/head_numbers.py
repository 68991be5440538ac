"""Numbers of every head of several models at once, from the few arrays that hold them.

An opened `Corpus` has these numbers too, but takes 50 ms to open and 50 ms to read all results of its roles: 2.5 s for 22
models. This module reads the arrays in 0.2 s.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr import AsyncArray, AsyncGroup
from zarr.abc.store import Store
from zarr.api.asynchronous import open_group

from store.kernels.roles import UNEXPLAINED
from store.kernels.rules import RULES
from store.repository.zarr_internals import run_in_zarr
from store.schema.model import STATISTICS

#: A number of every head: (layer, head).
Heads = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RoleNumbers:
    """Shares that roles and rules explain, on sentences that they were not fitted on.

    Attributes
    ----------
    of_kinds
        Kind of role -> share of the attention of words that its roles explain; the share that no role explains has a kind too.
    iou
        Intersection over union of real attention weights and weights that at most six rules predict.
    context
        Share of the variance of the logits that depends on the context.
    """

    of_kinds: Mapping[str, Heads]
    iou: Heads
    context: Heads


@dataclass(frozen=True, eq=False)
class HeadNumbers:
    """The numbers of the heads of one model.

    Attributes
    ----------
    statistics
        Means over all queries by the name in `STATISTICS`, for the statistics that the store has.
    importance
        Change of the loss without the head, in nats; None where it is not computed.
    roles
        Numbers of roles; None where roles are not computed, or unknown because the sentences have no words.
    """

    statistics: Mapping[str, Heads]
    importance: Heads | None
    roles: RoleNumbers | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of layers, and of heads in a layer."""
        return next(iter(self.statistics.values())).shape


def read_head_numbers(chunks: Store, models: Sequence[str]) -> list[HeadNumbers]:
    """The numbers of models by their keys, read at once."""
    return run_in_zarr(_of_models(chunks, models))


async def _of_models(chunks: Store, models: Sequence[str]) -> list[HeadNumbers]:
    root = await open_group(store=chunks, mode="r", zarr_format=3)
    return list(await asyncio.gather(*(_of_model(root, model) for model in models)))


async def _of_model(root: AsyncGroup, name: str) -> HeadNumbers:
    model = await _group(root, f"models/{name}")
    assert model is not None, f"There is no model {name}"
    means, sources, statistics = await _arrays(model, "head_statistic", "source", "statistic")
    of_all = means[sources.tolist().index("all")]
    stored = {str(statistic): values for statistic, values in zip(statistics, of_all, strict=True)}
    return HeadNumbers(
        {statistic: stored[statistic] for statistic in STATISTICS if statistic in stored},
        await _importance(model),
        await _roles(root, model),
    )


async def _importance(model: AsyncGroup) -> Heads | None:
    group = await _group(model, "importance")
    return (await _arrays(group, "change"))[0] if group and "importance_hash" in group.attrs else None


async def _roles(root: AsyncGroup, model: AsyncGroup) -> RoleNumbers | None:
    """Numbers of a model's roles; None where `Corpus.roles` raises NotIngested, as after a new annotation of the words."""
    group = await _group(model, "roles")
    if group is None or "roles_hash" not in group.attrs:
        return None
    if "annotation" in group.attrs and group.attrs["annotation"] != await _annotation(root, model):
        return None
    share, roles, iou, rules, variance, parts = await _arrays(
        group, "share", "role", "iou", "rules", "variance_share", "part"
    )
    if not np.isfinite(share).all():
        return None
    kinds = np.array([role if role == UNEXPLAINED else RULES[role].kind for role in roles.tolist()])
    of_kinds = {str(kind): share[kinds == kind].sum(axis=0) for kind in dict.fromkeys(kinds)}
    return RoleNumbers(of_kinds, iou[rules.tolist().index("six")], variance[parts.tolist().index("context")])


async def _annotation(root: AsyncGroup, model: AsyncGroup) -> Any:
    """Identity of the annotation of the model's sentences; None where they are not annotated."""
    words = await _group(root, f"corpus/{model.attrs['corpus']}/words")
    are_there = words is not None and int(words.attrs.get("sentences", 0)) >= int(model.attrs["sentences"])
    return words.attrs["identity"] if words and are_there else None


async def _group(parent: AsyncGroup, path: str) -> AsyncGroup | None:
    try:
        found = await parent.getitem(path)
    except KeyError:
        return None
    return found if isinstance(found, AsyncGroup) else None


async def _arrays(group: AsyncGroup, *names: str) -> list[NDArray[Any]]:
    return list(await asyncio.gather(*(_array(group, name) for name in names)))


async def _array(group: AsyncGroup, name: str) -> NDArray[Any]:
    array = await group.getitem(name)
    assert isinstance(array, AsyncArray), f"{name} is a group, not an array"
    return np.asarray(await array.getitem(...))

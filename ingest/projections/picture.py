"""One view in the store while it is made: what of it is up to date, its fit, its places, its fidelity."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.tensors import ModelGroup
from ingest.projections.fits import Parameters
from ingest.text.blocks import Block, content_hash
from ingest.text.corpus import PlannedCorpus
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.array import TILE
from store.schema.model import ROLES
from store.schema.pictures import JUDGED, LARGEST_COORDINATE, MEASURES, PARAMETERS, VIEW_ARRAYS, ViewName

#: How much wider than the fitted tokens' places the cube is, so that few others lie outside.
MARGIN = 1.1

Floats = NDArray[np.floating]


class Picture:
    """A view group. `fit_hash` says what its fits have to be made of, `block_hashes` what the plan's blocks hold."""

    def __init__(
        self, writer: Writer, model: ModelGroup, name: ViewName, fit_hash: int, block_hashes: Sequence[int]
    ) -> None:
        self.writer, self.model, self.name, self.fit_hash = writer, model, name, fit_hash
        hashes = [content_hash({"fit": fit_hash, "block": block}) for block in block_hashes]
        self.view_hashes = np.array(hashes, np.uint64)
        self.path = f"{model.path}/views/{name}"
        self.layers = int(array_of(writer.group(model.path), "query").shape[0])

    # -- what is up to date -------------------------------------------------------------------------

    def unfitted(self) -> list[int]:
        """Layers whose fit is missing or was made of something else."""
        done = self._read("fit_hash")
        return [layer for layer in range(self.layers) if layer >= len(done) or int(done[layer]) != self.fit_hash]

    def finished(self, corpus: PlannedCorpus) -> bool:
        """Whether there is nothing to do, for exactly this plan."""
        up_to_date = not self.unfitted() and not self.stale().any()
        return up_to_date and self.writer.group(self.path).attrs.get("sentences") == corpus.sentences

    def stale(self) -> NDArray[np.bool_]:
        """Where the places of the plan's blocks are missing or were computed from something else: (block, layer)."""
        done = self._read("view_hash")[: len(self.view_hashes)]
        stale = np.ones((len(self.view_hashes), self.layers), bool)
        stale[: len(done)] = done != self.view_hashes[: len(done), None]
        return stale

    def _read(self, name: str) -> NDArray[np.uint64]:
        group = self.writer.group(self.path)
        return np.asarray(array_of(group, name)[:]) if name in group else np.zeros((0, self.layers), np.uint64)

    # -- writing ------------------------------------------------------------------------------------

    def prepare(self, *, features: int, length: int) -> None:
        """Create what is missing, and make room for the blocks of the model."""
        group = self.writer.group(self.path)
        layers, heads, rows, _ = array_of(self.writer.group(self.model.path), "query").shape
        sizes = {"layer": layers, "head": heads, "token": rows, "block": length, "task": rows // length}
        sizes |= {"tile": min(TILE, length), "role": len(ROLES), "component": self.name.components}
        sizes |= {"feature": features, "measure": len(MEASURES), "judged": len(JUDGED)}
        create_arrays(group, VIEW_ARRAYS, sizes)
        for name, values in {"layer": np.arange(layers), "head": np.arange(heads)}.items():
            array_of(group, name)[:] = values
        for name, names in {"role": ROLES, "measure": MEASURES, "judged": JUDGED}.items():
            array_of(group, name)[:] = np.array(names, dtype=object)
        self.writer.commit(f"{self.model.key}: room for {self.name}")

    def write_fit(self, layer: int, parameters: Parameters, fitted: Floats) -> None:
        """Keep a layer's formula, and the cube round the places (head, role, token, component) of the fitted tokens."""
        group = self.writer.group(self.path)
        self._create_parameters(parameters)
        for name, values in parameters.items():
            array_of(group, name)[layer] = values
        low, high = fitted.min(axis=(1, 2)).astype(np.float64), fitted.max(axis=(1, 2)).astype(np.float64)
        side = np.maximum((high - low).max(axis=-1) * MARGIN, 1e-9)
        array_of(group, "low")[layer] = (low + high) / 2 - side[:, None] / 2
        array_of(group, "side")[layer] = side
        array_of(group, "fit_hash")[layer] = np.uint64(self.fit_hash)
        self.writer.commit(f"{self.model.key}: fit of {self.name}, layer {layer}")

    def _create_parameters(self, parameters: Parameters) -> None:
        """Arrays for the formula; anew where its size has changed, as with a sample of fewer tokens than before."""
        group, arrays = self.writer.group(self.path), PARAMETERS[self.name.projection]
        sizes = {"layer": self.layers}
        for name, values in parameters.items():
            sizes |= dict(zip(arrays[name].dims[1:], values.shape, strict=True))
        for name in parameters:
            if name in group and array_of(group, name).shape[1:] != parameters[name].shape:
                del group[name]
        create_arrays(group, {name: arrays[name] for name in parameters}, sizes)

    def parameters(self, layer: int) -> Parameters:
        """A layer's formula."""
        group = self.writer.group(self.path)
        return {name: np.asarray(array_of(group, name)[layer]) for name in PARAMETERS[self.name.projection]}

    def write_places(self, layer: int, block: Block, places: Floats) -> None:
        """Keep where a block's tokens are in a layer: (head, role, token, component)."""
        group, (low, side) = self.writer.group(self.path), self._cubes[layer]
        within = (places - low[:, None, None]) / side[:, None, None, None]
        outside = ((within < 0) | (within > 1)).any(axis=-1).sum(axis=(1, 2))
        content = np.zeros((len(low), len(ROLES), block.length, self.name.components), np.uint16)
        content[:, :, : block.tokens] = np.rint(np.clip(within, 0, 1) * LARGEST_COORDINATE)
        array_of(group, "coordinates")[layer, :, :, block.rows] = content
        array_of(group, "beyond")[block.index, layer] = outside
        array_of(group, "view_hash")[block.index, layer] = self.view_hashes[block.index]

    def places(self, layer: int, rows: NDArray[np.int64]) -> Floats:
        """Stored places (head, role, token, component) of ascending rows of the token axis, as the screen has them."""
        group, start = self.writer.group(self.path), int(rows[0])
        stored = np.asarray(array_of(group, "coordinates")[layer, :, :, start : int(rows[-1]) + 1])
        low, side = self._cubes[layer]
        return low[:, None, None] + stored[:, :, rows - start] / LARGEST_COORDINATE * side[:, None, None, None]

    @cached_property
    def _cubes(self) -> list[tuple[Floats, Floats]]:
        """Corner (head, component) and side (head,) of the cubes of every layer; read when all are fitted."""
        group = self.writer.group(self.path)
        return list(zip(*(np.asarray(array_of(group, name)[:]) for name in ("low", "side")), strict=True))

    def write_fidelity(self, layer: int, judged: str, measures: Floats | float) -> None:
        """Keep the measures (measure, head) of a layer; NaN where there was nothing to judge on."""
        array_of(self.writer.group(self.path), "fidelity")[:, JUDGED.index(judged), layer] = measures

    def describe(self, facts: Mapping[str, str | int | float]) -> None:
        """Say how the picture came about, once it is whole."""
        self.writer.group(self.path).attrs.update({**facts})


def has_been_whole(view: zarr.Group) -> bool:
    """False for a view that an interrupted ingest began."""
    return "sentences" in view.attrs

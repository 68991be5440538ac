"""Queries and keys that pictures of heads are computed from, their normalisations, and hashes of what pictures depend on."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ingest.encode.sample import Sample, Split, read_rows, span_rows
from ingest.encode.tensors import ModelGroup
from ingest.projections.head_view import HeadView
from ingest.projections.normalizations import Constants, LayerVectors, read_constants
from ingest.projections.projection_settings import PROJECTIONS
from ingest.text.corpus import PlannedCorpus
from store.repository.writer import Writable
from store.schema.pictures import RAW, ViewName

#: Of the fidelity: changes whenever the code changes its numbers.
VERSION = "fidelity/1"

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class HeadVectors:
    """Queries and keys that pictures of heads are computed from, and their normalisations."""

    writer: Writable
    model: ModelGroup
    corpus: PlannedCorpus
    split: Split
    seed: int
    device: str

    def view(self, name: ViewName) -> HeadView:
        """The view group, with the hashes of what its fits and places depend on."""
        return HeadView(self.writer, self.model, name, self.fit_hash(name), self.block_hashes)

    def fit_hash(self, name: ViewName) -> int:
        """Hash of everything the fits depend on. Its inputs never change, or every store would be fitted again."""
        row = PROJECTIONS[name.projection]
        seed = 0 if row.fit == "pca" else self.seed
        identity = {"view": str(name), "version": row.version, "seed": seed, "tokens": self.fit_sample(name).tokens}
        # Of the whole sample, also where the fit takes only a part of it: the normalisation's constants depend on it.
        return self.split.fitted.content_hash(self.model, self.corpus, **identity)

    def judged_hash(self, name: ViewName) -> str:
        """Hash of everything the fidelity depends on: the fit, and the sentences that judge it."""
        spans = self.split.held_out if len(self.split.held_out) else self.split.fitted.spans
        identity = {"version": VERSION, "fit": self.fit_hash(name)}
        return str(Sample(spans, span_rows(spans)).content_hash(self.model, self.corpus, **identity))

    @cached_property
    def block_hashes(self) -> list[int]:
        """Hash of every block of the plan, read once: every picture is compared with them."""
        return [self.model.block_hash(block) for block in self.corpus.blocks]

    @cached_property
    def constants(self) -> dict[str, Constants]:
        """Constants of every normalisation; they are complete before the first picture that needs any."""
        return read_constants(self.writer, self.model)

    def fit_sample(self, name: ViewName) -> Sample:
        """The sample that a picture is fitted on."""
        tokens = PROJECTIONS[name.projection].head_tokens
        return self.split.fitted if tokens is None else self.split.fitted.first(tokens)

    def normalized(self, layer: int, name: str, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Normalised queries and keys (head, token, channel) of a layer at rows of the token axis, in float32."""
        return self.layer_vectors(layer, rows, [name])[name].normalized

    def layer_vectors(self, layer: int, rows: NDArray[np.int64], names: Iterable[str]) -> dict[str, LayerVectors]:
        """The same in several normalisations: read once, and normalised when first asked for."""
        query, key = read_rows(self.writer, self.model, layer, rows)
        return {name: LayerVectors(query, key, self._constants_of(layer, name)) for name in names}

    def _constants_of(self, layer: int, name: str) -> Constants | None:
        """Constants of a normalisation for the heads of a layer; None for raw vectors, also before there are any."""
        return None if name == RAW else self.constants[name].of_layer(layer)

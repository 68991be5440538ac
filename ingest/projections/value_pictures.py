"""Pictures of the values of every head: what a head hands on of each token, before it is weighted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.sample import evenly
from ingest.projections.feature_pictures import FEW_TOKENS, judged_on
from ingest.projections.placing import COMPONENTS, Floats, Method
from ingest.threads import one_thread_each, side_by_side
from store.kernels.fidelity import trustworthy
from store.schema.array import Array
from store.schema.features import PROJECTIONS, VALUE_VIEW_ARRAYS

#: Tokens that a fit takes of a head, and on which trustworthiness is found.
FITTED_TOKENS = {"pca": 20_000, "umap": 1_000}
TRUSTED_TOKENS = 500


@dataclass(frozen=True)
class ValuePicture:
    """Each head for itself; `value` is the array (layer, head, token, channel) of a material. PCA of all layers, else of the last."""

    method: Method
    value: zarr.Array[Any]

    group: ClassVar[str] = "value_views"
    arrays: ClassVar[Mapping[str, Array]] = VALUE_VIEW_ARRAYS
    panels: ClassVar[int] = 2

    @property
    def key(self) -> str:
        """Its name in the store."""
        return self.method.kind

    @property
    def layers(self) -> list[int]:
        """Those it has."""
        every = list(range(self.value.shape[0]))
        return every if self.method.exact else every[-1:]

    @property
    def fitted_tokens(self) -> int:
        """The first so many tokens."""
        return min(self.value.shape[2], max(FITTED_TOKENS[self.method.kind], FEW_TOKENS))

    @property
    def fitted_vectors(self) -> int:
        """What one fit takes: the tokens of one head."""
        return self.fitted_tokens

    @property
    def facts(self) -> dict[str, Any]:
        """Title, layers, what it is fitted and judged on, and the rule for other tokens."""
        return {
            "title": f"{PROJECTIONS[self.method.kind]} of the values of each head",
            "layers": self.layers,
            "fitted_on": f"the values of the first {self.fitted_tokens:,} tokens, each head for itself",
            "placed": self.method.placed(),
            "judged_on": judged_on(self.method, min(self.value.shape[2], TRUSTED_TOKENS)),
        }

    @cached_property
    def _begun(self) -> list[Callable[[], list[Floats]]]:
        """The fits of each layer's heads."""
        heads = range(self.value.shape[1])
        return [self.method.begin([partial(self._fitted, layer, head) for head in heads]) for layer in self.layers]

    def _fitted(self, layer: int, head: int) -> Floats:
        return np.asarray(self.value[layer, head, : self.fitted_tokens]).astype(np.float32)

    def begin(self) -> None:
        """Start the fits, so that other pictures need not wait for them."""
        _ = self._begun

    def places(self) -> Floats:
        """(layer, head, token, component), 0 in layers that it has not."""
        found = np.zeros((*self.value.shape[:3], COMPONENTS), np.float32)
        for layer, fits in zip(self.layers, self._begun, strict=True):
            with one_thread_each(None):
                for head, (vectors, fit) in enumerate(zip(self._read(layer), fits(), strict=True)):
                    found[layer, head] = self._place(vectors, fit)
        return found

    def _read(self, layer: int) -> NDArray[np.float32]:
        return np.asarray(self.value[layer]).astype(np.float32)

    def _place(self, vectors: Floats, fit: Floats) -> Floats:
        """Places (token, component) of a head; a fitted token keeps its own."""
        places = self.method.place(vectors, fit, vectors[: self.fitted_tokens])
        if not self.method.exact:
            places[: self.fitted_tokens] = fit
        return places

    def trustworthiness(self, places: Floats) -> NDArray[np.float64]:
        """Of every head: (layer, head), NaN in layers that it has not."""
        found = np.full(self.value.shape[:2], np.nan)
        chosen = evenly(self.value.shape[2], TRUSTED_TOKENS)
        for layer in self.layers:
            panels = list(zip(self._read(layer)[:, chosen], places[layer][:, chosen], strict=True))
            found[layer] = side_by_side(lambda panel: trustworthy(*panel, metric=self.method.metric), panels)
        return found

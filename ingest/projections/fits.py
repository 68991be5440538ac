"""What a projection has to offer, so that the stage can fit it layer by layer and place every token."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
#: Arrays of a layer by name, `store.schema.pictures.PARAMETERS` without their dim `layer`.
Parameters = Mapping[str, Floats]
#: Normalised queries and keys (head, token, channel) of the fitted tokens of a layer.
Read = Callable[[int], tuple[Floats, Floats]]
#: Says that a part, 0 to 1, of a layer is done.
Advance = Callable[[float], object]


class Projection(Protocol):
    """From normalised vectors of a head to places in a picture."""

    #: Changes whenever the code changes the places.
    version: str
    #: Tokens it is fitted on, where these are fewer than the sample.
    fit_tokens: int | None
    #: How a token that was not fitted gets its place, for a person.
    placed: str

    def fits(self, layers: list[int], read: Read, advance: Advance) -> Iterator[tuple[int, Parameters]]:
        """Fit layers, each yielded as soon as it is done."""
        ...

    def place(self, layer: int, parameters: Parameters, query: Floats, key: Floats, first: int) -> Floats:
        """Places (head, role, token, component) of normalised queries and keys (head, token, channel).

        `first` is the number of the first of these tokens among all tokens of the plan.
        """
        ...

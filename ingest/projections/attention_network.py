"""The networks of projection `attention`: one for queries and one for keys of every head, with their gradient by its formula.

All parameters lie in one array, so that a step of the optimizer is one call.
"""

from math import prod

import torch
from torch import Tensor
from torch.nn.functional import silu

#: Units of the two hidden layers.
HIDDEN, MIDDLE = 32, 32
#: The layers in order.
LAYERS = ("in", "middle", "out")


class Networks:
    """Networks with two hidden layers, all of one shape.

    Attributes
    ----------
    parameters, gradient
        Of all networks, flat.
    weights, gradients
        The same by the names `store.schema.pictures.PARAMETERS["attention"]`: (head, role, ...).
    """

    def __init__(
        self, heads: int, channels: int, components: int, *, generator: torch.Generator, device: torch.device
    ) -> None:
        widths = (channels, HIDDEN, MIDDLE, components)
        shapes: dict[str, tuple[int, ...]] = {}
        for name, inputs, outputs in zip(LAYERS, widths, widths[1:], strict=False):
            shapes |= {f"weight_{name}": (inputs, outputs), f"bias_{name}": (outputs,)}
        size = 2 * heads * sum(map(prod, shapes.values()))
        self.parameters, self.gradient = (torch.zeros(size, device=device) for _ in range(2))
        self.weights, self.gradients = (_views(flat, heads, shapes) for flat in (self.parameters, self.gradient))
        for name, shape in shapes.items():
            if name.startswith("weight"):
                values = torch.randn((heads, 2, *shape), generator=generator) * shape[0] ** -0.5
                self.weights[name].copy_(values)
        self._inputs: list[Tensor] = []
        self._sums: list[Tensor] = []

    def place(self, vectors: Tensor) -> Tensor:
        """Places (head, role, token, component) of vectors (head, role, token, channel), as `place_by_network`.

        What `set_gradient` needs of this call is kept until the next.
        """
        self._inputs, self._sums = [], []
        active = vectors.flatten(0, 1)
        for name in LAYERS:
            self._inputs.append(active)
            active = torch.baddbmm(self._flat(f"bias_{name}")[:, None], active, self._flat(f"weight_{name}"))
            self._sums.append(active)
            active = active if name == "out" else silu(active)
        return active.unflatten(0, vectors.shape[:2])

    def set_gradient(self, by_place: Tensor) -> None:
        """Set the gradient from that by the places of the last call."""
        slope = by_place.flatten(0, 1)
        for name, inputs in zip(reversed(LAYERS), reversed(self._inputs), strict=True):
            if name != "out":
                slope = torch.ops.aten.silu_backward(slope, self._sums[LAYERS.index(name)])
            torch.bmm(inputs.transpose(1, 2), slope, out=self.gradients[f"weight_{name}"].flatten(0, 1))
            torch.sum(slope, 1, out=self.gradients[f"bias_{name}"].flatten(0, 1))
            if name != "in":
                slope = slope @ self._flat(f"weight_{name}").transpose(1, 2)

    def _flat(self, name: str) -> Tensor:
        return self.weights[name].flatten(0, 1)


def _views(flat: Tensor, heads: int, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    parts = flat.split([2 * heads * prod(shape) for shape in shapes.values()])
    return {name: part.view(heads, 2, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

"""The curve over the number of heads: the change of a sample as more and more heads are replaced, in several orders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dashboard.sentence.sample import SampleChange, Sampling, Watch
from dashboard.ui.files import Table
from dashboard.web.state import Instead
from store import Corpus
from store.replacement import ORDERS, Heads, ordered_heads
from store.repository.errors import NotIngested

#: Shares of the heads that are replaced.
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
#: Replacements of a curve; not `patch`: few sentences of the corpus have the same number of tokens as the other sentence.
KINDS: tuple[Instead, ...] = ("rule", "mean", "even", "off")
#: A function that measures the replacement of some heads and tells its progress.
Measure = Callable[[Heads, Instead, Watch], "CurvePoint"]


class CurvePoint(NamedTuple):
    """The change where `heads` heads are replaced; numbers as in `SampleChange`, NaN for a missing number."""

    heads: int
    change: float
    low: float
    high: float
    of_distance: float
    spearman: float
    nearest: float
    hidden_loss: float

    @classmethod
    def of(cls, found: SampleChange) -> "CurvePoint":
        """The point of a measured change."""
        vectors = found.vectors
        return cls(
            len(found.heads),
            vectors.mean,
            *found.interval,
            vectors.share,
            vectors.spearman,
            vectors.nearest,
            np.nan if found.hidden is None else found.hidden.after,
        )


@dataclass(frozen=True)
class Curve:
    """The points of one kind of replacement in one order, by `SHARES`."""

    instead: Instead
    order: str
    points: tuple[CurvePoint, ...]


def known_orders(corpus: Corpus) -> tuple[dict[str, list[tuple[int, int]]], dict[str, NotIngested]]:
    """Order -> all heads in it, for each order that the store knows; other orders -> why the store does not know them."""
    orders: dict[str, list[tuple[int, int]]] = {}
    missing: dict[str, NotIngested] = {}
    for name in ORDERS:
        try:
            orders[name] = ordered_heads(corpus, name)
        except NotIngested as error:
            missing[name] = error
    return orders, missing


def measure_curves(
    orders: Mapping[str, Heads], kinds: Sequence[Instead], measure: Measure, watch: Watch
) -> list[Curve]:
    """A curve for each replacement and order. Equal sets of heads are measured once, such as all heads."""
    numbers = {order: [round(share * len(heads)) for share in SHARES] for order, heads in orders.items()}
    wanted = {
        (kind, tuple(sorted(heads[:number]))): None
        for kind in kinds
        for order, heads in orders.items()
        for number in numbers[order]
    }
    measured = {
        (kind, heads): measure(heads, kind, one_of(place, len(wanted), watch))
        for place, (kind, heads) in enumerate(wanted)
    }
    return [
        Curve(kind, order, tuple(measured[kind, tuple(sorted(heads[:number]))] for number in numbers[order]))
        for kind in kinds
        for order, heads in orders.items()
    ]


def one_of(place: int, count: int, watch: Watch) -> Watch:
    """The watch of one measurement among `count`, which tells the progress of all."""
    title = f"Replacing heads, measurement {place + 1} of {count}"
    return lambda share, _: watch((place + share) / count, title)


def measured_by(sampling: Sampling, as_it_is: Callable[[Watch], Any]) -> Measure:
    """The measure by a sample; `as_it_is` gives the sample with all heads when it is needed."""

    def measure(heads: Heads, instead: Instead, watch: Watch) -> CurvePoint:
        before = as_it_is(watch)
        after = sampling.changed(heads, instead, watch) if heads else before
        return CurvePoint.of(sampling.compare(before, after, heads, instead))

    return measure


def curve_table(curves: Sequence[Curve]) -> Table:
    """A row for every point of the curves."""
    rows = [
        (curve.instead, curve.order, share, *point)
        for curve in curves
        for share, point in zip(SHARES, curve.points, strict=True)
    ]
    names = ("instead", "order", "share", *CurvePoint._fields)
    columns = zip(*rows, strict=True)
    text = ("instead", "order")
    return {
        name: np.array(column, object if name in text else None) for name, column in zip(names, columns, strict=True)
    }


def curve_dataset(curves: Sequence[Curve]) -> xr.Dataset:
    """The numbers of the curves by name: (instead, order, share)."""
    kinds, orders = (list(dict.fromkeys(getattr(curve, part) for curve in curves)) for part in ("instead", "order"))
    numbers = np.array([curve.points for curve in curves], np.float64).reshape(len(kinds), len(orders), len(SHARES), -1)
    dims = ("instead", "order", "share")
    arrays: dict[str, Any] = {name: (dims, numbers[..., place]) for place, name in enumerate(CurvePoint._fields)}
    arrays["heads"] = ("share", numbers[0, 0, :, 0].astype(int))
    return xr.Dataset(arrays, dict(zip(dims, (kinds, orders, list(SHARES)), strict=True)))

"""Statistics of a head, written for a person."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store import STATISTICS, Corpus
from store.schema import head_name

#: Statistics named first on hover, if they are large.
SHARES = ("to_cls", "to_sep", "to_punctuation", "to_previous", "to_next", "to_self")


@dataclass(frozen=True)
class HeadNumber:
    """One statistic of one head among all heads."""

    title: str
    formula: str
    value: str
    rank: str


def head_numbers(corpus: Corpus, layer: int, head: int) -> list[HeadNumber]:
    """Every statistic of a head over all rows, then the entropy of [CLS]."""
    means = corpus.head_statistic
    numbers = [_head_number(means.sel(source="all", statistic=name).values, name, layer, head) for name in STATISTICS]
    return [
        *numbers,
        _head_number(means.sel(source="cls", statistic="entropy").values, "entropy", layer, head, " of [CLS]"),
    ]


def _head_number(values: NDArray[np.float64], name: str, layer: int, head: int, of: str = "") -> HeadNumber:
    value = values[layer, head]
    rank = 1 + int((values > value).sum())
    statistic = STATISTICS[name]
    title = statistic.title.replace(" of the row", of) if of else statistic.title
    return HeadNumber(title, statistic.formula, spell(value, statistic.unit), f"{rank} of {values.size}")


def spell(value: float, unit: str) -> str:
    """A number with its unit; shares as per cent."""
    return f"{100 * value:.1f} %" if unit == "share" else f"{value:.2f} {unit}"


def one_line(corpus: Corpus, view: str) -> list[dict[str, str]]:
    """For every head its name and one line of what it does, for the hover of the grid."""
    shares = corpus.head_statistic.sel(source="all", statistic=list(SHARES)).values
    entropy = corpus.head_statistic.sel(source="all", statistic="entropy").values
    fidelity = corpus.view(view).fidelity.values
    return [
        {
            "name": head_name(layer, head),
            "says": _line(shares[:, layer, head], entropy[layer, head], fidelity[:, layer, head]),
        }
        for layer in range(corpus.layers)
        for head in range(corpus.heads)
    ]


def _line(shares: NDArray[np.float64], entropy: float, fidelity: NDArray[np.float64]) -> str:
    largest = np.argsort(-shares)[:3]
    most = ", ".join(
        f"{STATISTICS[SHARES[index]].title.removeprefix('attention ')} {100 * shares[index]:.0f} %" for index in largest
    )
    return (
        f"attends {most}; entropy {entropy:.2f} nats; picture: Spearman {fidelity[0]:.2f}, recall@3 {fidelity[1]:.2f}"
    )

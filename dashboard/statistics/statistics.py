"""Statistics of a head, written for a person."""

import numpy as np
from numpy.typing import NDArray

from dashboard.points.judged import shown_fidelity
from store import STATISTICS, Corpus
from store.schema import BOUNDS, head_name

#: Statistics named first on hover, if they are large.
SHARES = ("to_cls", "to_sep", "to_punctuation", "to_previous", "to_next", "to_self")
#: Beside the means over all rows, what [CLS] gives and gets; all tokens together always receive 1.
OF_CLS = {"entropy": "entropy of [CLS]", "received": "attention received by [CLS]"}


def head_table(corpus: Corpus, layer: int, head: int) -> list[dict[str, object]]:
    """Every statistic of a head over the rows of every source, with its 95 % interval: one row each."""
    means, interval = (array[..., layer, head] for array in (corpus.head_statistic, corpus.head_interval))
    return [
        {
            "statistic": str(statistic),
            "source": str(source),
            "mean": float(means.sel(source=source, statistic=statistic)),
            **{bound: float(interval.sel(bound=bound, source=source, statistic=statistic)) for bound in BOUNDS},
        }
        for source in means.source.values
        for statistic in means.statistic.values
    ]


def spell(value: float, unit: str) -> str:
    """A number with its unit; shares as per cent."""
    return f"{100 * value:.1f} %" if unit == "share" else f"{value:.2f} {unit}"


def one_line(corpus: Corpus, view: str) -> list[dict[str, str]]:
    """For every head its name and one line of what it does, for the hover of the grid."""
    shares = corpus.head_statistic.sel(source="all", statistic=list(SHARES)).values
    entropy = corpus.head_statistic.sel(source="all", statistic="entropy").values
    fidelity = shown_fidelity(corpus.view(view)).sel(measure=["spearman", "recall"]).values
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

"""Statistics of a head, written for a person."""

from store import Corpus
from store.schema.model import BOUNDS

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

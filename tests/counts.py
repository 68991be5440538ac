"""Numbers of a corpus from the store, of its parts from the dashboard's count, and as page Statistics writes them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dashboard.statistics.parts import Part, PartCounts, PartNumbers
from store import Corpus


def counted(corpus: Corpus, part: Part) -> PartNumbers:
    """Numbers of a part, counted anew: no earlier count is reused."""
    with TemporaryDirectory() as folder:
        return PartCounts(Path(folder)).numbers(corpus, part)


def mean(corpus: Corpus, statistic: str, source: str = "all") -> np.ndarray:
    """Stored means of a statistic: (layer, head)."""
    values: np.ndarray = corpus.head_statistic.sel(statistic=statistic, source=source).values
    return values


def shares(values: np.ndarray) -> list[str]:
    """Shares in whole percent, as the cells of a heat map have them."""
    return [f"{100 * value:.0f}" for value in values.ravel()]

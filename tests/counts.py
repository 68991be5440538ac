"""Numbers of parts of a corpus, as the dashboard counts them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dashboard.statistics.counts import PartCounts, PartNumbers
from dashboard.statistics.part import Part
from store import Corpus


def counted(corpus: Corpus, part: Part) -> PartNumbers:
    """Counted now: nothing of before is at hand."""
    with TemporaryDirectory() as folder:
        return PartCounts(Path(folder)).numbers(corpus, part)

"""The columns of the table of all heads: every statistic over the rows of a source, and what heads are worth."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.statistics.definitions import SHORT, brief, unit_title
from dashboard.ui.amounts import signed
from dashboard.web.state import telling
from store import STATISTICS

Values = NDArray[np.float64]


@dataclass(frozen=True)
class TableColumn:
    """Numbers (layer, head) with their name in a narrow column, their title and their unit; changes have a sign."""

    short: str
    title: str
    unit: str
    values: Values
    signed: bool = False

    def written(self, head: tuple[int, int]) -> str:
        """A number without its unit."""
        value = float(self.values[head])
        return signed(value, 3) if self.signed else brief(value, self.unit)

    @property
    def unit_title(self) -> str:
        """The unit as it stands below the name."""
        return unit_title(self.unit)


def table_columns(means: xr.DataArray, source: str, importance: Values | None) -> dict[str, TableColumn]:
    """By their names in a link, from means (source, statistic, layer, head) and importance (layer, head)."""
    of_source = means.sel(source=source)
    columns = {name: _statistic(name, of_source.sel(statistic=name).values) for name in telling(source)}
    if importance is not None:
        title = "importance: change of the model's loss without the head"
        columns["importance"] = TableColumn("worth", title, "nats", importance, signed=True)
    return columns


def _statistic(name: str, values: Values) -> TableColumn:
    return TableColumn(SHORT[name], STATISTICS[name].title, STATISTICS[name].unit, values)

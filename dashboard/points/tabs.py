"""What stands beside the picture of a head, one part a tab."""

from dashboard.points import distance_panel as distance
from dashboard.points import pairs_panel as pairs
from dashboard.points import point_panel as point
from dashboard.points import selection_panel as selection
from dashboard.points import statistics_panel as statistics
from dashboard.web.state import Address

#: Tab -> its title and what draws it.
PANELS = {
    "statistics": ("Statistics", statistics.panel),
    "point": ("Point", point.panel),
    "selection": ("Selection", selection.panel),
    "pairs": ("Top pairs", pairs.panel),
    "distance": ("Distance", distance.panel),
}


def tab_of(address: Address) -> str:
    """The tab that was asked for, or the one that what is chosen speaks for."""
    if address.tab:
        return address.tab
    if address.token is not None:
        return "point"
    return "selection" if address.lasso or address.where else "statistics"

"""What stands beside the picture of a head, one part a tab."""

from dashboard.panels import distance, pairs, point, selection, statistics

#: Tab -> its title and what draws it.
PANELS = {
    "statistics": ("Statistics", statistics.panel),
    "point": ("Point", point.panel),
    "selection": ("Selection", selection.panel),
    "pairs": ("Top pairs", pairs.panel),
    "distance": ("Distance", distance.panel),
}

"""What a tab stands at: its link, and the snapshot that it shows until its reader asks for another one."""

from dash import State

#: What a tab shows (`shell.shown`); None before its first page.
Shown = dict[str, object] | None
#: What a callback is given of a tab: path and query of its link, and what it shows.
STANDING = State("location", "pathname"), State("location", "search"), State("shown", "data")


def snapshot_of(shown: Shown) -> str | None:
    """The snapshot that a tab shows."""
    return str(shown["snapshot"]) if shown else None

"""What a tab stands at: its link, and the snapshot that it shows until its reader asks for another one."""

from dash import State
from pydantic import BaseModel

from dashboard.web.callback_requests import Text


class Shown(BaseModel):
    """Of what a tab shows (`shell.shown`), what callbacks read."""

    snapshot: Text


#: What a callback is given of a tab: path and query of its link, and what it shows.
STANDING = State("location", "pathname"), State("location", "search"), State("shown", "data")


def snapshot_of(shown: Shown | None) -> str | None:
    """The snapshot that a tab shows; None before its first page."""
    return shown.snapshot if shown else None

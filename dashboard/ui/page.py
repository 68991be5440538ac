"""The parts of a page: what they are, and a page whose model has no picture yet."""

from dataclasses import dataclass, field

import dash_mantine_components as dmc
from dash import html

from dashboard.ui.progress import unmade
from dashboard.ui.text import with_commands
from dashboard.web.context import Context
from dashboard.web.errors import sentence_for
from dashboard.web.responses import for_one_reader


@dataclass(frozen=True)
class Page:
    """Parts of a page around the one canvas that all pages share.

    `notices` are sentences about what of the link could not be followed.
    """

    above: list[object] = field(default_factory=list)
    beside: list[object] = field(default_factory=list)
    below: list[object] = field(default_factory=list)
    notices: tuple[str, ...] = ()


def without_picture(context: Context, title: str) -> Page:
    """A page whose model has no picture yet: how to get one."""
    alert = dmc.Alert(unmade(context.ingest, "This model has no picture yet."), color="blue", variant="light")
    return Page(above=[html.H1(title), alert])


def problem(error: Exception) -> dmc.Alert:
    """Why a part of a page, or the page, cannot be shown."""
    for_one_reader()  # the next one may get it
    sentence, _ = sentence_for(error)
    return dmc.Alert(with_commands(sentence), color="red", title="This cannot be shown", className="problem")

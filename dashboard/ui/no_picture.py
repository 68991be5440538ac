"""A page whose model has no picture yet."""

import dash_mantine_components as dmc
from dash import html

from dashboard.ui.page import Page
from dashboard.ui.under_way import unmade
from dashboard.web.view import Place


def without_picture(place: Place, title: str) -> Page:
    """Says what to do."""
    alert = dmc.Alert(unmade(place, "This model has no picture yet."), color="orange")
    return Page(above=[html.H1(title), alert])

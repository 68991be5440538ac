"""A page whose model has no picture yet."""

import dash_mantine_components as dmc
from dash import html

from dashboard.page import Page


def without_picture(title: str) -> Page:
    """Says what to do."""
    alert = dmc.Alert("This model has no picture yet. Run `make ingest` to its end.", color="orange")
    return Page(above=[html.H1(title), alert])
